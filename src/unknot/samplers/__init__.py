"""Samplers, one file each: which rows of a dataset come next."""
