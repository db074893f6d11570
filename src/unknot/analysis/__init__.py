"""What a table of runs says: configurations, statistics, rankings, fronts, agreement of scores.

``results = analysis.Results(table)`` takes a data frame, columns or records with a row for each
run. It needs NumPy and SciPy only.
"""

from unknot.analysis.agreements import agreement as agreement
from unknot.analysis.comparison import compare as compare
from unknot.analysis.plain_table import split_table as split_table
from unknot.analysis.replication import replicate as replicate
from unknot.analysis.results import Results as Results
from unknot.analysis.seeds import seeds_needed as seeds_needed
from unknot.analysis.statistics import variance_shares as variance_shares
