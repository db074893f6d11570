"""Turns specifications into trained weights and codes."""
