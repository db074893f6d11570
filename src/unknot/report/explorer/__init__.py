"""The explorer: a run as one file in which people move the latents."""
