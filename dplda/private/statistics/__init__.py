"""The statistics that the curator can release, as sums of bounded contributions of units.

(i) to (viii) are numbered as in docs/privacy.md, section 2; (ix) is in T10, and (x) to (xii) are in T13. With counts c,
length l, scale s, h = s * c, a word's row x of X or w of W, tensor powers y^3 and w^3, and P(R, y) of
`coordinates.pairings`:

    (i)    first moment            h / l
    (ii)   second moment           (h h' - diag(s^2 c)) / (l (l - 1))
    (iii)  second moment times X   rows (h_i y - s_i^2 c_i x_i) / (l (l - 1)),  y = X'h
    (iii') core                    (y y' - sum s^2 c x x') / (l (l - 1))
    (iv)   whitened third moment   (y^3 - P(R, y) + 2 Q) / (l (l - 1) (l - 2)),  y, R, Q: sums of c w, c w w', c w^3
    (iv')  (iv) along u            (y (y'u)^2 - 2 (y'u) R u - (u'R u) y + 2 Q(., u, u)) / (l (l - 1) (l - 2))
    (v)    projected third moment  (iv) for w_i = s_i b_i, b_i the rows of an orthonormal basis; clipped by a bound on
                                   the norm of the tensor over all words, w_i = s_i e_i with unit vectors e_i
    (vi)   expected counts         s_i c_i phi_iz from a fixed E-step
    (vii)  topic proportions       (gamma_z - alpha) / l from the same E-step
    (viii) likelihood gain         sum c_i log(p_i / r_i) / l within +-1/2; p fitted by that E-step, r given
    (ix)   table of proportions    (vii) normalised to sum to 1, and a constant that counts the document, in its row
    (x)    word pairs              1 for each pair of first words of a topic that the document contains
    (xi)   pair totals             how many of these pairs of each topic the document contains, and a constant for each
                                   of the topics' first words that it contains
    (xii)  document completion     (gain, surprise) of the held-out half of the tokens, given the other half

`statistic` defines what a statistic must state; `unit_sums` is the loop over units that all statistics share. A unit is
clipped and rounded to integers in `quantise` of numerics/clipping.py.
"""

from dplda.private.statistics.core import core
from dplda.private.statistics.expected_counts import expected_counts, likelihood_gain, topic_proportions
from dplda.private.statistics.first_moment import first_moment
from dplda.private.statistics.second_moment import second_moment
from dplda.private.statistics.second_moment_times import second_moment_times
from dplda.private.statistics.statistic import NONNEGATIVE, SIGNED, Contribution, Statistic
from dplda.private.statistics.third_moment import projected_third_moment, third_moment, third_moment_along

__all__ = [
    "NONNEGATIVE",
    "SIGNED",
    "Contribution",
    "Statistic",
    "core",
    "expected_counts",
    "first_moment",
    "likelihood_gain",
    "projected_third_moment",
    "second_moment",
    "second_moment_times",
    "third_moment",
    "third_moment_along",
    "topic_proportions",
]
