"""What architectures share: checks of their settings, and initial weights."""
