"""Disentangled representation learning."""
