"""Topic quality on planted or public corpora, and grids of runs."""
