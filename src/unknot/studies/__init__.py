"""Studies: grids of runs, from a file to records."""
