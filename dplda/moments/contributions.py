"""The statistics that the curator can release, as sums of bounded contributions of documents.

Section numbers are those of docs/privacy.md, section 2. With counts c, length l, scale s, h = s * c:

    (i)    first moment            h / l
    (ii)   second moment           (h h' - diag(s^2 c)) / (l (l - 1))
    (iii)  second moment times X   rows (h_i y - s_i^2 c_i x_i) / (l (l - 1)),  y = X'h
    (iii') core                    (y y' - sum s^2 c x x') / (l (l - 1))
    (iv)   whitened third moment   (y^3 - P(R, y) + 2 Q) / (l (l - 1) (l - 2)),  y = sum c w, R, Q its diagonal parts
    (iv')  the same along u        (y (y'u)^2 - 2 (y'u) R u - (u'R u) y + 2 Q(., u, u)) / (l (l - 1) (l - 2))
    (v)    projected third moment  (iv) for rows w_i = s_i q_i, clipped by the norm of the whole tensor, w_i = s_i e_i
    (vi)   expected counts         s_i c_i phi_iz from a fixed E-step

A contribution is an array (n_rows, width); its columns carry integer weights, the multiplicities of symmetric
coordinates, in which its norm is the Frobenius norm of the full array (T2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = "FIRST", "SECOND", "SECOND_TIMES", "CORE", "THIRD", "THIRD_PROJECTED", "THIRD_ALONG", "EXPECTED"
FIRST, SECOND, SECOND_TIMES, CORE, THIRD, THIRD_PROJECTED, THIRD_ALONG, EXPECTED = range(len(KINDS))
SINGLE = (CORE, THIRD, THIRD_PROJECTED, THIRD_ALONG)  # one row in all, and not one a word
NONNEGATIVE, SIGNED = float(np.sqrt(2.0)), 2.0  # replace-one sensitivity over the clip (T1)


@dataclass(frozen=True, eq=False)
class Contribution:
    """One statistic: its kernel, and the public or released arrays that parametrise it.

    `scale` (n_words,) is s (ones where unused), `matrix` (n_words, width of X, W or topics), both float32, `alpha` the
    prior of the E-step, `weights` (width,) the integer column weights, `n_rows` the rows of the sum (n_words, or 1),
    `replace_factor` the sensitivity over the clip when one unit is replaced (T1), and `directions` how many of the last
    columns of `matrix` are W u for the vectors u of (iv').
    """

    kind: int
    scale: np.ndarray
    matrix: np.ndarray
    weights: np.ndarray
    n_rows: int
    replace_factor: float
    alpha: float = 0.0
    directions: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the sum, (n_rows, width)."""
        return self.n_rows, len(self.weights)


def _ones(width: int) -> np.ndarray:
    return np.ones(width, np.int64)


def _dense(array: np.ndarray) -> np.ndarray:
    """As the kernels read it; what float32 cannot hold is infinite, and a unit that meets it contributes nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def first_moment(scale: np.ndarray) -> Contribution:
    """(i): scaled word proportions, sum of shape (n_words, 1)."""
    scale = _dense(scale)
    return Contribution(FIRST, scale, _dense(np.zeros((len(scale), 1))), _ones(1), len(scale), NONNEGATIVE)


def second_moment(scale: np.ndarray) -> Contribution:
    """(ii): the scaled second moment E2, sum of shape (n_words, n_words // 2 + 1), packed by circular offset.

    Entry (i, j) is E2 at i and (i + j) mod n_words; `dplda.tensor.symmetric.unpack_offsets` undoes it. Memory is
    4 n_words^2 bytes a thread, and a document of n words costs n^2 / 2.
    """
    scale = _dense(scale)
    weights = np.r_[1, np.full(len(scale) // 2, 2)].astype(np.int64)
    return Contribution(SECOND, scale, _dense(np.zeros((len(scale), 1))), weights, len(scale), NONNEGATIVE)


def second_moment_times(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii): the scaled second moment times X (n_words, p), sum of shape (n_words, p)."""
    X = _dense(X)
    return Contribution(SECOND_TIMES, _dense(scale), X, _ones(X.shape[1]), len(X), SIGNED)


def core(scale: np.ndarray, X: np.ndarray) -> Contribution:
    """(iii'): X' E2 X for X (n_words, p), as its p (p + 1) / 2 coordinates i <= j, row-major."""
    X = _dense(X)
    p = X.shape[1]
    weights = np.array([1 if i == j else 2 for i in range(p) for j in range(i, p)], np.int64)
    return Contribution(CORE, _dense(scale), X, weights, 1, SIGNED)


def third_moment(W: np.ndarray) -> Contribution:
    """(iv): E3(W, W, W) for W (n_words, k) with the scale absorbed, as its coordinates a <= b <= c, row-major."""
    W = _dense(W)
    return Contribution(THIRD, _dense(np.ones(len(W))), W, symmetric_weights(W.shape[1]), 1, SIGNED)


@np.errstate(over="ignore", invalid="ignore")
def projected_third_moment(scale: np.ndarray, Q: np.ndarray) -> Contribution:
    """(v) seen through orthonormal columns: E3(SQ, SQ, SQ) for `Q` (n_words, k), coordinates as `third_moment`'s.

    A unit is clipped by the mean norm of its documents' whole tensors in scaled words, a bound on the norm of its own.
    """
    W = _dense(scale[:, None] * Q)
    return Contribution(THIRD_PROJECTED, _dense(scale), W, symmetric_weights(W.shape[1]), 1, SIGNED)


@np.errstate(over="ignore", invalid="ignore")
def third_moment_along(W: np.ndarray, U: np.ndarray) -> Contribution:
    """(iv'): E3(W, W, W)(I, u, u) for `W` (n_words, k), scale absorbed, and each column u of `U` (k, r).

    The sum is of shape (1, r k), one run of k for each u.
    """
    k, r = U.shape
    matrix = _dense(np.hstack([W, W @ U]))
    return Contribution(THIRD_ALONG, _dense(np.ones(len(W))), matrix, _ones(r * k), 1, SIGNED, directions=r)


def expected_counts(word_weights: np.ndarray, alpha: float, scale: np.ndarray | None = None) -> Contribution:
    """(vi): expected word-topic counts under `word_weights` (n_words, k), sum of shape (n_words, k).

    `word_weights` are exp(E log beta), or the topics themselves; `alpha` is the document prior per topic. Row i is
    multiplied by the positive scale[i] (ones by default), which the E-step does not see.
    """
    word_weights = _dense(word_weights)
    n_words, k = word_weights.shape
    scale = _dense(np.ones(n_words) if scale is None else scale)
    return Contribution(EXPECTED, scale, word_weights, _ones(k), n_words, NONNEGATIVE, float(alpha))


def symmetric_weights(k: int) -> np.ndarray:
    """Multiplicities 1, 3, 6 of the coordinates a <= b <= c of a symmetric (k, k, k) tensor (T2)."""
    return np.array(
        [(6, 3, 1)[(a == b) + (b == c)] for a in range(k) for b in range(a, k) for c in range(b, k)], np.int64
    )
