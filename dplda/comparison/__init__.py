"""Noise placements side by side: a grid of runs on one corpus, and what came of each."""
