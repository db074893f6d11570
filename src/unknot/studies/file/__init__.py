"""The study file: its text, its sweep, its formulas, and the presets."""
