"""Architectures, one file each, and their initial weights."""
