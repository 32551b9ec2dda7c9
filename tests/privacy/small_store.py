"""A small corpus of many blocks, whose documents or people are the units."""

from __future__ import annotations

import numpy as np

from dplda.corpus import synthetic

D = 12
WORDS = tuple(f"w{i}" for i in range(D))
COUNTS = synthetic(400, D, 3, mean_length=12, seed=4)[0]
PEOPLE = np.random.default_rng(0).integers(0, 90, COUNTS.shape[0])
