"""A package, so that files named like those of the objectives' tests do not clash."""
