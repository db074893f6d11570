"""What datasets share: stored images, the cache, sprites, textures, pictures."""
