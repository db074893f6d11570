"""What a table of runs says: configurations, statistics, rankings, fronts, agreement of scores."""
