"""Noise placements side by side: a grid of runs on one corpus, and its outcomes."""
