"""How good topics are, on corpora that are planted or public, and grids of runs."""
