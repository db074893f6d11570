"""Reconstruction losses learnt from the distances between factors."""
