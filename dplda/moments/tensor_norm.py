"""The norm of the third moment of a document over words, computed without the tensor."""

from __future__ import annotations

import numpy as np

from dplda.compute.compiled import compiled


@compiled(error_model="numpy")
def whole_norm(words, counts, first, last, length, scale, amounts):
    """(v) of docs/privacy.md, section 2, as a sum without cancellation; float64. `amounts` (n_words,) is left zero.

    Coordinates of the tensor at three words, at two, and at one are squared and summed apart, by recurrences over
    distinct words: with a = (s c)^2, u = a s^2 (c - 1)^2 and v = u s^2 (c - 2)^2, the square of l (l - 1) (l - 2) times
    the norm is 6 e3(a) + 3 (sum of u_i a_j over i != j) + (sum of v).
    """
    for e in range(first, last):
        amounts[words[e]] += counts[e]
    ones = twos = pairs = triples = mixed = same = 0.0
    for e in range(first, last):
        w = words[e]
        c, amounts[w] = float(amounts[w]), 0
        if c == 0.0:
            continue  # an entry of the same word came before
        square = np.float64(scale[w]) ** 2
        a = square * (c / length) ** 2
        u = a * square * ((c - 1.0) / length) ** 2
        same += u * square * ((c - 2.0) / length) ** 2
        mixed += u * ones + a * twos
        triples += a * pairs
        pairs += a * ones
        ones += a
        twos += u
    norm = length / (length - 1.0) * (length / (length - 2.0))
    return norm * np.sqrt(6.0 * triples + 3.0 * mixed + same)
