"""Turns a file or a few flags into runs and records."""
