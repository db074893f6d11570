"""One training as people keep it: its settings, its folder, its curves and its scores."""
