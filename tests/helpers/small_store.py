"""A small corpus of many blocks, whose documents or people are the units, and what is asked of it."""

from __future__ import annotations

import numpy as np

from dplda.private import statistics
from dplda.runs.corpus import synthetic

D = 12
WORDS = tuple(f"w{i}" for i in range(D))
COUNTS = synthetic(400, D, 3, mean_length=12, seed=4)[0]
PEOPLE = np.random.default_rng(0).integers(0, 90, COUNTS.shape[0])


def everything(passes):
    """Whatever a curator asks for."""
    votes, full = passes.count_votes()
    passes.use_words(WORDS[::-1])
    asked = [
        statistics.first_moment(np.ones(D)),
        statistics.second_moment_times(np.ones(D), np.eye(D)[:, :4]),
        statistics.third_moment(np.eye(D)[:, :3]),
        statistics.third_moment(np.random.default_rng(1).standard_normal((D, 40))),
        statistics.expected_counts(np.full((D, 3), 1 / D), 0.3),
    ]
    sums = [passes.clipped_sum(contribution, 0.05) for contribution in asked]
    some = np.arange(0, passes.n_units(), 2)
    histograms = [passes.clip_histogram(contribution, some) for contribution in asked]
    largest = [passes.largest_norm(contribution) for contribution in asked]
    counted = passes.n_units(), passes.count_units()
    return [*passes.count_votes(), votes, full, *counted, *[x for pair in sums for x in pair], *histograms, *largest]
