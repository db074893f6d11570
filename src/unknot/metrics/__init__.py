"""Scores of representations, one file each."""
