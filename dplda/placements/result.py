"""A placement's result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplda.refine.variational import project_to_simplex


@dataclass(frozen=True)
class Learned:
    """Released topics (n_topics, n_words), their prevalence, and released facts about the run."""

    topics: np.ndarray
    prevalence: np.ndarray
    documents: float
    facts: Mapping[str, Any] = field(default_factory=dict)


def by_prevalence(
    topics: np.ndarray, prevalence: np.ndarray, documents: float, facts: Mapping[str, Any] | None = None
) -> Learned:
    """Topics as columns (n_words, k) of the simplex, ordered by falling prevalence (k,)."""
    order = np.argsort(-prevalence, kind="stable")
    return Learned(topics.T[order], prevalence[order], documents, facts or {})


def prevalence(values: np.ndarray, alpha0: float) -> np.ndarray:
    """Prevalence (k,) from the whitened M3's values lambda_i = 2 / ((alpha0 + 2) sqrt(w_i)).

    w_i = prevalence_i / (alpha0 + 1) is at most 1 / (alpha0 + 1).
    """
    least = 2 * math.sqrt(alpha0 + 1) / (alpha0 + 2)
    shares = 1 / np.maximum(np.abs(values), least) ** 2
    return np.asarray(shares / shares.sum())


def to_topics(columns: np.ndarray) -> np.ndarray:
    """Unwhitened columns (n_words, k), up to sign and scale, as distributions over words."""
    sums = columns.sum(axis=0)
    safe = np.where(np.abs(sums) > 1e-9, sums, 1e-9)
    return project_to_simplex(columns / safe)
