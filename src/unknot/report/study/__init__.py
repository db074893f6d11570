"""The page of a study: what it is made of."""
