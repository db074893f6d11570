"""Datasets, one file each, and the draws that pick their rows."""
