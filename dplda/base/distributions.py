"""Topics from any source, as distributions over a list of words: check them, reorder their words, match them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplda.base.errors import InputError

SAME = 0.5  # least cosine at which a topic of one batch continues one of another
_TOLERANCE = 1e-6  # within which probabilities sum to 1


def frozen(values: Any) -> NDArray[np.float64]:
    """Return a read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def check_simplex(name: str, values: NDArray[np.float64]) -> None:
    """Raise `InputError` unless every row of `values` is a distribution to `_TOLERANCE`."""
    sums = values.sum(axis=-1)
    if not np.all(np.isfinite(values)) or values.min() < 0 or np.any(np.abs(sums - 1) > _TOLERANCE):
        raise InputError(f"{name} must be finite, nonnegative and sum to 1.")


def check_words(name: str, words: Sequence[Any]) -> None:
    """Raise `InputError` unless `words` are distinct, non-empty strings."""
    if not all(isinstance(word, str) and word for word in words) or len(set(words)) != len(words):
        raise InputError(f"{name} must be distinct, non-empty words.")


def on_words(topics: NDArray[np.float64], words: Sequence[str], wanted: Sequence[str]) -> NDArray[np.float64]:
    """Reorder the columns of `topics` from `words` to `wanted`; words not in `words` get zeros."""
    place = {word: index for index, word in enumerate(words)}
    columns = [place.get(word, -1) for word in wanted]
    padded = np.column_stack([topics, np.zeros(len(topics))])
    return np.asarray(padded[:, columns])


def match_topics(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Match topics (n_first, n_words) and (n_second, n_words) one to one so that the sum of cosines is largest.

    Returns rows of `first` in ascending order, their matches in `second`, and the cosines, (min(n_first, n_second),)
    each. A topic without words has cosine 0 with all others.
    """
    from scipy.optimize import linear_sum_assignment  # SciPy takes long to load

    directions = [
        np.asarray(topics / np.maximum(np.linalg.norm(topics, axis=1, keepdims=True), 1e-300))
        for topics in (first, second)
    ]
    cosines = directions[0] @ directions[1].T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    return rows, columns, cosines[rows, columns]
