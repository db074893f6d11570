"""Figures of data and codes: distances, clouds, thresholds, kernels."""
