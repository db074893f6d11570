"""A study for a paper: LaTeX tables, PDF figures, BibTeX, and a paragraph on methods."""
