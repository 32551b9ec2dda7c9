"""Noise placements: each module states the algorithm, the budget shares and the split of one placement."""
