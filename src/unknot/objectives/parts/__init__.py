"""What several objectives share: critics, moments, controllers, distances of codes."""
