"""What one model shows: traversals, reconstructions, samples, what its latents follow."""
