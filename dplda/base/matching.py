"""The topics of two fits, matched one to one; apart from `distributions`, since SciPy takes long to load."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

_Floats = NDArray[np.float64]


def match_topics(first: _Floats, second: _Floats) -> tuple[NDArray[np.intp], NDArray[np.intp], _Floats]:
    """Match topics (n_first, n_words) and (n_second, n_words) one to one so that the sum of cosines is largest.

    Returns rows of `first` in ascending order, their matches in `second`, and the cosines, (min(n_first, n_second),)
    each. A topic without words has cosine 0 with all others.
    """

    def unit(topics: _Floats) -> _Floats:
        return np.asarray(topics / np.maximum(np.linalg.norm(topics, axis=1, keepdims=True), 1e-300))

    cosines = unit(first) @ unit(second).T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    return rows, columns, cosines[rows, columns]
