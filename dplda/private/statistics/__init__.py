"""The statistics that the curator can release, as sums of bounded contributions of units.

(i) to (viii) are numbered as in docs/privacy.md, section 2; (ix) is in T10, (x) to (xii) are in T13, and (xiii) and
(xiv) are in T16. With counts c, length l, scale s, h = s * c, a word's row x of X or w of W, tensor powers y^3 and w^3,
and P(R, y) of `lda_moments.pairings`:

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
    (xiii) word indicators         1 for each word that the document contains, and a constant that counts the document,
                                   scaled down to norm 1, in its row of a table
    (xiv)  cell counts             s_i c_i for each word that the document contains, scaled down to norm 1

A statistic of your own is one file, such as tests/private/test_own_statistic.py: a `Statistic` with a compiled function
of one document, and a function that returns its `Contribution`. Every loop, clip, pass and release works with it, and
nothing is registered. A statistic of this package needs four things more:

1. its sensitivity, proved in docs/privacy.md, section 2;
2. its names in the imports and in `__all__` below, from where placements take it;
3. a contribution in tests/trust/test_eligibility.py, which fails without one, and, if fits release it, a game in
   `dplda.audit.catalogue`;
4. for a GPU, a function in unit_sums.cu and a `CudaTwin` with an example, on which every GPU is tested.

`statistic` says what a statistic must state. `unit_sums` is the loop over units that all of them share, where
`clipping.quantise` clips a unit and rounds it to integers. Only passes may use the modules that compute on counts:
`unit_sums`, `third_moment_products`, `gpu_sums`, `exact_moments` and `word_votes`.
"""

from dplda.private.statistics.expected_counts import (
    DOCUMENT_COMPLETION,
    EXPECTED_COUNTS,
    LIKELIHOOD_GAIN,
    TABLE_PROPORTIONS,
    TOPIC_PROPORTIONS,
    document_completion,
    expected_counts,
    likelihood_gain,
    table_proportions,
    topic_proportions,
)
from dplda.private.statistics.moments import (
    CORE,
    FIRST_MOMENT,
    SECOND_MOMENT,
    SECOND_MOMENT_TIMES,
    core,
    first_moment,
    second_moment,
    second_moment_times,
)
from dplda.private.statistics.statistic import NONNEGATIVE, SIGNED, Contribution, Statistic
from dplda.private.statistics.third_moment import (
    PROJECTED_THIRD_MOMENT,
    THIRD_MOMENT,
    THIRD_MOMENT_ALONG,
    projected_third_moment,
    third_moment,
    third_moment_along,
)
from dplda.private.statistics.word_indicators import CELL_COUNTS, WORD_INDICATORS, cell_counts, word_indicators
from dplda.private.statistics.word_pairs import PAIR_TOTALS, WORD_PAIRS, pair_totals, word_pairs

__all__ = [
    "CELL_COUNTS",
    "CORE",
    "DOCUMENT_COMPLETION",
    "EXPECTED_COUNTS",
    "FIRST_MOMENT",
    "LIKELIHOOD_GAIN",
    "NONNEGATIVE",
    "PAIR_TOTALS",
    "PROJECTED_THIRD_MOMENT",
    "SECOND_MOMENT",
    "SECOND_MOMENT_TIMES",
    "SIGNED",
    "TABLE_PROPORTIONS",
    "THIRD_MOMENT",
    "THIRD_MOMENT_ALONG",
    "TOPIC_PROPORTIONS",
    "WORD_INDICATORS",
    "WORD_PAIRS",
    "Contribution",
    "Statistic",
    "cell_counts",
    "core",
    "document_completion",
    "expected_counts",
    "first_moment",
    "likelihood_gain",
    "pair_totals",
    "projected_third_moment",
    "second_moment",
    "second_moment_times",
    "table_proportions",
    "third_moment",
    "third_moment_along",
    "topic_proportions",
    "word_indicators",
    "word_pairs",
]
