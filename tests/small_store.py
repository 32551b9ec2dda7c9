"""A small corpus of many blocks, whose documents or people are the units, and what is asked of it."""

from __future__ import annotations

import numpy as np

from dplda.corpus import synthetic
from dplda.moments import contributions
from dplda.privacy.partition_selection import count_votes, word_hashes
from dplda.privacy.passes import clipped_sum, eligible, unit_norms, units

D = 12
WORDS = tuple(f"w{i}" for i in range(D))
COUNTS = synthetic(400, D, 3, mean_length=12, seed=4)[0]
PEOPLE = np.random.default_rng(0).integers(0, 90, COUNTS.shape[0])


def everything(engine):
    """Whatever a curator asks for."""
    votes, weight = engine.added(count_votes, word_hashes(WORDS))
    engine.use(WORDS[::-1])
    sizes = engine.each(units)
    asked = [
        contributions.first_moment(np.ones(D)),
        contributions.second_moment_times(np.ones(D), np.eye(D)[:, :4]),
        contributions.third_moment(np.eye(D)[:, :3]),
        contributions.expected_counts(np.full((D, 3), 1 / D), 0.3),
    ]
    sums = [engine.added(clipped_sum, contribution, 0.05) for contribution in asked]
    own = [np.arange(n) for n in sizes]
    norms = [np.concatenate(engine.each(unit_norms, contribution, own=own)) for contribution in asked]
    return [votes, weight, sum(sizes), engine.added(eligible)[0], *[x for pair in sums for x in pair], *norms]
