"""Statistics of a document under given topics: (vi) to (ix) and (xii) of the list in `dplda.private.statistics`.

All of them start from the `posterior` of one document by a fixed number of E-steps. A document's columns of the topics
are gathered once, one row per topic, so that every step reads contiguous memory and is vectorised over words. The
topics and all other numbers here are public or released, except the document's own counts.

(vi) sums expected word-topic counts, (vii) topic proportions, (viii) the gain in likelihood over word frequencies, and
(ix) proportions in the row of a table. (xii) measures how well topics predict one half of a document's tokens from the
other (docs/privacy.md, T13), by document completion (Wallach, Murray, Salakhutdinov and Mimno 2009).
"""

from __future__ import annotations

import math

import numpy as np

from dplda.base.compiled import compiled
from dplda.private.statistics.clipping import (
    FAST,
    LANES,
    MASS_SHARE,
    UNROLLED,
    clear,
    multiply_rows,
    padded,
    round_up,
    weigh_rows,
)
from dplda.private.statistics.statistic import (
    NONNEGATIVE,
    ONE_ROW,
    ROW_PER_TABLE_ROW,
    ROW_PER_WORD,
    SIGNED,
    Contribution,
    CudaTwin,
    Statistic,
    as_float32,
    equal_weights,
)

E_STEPS = 7  # largest number of steps: more make noisy topics alike; the last one is never over-relaxed
TOLERANCE = 2e-3  # the E-step ends when a step changes gamma, summed over topics, by less than this share of the tokens
LEAST = np.float32(1e-30)  # added to each word's probability, so that a word without topics causes no division by zero


@compiled(fastmath=FAST, error_model="numpy")
def _exp_digamma(x: float) -> float:
    """exp(digamma(x)) for x > 0, with a relative error below 3e-6 wherever float32 can represent the result.

    Other x give nan, and the unit then contributes nothing. The code has no branch or call, so that it is vectorised
    over topics. The result is a quotient. Its numerator v + 1/(24 v) - 37/(5760 v^3), v = x + 7/2, approximates
    exp(digamma(x + 4)). Its denominator exp(1/x + ... + 1/(x + 3)) is computed as the 256th power of a Taylor
    polynomial of degree 7.
    """
    p = x * (x + 3.0)
    r = (2.0 * x + 3.0) * (2.0 * p + 2.0) / (p * (p + 2.0)) / 256.0
    e = 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040))))))
    for _ in range(8):
        e *= e
    v = x + 3.5
    w = v * v
    return (w * (w + 1 / 24) - 37 / 5760) / (w * v * e) if x > 0.0 else np.nan


@compiled(fastmath=FAST, error_model="numpy")
def gather(words, counts, first, last, matrix, stride, rows, table, amounts):
    """Copy a document's columns of the topics to `table`, one row per topic, and its counts to `amounts`.

    Rows are padded with zeros to a multiple of `UNROLLED`; returns their length.
    """
    size, wide = last - first, padded(last - first, UNROLLED)
    end = max(wide - UNROLLED, 0)
    for z in range(rows):
        clear(table, z * wide + end, wide - end)
    clear(amounts, end, wide - end)
    at, step = np.uint64(first), np.uint64(wide)
    for e in range(np.uint64(size)):
        amounts[e] = np.float32(counts[at + e])
        row, to = np.uint64(words[at + e] * stride), np.uint64(e)
        for z in range(np.uint64(rows)):
            table[to] = matrix[row + z]
            to += step
    return wide


@compiled(fastmath=FAST, error_model="numpy")
def posterior(table, amounts, wide, length, k, alpha, before, theta, gamma):
    """Return the variational posterior of one document for fixed topics (Blei, Ng, Jordan 2003, section 5.2).

    `alpha` is the prior of each topic. `table` and `amounts` are as `gather` writes them, with rows of `wide`; the next
    `wide` numbers of `amounts`, and `before` (stride,), are scratch space. Fills `gamma` (stride,) with the Dirichlet
    parameters and `theta` (stride,) with exp(digamma(gamma)), except for padding. That is exp(E log t) for the topic
    proportions t, up to a common factor, which cancels in the shares of topics. Returns the number of steps.

    Coordinate ascent converges slowly for topics that vanish from a document. Therefore every second step is
    over-relaxed: it is three times as long in log gamma, and the plain step after it corrects converged topics. The
    first step starts from equal shares; it is neither over-relaxed nor tested for convergence. The result depends on
    this document alone.
    """
    rows = padded(k, 4)
    for z in range(np.uint64(len(theta))):
        theta[z] = 1.0
    for step in range(1, E_STEPS + 1):
        _ascend(table, amounts, wide, rows, alpha, theta, gamma)
        if step % 2 and step > 1:
            if step == E_STEPS or _distance(gamma, before, rows) < TOLERANCE * length:
                break
            _lengthen(alpha, before, gamma, rows)
        _exp_digammas(gamma, rows, theta, before)
    _exp_digammas(gamma, rows, theta, before)
    return step


@compiled(fastmath=FAST, error_model="numpy")
def _ascend(table, amounts, wide, rows, alpha, theta, gamma):
    """One step of coordinate ascent, from `theta` to `gamma`."""
    half = np.uint64(wide)
    weigh_rows(theta, table, rows, wide, amounts, wide, LEAST)
    for i in range(np.uint64(wide)):
        amounts[half + i] = amounts[i] / amounts[half + i]
    multiply_rows(table, rows, wide, amounts, wide, gamma)
    for z in range(np.uint64(rows)):
        gamma[z] = alpha + theta[z] * gamma[z]


@compiled(fastmath=FAST, error_model="numpy")
def _distance(x, y, n):
    """Return the sum of |x - y| over the first `n` entries."""
    total = np.float32(0.0)
    for z in range(np.uint64(n)):
        total += abs(x[z] - y[z])
    return total


@compiled(fastmath=FAST, error_model="numpy")
def _lengthen(alpha, before, gamma, n):
    """Make the step to `gamma` three times as long in log gamma, but keep at least a quarter of gamma - alpha."""
    for z in range(np.uint64(n)):
        ratio = gamma[z] / before[z]
        least = alpha + np.float32(0.25) * (gamma[z] - alpha)
        longer = gamma[z] * ratio * ratio
        gamma[z] = least if longer < least else longer


@compiled(fastmath=FAST, error_model="numpy")
def _exp_digammas(gamma, n, theta, before):
    """theta = exp(digamma(gamma)), zero below `LEAST`, and before = gamma.

    Otherwise the weight of a vanished topic would be a denormal float32 number, which slows processors down many times.
    """
    for z in range(np.uint64(n)):
        before[z] = gamma[z]
        weight = np.float32(_exp_digamma(np.float64(gamma[z])))
        theta[z] = np.float32(0.0) if weight < LEAST else weight  # nan stays nan


@compiled()
def posterior_room(k, directions, longest):
    """Return the scratch space of `posterior` for documents of at most `longest` entries."""
    return 3 * (padded(k) + padded(directions)) + (2 + padded(k, 4)) * padded(longest, UNROLLED)


@compiled(fastmath=FAST, error_model="numpy")
def document_space(words, counts, first, last, matrix, shape, room):
    """Return a document in `room` (`posterior_room`), ready for its `posterior`.

    Returns `before`, `theta` and `gamma` (stride,), the `table` and `amounts` of `gather`, and their rows' length.
    """
    k, _, stride, _, _ = shape
    begin, behind = 3 * stride, 3 * stride + 2 * padded(last - first, UNROLLED)
    before, theta, gamma = room[:stride], room[stride : 2 * stride], room[2 * stride : begin]
    amounts, table = room[begin:behind], room[behind:]
    wide = gather(words, counts, first, last, matrix, stride, padded(k, 4), table, amounts)
    return before, theta, gamma, table, amounts, wide


@compiled(fastmath=FAST, error_model="numpy")
def fit_document(words, counts, first, last, length, matrix, shape, room):
    """Find the `posterior` of one document in `room`; return the arrays of `document_space` without `before`."""
    k, _, _, _, alpha = shape
    before, theta, gamma, table, amounts, wide = document_space(words, counts, first, last, matrix, shape, room)
    posterior(table, amounts, wide, length, k, alpha, before, theta, gamma)
    return theta, gamma, table, amounts, wide


@compiled(fastmath=FAST, error_model="numpy")
def predict(theta, gamma, table, amounts, wide, k):
    """Sum `gamma` times the word's probability over topics, for each entry; return the sum of `gamma`.

    The arguments are what `fit_document` returns. The sums are written to `amounts` from `wide` on, and `theta` is
    overwritten.
    """
    rows, total = padded(k, 4), np.float32(0.0)
    for z in range(np.uint64(rows)):
        theta[z] = gamma[z] if z < k else np.float32(0.0)
        total += theta[z]
    weigh_rows(theta, table, rows, wide, amounts, wide, LEAST)
    return total


@compiled(fastmath=FAST, error_model="numpy")
def _contribution(words, counts, first, last, length, scale, matrix, shape, room, out):
    """One row per entry: its scale times its count, distributed over topics."""
    k, _, stride, _, _ = shape
    theta, _, table, amounts, wide = fit_document(words, counts, first, last, length, matrix, shape, room)
    weigh_rows(theta, table, padded(k, 4), wide, amounts, wide, LEAST)
    start, half = np.uint64(first), np.uint64(wide)
    for e in range(np.uint64(last - first)):
        w = np.uint64(words[start + e])
        share = scale[w] * (amounts[e] / amounts[half + e])
        at, to = w * np.uint64(stride), e * np.uint64(stride)
        for z in range(np.uint64(stride)):
            out[to + z] = share * theta[z] * matrix[at + z]


EXPECTED_COUNTS = Statistic(
    name=f"{__name__}:EXPECTED_COUNTS",
    layout=ROW_PER_WORD,
    replace_factor=NONNEGATIVE,
    contribution=_contribution,
    row=lambda k, directions: round_up(k),
    room=posterior_room,
    cuda=CudaTwin("add_expected_counts", lambda scale, X: expected_counts(X, 0.1), vectors=3),
)


def expected_counts(word_weights: np.ndarray, alpha: float, scale: np.ndarray | None = None) -> Contribution:
    """(vi): expected word-topic counts under `word_weights` (n_words, k), sum of shape (n_words, k).

    `word_weights` are exp(E log beta), or the topics themselves; `alpha` is the document prior per topic. After the
    E-step, row i is multiplied by the positive scale[i] (ones by default).
    """
    word_weights = as_float32(word_weights)
    n_words, k = word_weights.shape
    scale = as_float32(np.ones(n_words) if scale is None else scale)
    return Contribution(EXPECTED_COUNTS, scale, word_weights, equal_weights(k), float(alpha))


COUNT_SHARE = 0.29  # the coordinate of a table that counts documents; one of their proportions is at most 1
# The norm of a unit in a table is at most sqrt(1 + COUNT_SHARE^2) (T10). With this clip, which leaves room for the mass
# coordinate and for rounding, no unit is clipped. It is at most 1.05, the price of counting documents.
TABLE_CLIP = math.sqrt((1 + COUNT_SHARE**2) / (1 - MASS_SHARE**2)) * (1 + 1e-4)


@compiled(fastmath=FAST, error_model="numpy")
def _proportions(words, counts, first, last, length, scale, matrix, shape, room, out):
    clear(out, 0, shape[3])
    _write_proportions(words, counts, first, last, length, matrix, shape, room, out)


@compiled(fastmath=FAST, error_model="numpy")
def _write_proportions(words, counts, first, last, length, matrix, shape, room, out):
    k, _, _, _, alpha = shape
    _, gamma, _, _, _ = fit_document(words, counts, first, last, length, matrix, shape, room)
    for z in range(np.uint64(k)):
        share = (gamma[z] - alpha) / np.float32(length)
        out[z] = np.float32(0.0) if share < 0 else share  # nan stays nan


@compiled(fastmath=FAST, error_model="numpy")
def _in_table(words, counts, first, last, length, scale, matrix, shape, room, out):
    k, total = np.uint64(shape[0]), np.float32(0.0)
    clear(out, 0, shape[3])
    _write_proportions(words, counts, first, last, length, matrix, shape, room, out)
    for z in range(k):
        total += out[z]
    for z in range(k):  # words that no topic contains leave less than 1; nan stays nan
        out[z] = np.float32(1.0) / np.float32(k) if total == 0 else out[z] / total
    out[k] = np.float32(COUNT_SHARE)


TOPIC_PROPORTIONS = Statistic(
    name=f"{__name__}:TOPIC_PROPORTIONS",
    layout=ONE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_proportions,
    row=lambda k, directions: round_up(k),
    room=posterior_room,
)


TABLE_PROPORTIONS = Statistic(
    name=f"{__name__}:TABLE_PROPORTIONS",
    layout=ROW_PER_TABLE_ROW,
    replace_factor=NONNEGATIVE,
    contribution=_in_table,
    row=lambda k, directions: round_up(k + 1),
    room=posterior_room,
)


def topic_proportions(topics: np.ndarray, alpha: float) -> Contribution:
    """(vii): the share of a document's tokens that each of the `topics` (n_words, k) explains, sum of shape (1, k).

    A unit contributes the mean over its documents. The shares are nonnegative whatever the topics are, and their sum is
    at most one, so that their norm is at most 1. `alpha` is the document prior of each topic.
    """
    topics = as_float32(topics)
    n_words, k = topics.shape
    return Contribution(TOPIC_PROPORTIONS, np.ones(n_words, np.float32), topics, equal_weights(k), float(alpha))


def table_proportions(topics: np.ndarray, alpha: float, n_rows: int) -> Contribution:
    """(ix): a document's proportions of the `topics` (n_words, k), and `COUNT_SHARE`, in its row of a table.

    The sum is (n_rows, k + 1). A unit's documents have equal weights, which sum to 1, over all the rows that they are
    in. The unit's norm is below `TABLE_CLIP` with the mass coordinate (docs/privacy.md, T10).
    """
    topics = as_float32(topics)
    n_words, k = topics.shape
    scale, weights = np.ones(n_words, np.float32), equal_weights(k + 1)
    return Contribution(TABLE_PROPORTIONS, scale, topics, weights, float(alpha), table_rows=n_rows)


MOST_GAIN = 0.5  # largest absolute value of a document's gain of likelihood, in nats a token
MOST = 2.0  # largest absolute value of the coordinates of a document's completion, in nats a token
_MIXED = 0.01  # weight of the reference in the prediction, so that no word has probability 0
# No unit is clipped: both its coordinates are at most 1, with room for the mass coordinate and for rounding.
COMPLETION_CLIP = math.sqrt(2 / (1 - MASS_SHARE**2)) * (1 + 1e-4)


@compiled(fastmath=FAST, error_model="numpy")
def _hold_out(counts, first, last, amounts, held):
    """Move every second token of a document from `amounts` to `held`; returns how many."""
    before, at = np.int64(0), np.uint64(first)
    for e in range(np.uint64(last - first)):
        after = before + np.int64(counts[at + e])
        held[e] = np.float32(after // 2 - before // 2)
        amounts[e] -= held[e]
        before = after
    return before // 2


@compiled(fastmath=FAST, error_model="numpy")
def _complete(words, counts, first, last, length, scale, matrix, shape, room):
    """Predict every second token from the others; return their number, their count per entry and the sum of log(p / r).

    p is a word's probability given the other tokens, and r its frequency in `scale`.
    """
    k, _, _, _, alpha = shape
    extra = padded(last - first, LANES)
    held = room[:extra]
    before, theta, gamma, table, amounts, wide = document_space(words, counts, first, last, matrix, shape, room[extra:])
    number = _hold_out(counts, first, last, amounts, held)
    posterior(table, amounts, wide, length - number, k, alpha, before, theta, gamma)
    total = predict(theta, gamma, table, amounts, wide, k)
    at, half, gain = np.uint64(first), np.uint64(wide), np.float32(0.0)
    for e in range(np.uint64(last - first)):
        share = amounts[half + e] / (total * scale[np.uint64(words[at + e])])
        gain += held[e] * np.log(np.float32(1.0 - _MIXED) * share + np.float32(_MIXED))
    return np.float32(number), held, gain


@compiled(fastmath=FAST, error_model="numpy")
def _bounded(value, most):
    """Return the `value` within [-`most`, `most`]; nan stays nan."""
    return min(max(value, np.float32(-most)), np.float32(most)) if value == value else value


@compiled(fastmath=FAST, error_model="numpy")
def _gain(words, counts, first, last, length, scale, matrix, shape, room, out):
    number, _, gain = _complete(words, counts, first, last, length, scale, matrix, shape, room)
    clear(out, 0, shape[3])
    out[0] = _bounded(gain / number, MOST_GAIN)


@compiled(fastmath=FAST, error_model="numpy")
def _completion(words, counts, first, last, length, scale, matrix, shape, room, out):
    """The mean over held-out tokens of log(p / r), and of the centred -log r, each over `MOST`.

    The centred -log r is the last column of `matrix`.
    """
    k, _, stride, row, _ = shape
    number, held, gain = _complete(words, counts, first, last, length, scale, matrix, shape, room)
    at, column, surprise = np.uint64(first), np.uint64(padded(k)), np.float32(0.0)
    for e in range(np.uint64(last - first)):
        surprise += held[e] * matrix[np.uint64(words[at + e]) * np.uint64(stride) + column]
    clear(out, 0, row)
    out[0] = _bounded(gain / (number * np.float32(MOST)), 1.0)
    out[1] = _bounded(surprise / (number * np.float32(MOST)), 1.0)


@compiled()
def _room(k, directions, longest):
    return posterior_room(k, directions, longest) + padded(longest, LANES)


LIKELIHOOD_GAIN = Statistic(
    name=f"{__name__}:LIKELIHOOD_GAIN",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_gain,
    row=lambda k, directions: round_up(1),
    room=_room,
)
DOCUMENT_COMPLETION = Statistic(
    name=f"{__name__}:DOCUMENT_COMPLETION",
    layout=ONE_ROW,
    replace_factor=SIGNED,
    contribution=_completion,
    row=lambda k, directions: round_up(2),
    room=_room,
)


def likelihood_gain(topics: np.ndarray, alpha: float, reference: np.ndarray) -> Contribution:
    """(viii): a document's gain in nats a token, clipped to +-`MOST_GAIN`, sum of shape (1, 1).

    Every second token is held out. The gain is the mean of log(p / r) over the held-out tokens, with
    p = (1 - `_MIXED`) q + `_MIXED` r. Here r is the word's positive value in `reference` (n_words,), and q is its
    probability under the `topics` (n_words, k) with the posterior mean proportions given the other tokens. `alpha` is
    the document prior of each topic.
    """
    return Contribution(LIKELIHOOD_GAIN, as_float32(reference), as_float32(topics), equal_weights(1), float(alpha))


def document_completion(topics: np.ndarray, alpha: float, reference: np.ndarray) -> Contribution:
    """(xii): a document's gain and surprise in nats a token, each divided by `MOST`, sum of shape (1, 2).

    The gain is that of `likelihood_gain`, for a `reference` that sums to one. The surprise is the mean of -log r over
    the held-out tokens minus the entropy of r. Gain and surprise are clipped to +-`MOST` before the division, so that
    both coordinates are in [-1, 1].
    """
    surprise = -np.log(reference)
    centred = surprise - float(reference @ surprise)
    matrix = as_float32(np.column_stack([topics, centred]))
    return Contribution(
        DOCUMENT_COMPLETION, as_float32(reference), matrix, equal_weights(2), float(alpha), directions=1
    )
