"""What a script or a notebook holds: runs, datasets, models and studies with their verbs."""
