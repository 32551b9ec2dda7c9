"""Topic quality on synthetic corpora with known topics and on public corpora, and grids of runs."""
