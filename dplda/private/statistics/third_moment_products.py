"""(iv) by matrix products: clipped sums of whitened third moments in integers (docs/privacy.md, section 5).

A unit is first clipped, and each of its documents is written in integers. For a document of length l with the shares
x_i = c_i / l, y = sum of x_i w_i and rho^3 the factor of y^3 in lattice units, they are

    z = round(2^8 rho y),   g_i = round(2^10 rho^2 m_i^2 x_i / l),   q_i = round(2^4 (2/3) rho^3 m_i^3 x_i / l^2),

where m_i is the least power of two that no entry of the row w_i exceeds. With the public integers p_i = round(2^16 w_i
w_i' / m_i^2) and o_i = round(2^14 w_i / m_i), its contribution is z^3 - S(sum over i of p_i (g_i z - q_i o_i)), up to
powers of two, where S(A)_abc = A_abc + A_acb + A_bca. Three sums over documents remain: Y'P; for each word, G, the sum
of g z; and, for each word, the sum of q. A row of Y is a document's z, and a row of P its products z_a z_b, a <= b. The
sums are exact (in float64 below 2^53, then in int64), so that a unit changes no other unit's numbers. The products with
p are taken, and the tensor is rounded to the lattice, once for all units.

The norm of the exact contribution of a unit follows from the Gram matrix of the rows of its documents' words. The
clip leaves room for a bound on how far the integers differ from this contribution. Units for which this bound is large
or cannot be verified are summed by `unit_sums`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dplda.base.arrays import Array, Gpu, to_numpy
from dplda.base.compiled import compiled
from dplda.base.config import MINIMUM_LENGTH
from dplda.private.statistics.clipping import BOUND, FAST, MASS_SHARE, padded
from dplda.private.statistics.lda_moments import rising
from dplda.private.statistics.statistic import Contribution, as_float32
from dplda.private.statistics.third_moment import THIRD_MOMENT, third_moment
from dplda.private.statistics.unit_sums import UnitSums, length_of, read_only
from dplda.private.store.units import UnitCounts

_LEAST_TOPICS = 40  # for fewer, the tensors of units are as fast
# Scales in bits of z, g, q, p and o. Those of z and g together, and of q and o, are that of H (`ProductSums._limbs`).
_Y, _G, _Q, _PAIRS, _ROW = 8, 10, 4, 16, 14
_H = _Y + _G
_LARGEST_Y, _LARGEST_G, _LARGEST_Q = 2.0**15, 2.0**26, 2.0**28
_EXACT = 2.0**52  # sums of integers in float64 stay below twice this
_FLUSH = 4096  # documents after which sums in float64 become int64
_LIMB, _WORDS = 22, 512  # bits of a part of H, and words, whose products with pairs are exact
_SLACK = BOUND / 32  # how much longer, at most, than its exact contribution a unit's integers may be
_BUFFER = 2**22  # numbers in the pair products of one batch
_MOST_DOCUMENTS = 64  # of a unit: a batch has room for as many
_BLOCK = 20  # rows of Y'P that are computed at once; a smaller block wastes less and is slower
_CANCELLED = 1e-4  # largest part of a squared norm that its rounding may be
_UNDERFLOW = 1e-120  # bounds below which squares of squares might not be normal numbers
_UNIT_ROUNDOFF = 2.0**-53


@compiled()
def _documents(arrays, unit, found):
    """Write the eligible documents of `unit` to `found`, as far as they fit; return their number."""
    indptr, _, counts, unit_ptr = arrays
    n = 0
    for document in range(unit_ptr[unit], unit_ptr[unit + 1]):
        if length_of(counts, indptr[document], indptr[document + 1]) >= MINIMUM_LENGTH:
            if n < len(found):
                found[n] = document
            n += 1
    return n


@compiled()
def _document(arrays, n):
    """Return the `n`-th document of the corpus as (words, counts, first entry, end, l)."""
    indptr, words, counts, _ = arrays
    first, last = indptr[n], indptr[n + 1]
    return words, counts, first, last, float(length_of(counts, first, last))


@compiled(error_model="numpy")
def _weight(length, n):
    """The factor of y^3 in the mean over `n` documents, for one of them: l^2 / ((l - 1) (l - 2)) / n."""
    return length / (length - 1.0) * (length / (length - 2.0)) / n


@compiled(fastmath=FAST, error_model="numpy")
def _project(document, W, k, y):
    """y = the sum of c w / l over the words of a `_document`."""
    words, counts, first, last, length = document
    for z in range(k):
        y[z] = 0.0
    for e in range(first, last):
        share, w = counts[e] / length, words[e]
        for z in range(k):
            y[z] += share * W[w, z]


@compiled(fastmath=FAST, error_model="numpy")
def _row_products(table, wide, k, i, upto, row):
    """row[j] = the inner product of the columns i and j of `table`, j < `upto` (a multiple of 8)."""
    n = np.uint64(upto)
    for j in range(n):
        row[j] = 0.0
    z = 0
    while z + 4 <= k:
        a, b = np.uint64(z * wide), np.uint64((z + 1) * wide)
        c, d = np.uint64((z + 2) * wide), np.uint64((z + 3) * wide)
        at = np.uint64(i)
        x0, x1, x2, x3 = table[a + at], table[b + at], table[c + at], table[d + at]
        for j in range(n):
            row[j] += x0 * table[a + j] + x1 * table[b + j] + x2 * table[c + j] + x3 * table[d + j]
        z += 4
    while z < k:
        a = np.uint64(z * wide)
        x0 = table[a + np.uint64(i)]
        for j in range(n):
            row[j] += x0 * table[a + j]
        z += 1


@compiled(fastmath=FAST, error_model="numpy")
def _unit_norm(arrays, documents, W, row_norms, Y, room):
    """Return an upper bound on the norm of the mean contribution of a unit's `documents`, in float64.

    The closed form of docs/privacy.md, section 5, plus a bound on its rounding; infinite where the bound on the
    rounding is a considerable part of the squared norm. The rows of `Y` (n, k) are the documents' y, which this writes.
    `room` is scratch space.
    """
    n, k, size, starts = len(documents), W.shape[1], 0, np.zeros(len(documents) + 1, np.int64)
    for j in range(n):
        _, _, first, last, _ = _document(arrays, documents[j])
        size += last - first
        starts[j + 1] = size
    wide = padded(size, 8)
    table, row = room[: k * wide], room[k * wide : (k + 1) * wide]
    r, q = room[(k + 1) * wide : (k + 2) * wide], room[(k + 2) * wide : (k + 3) * wide]
    V, weights, S = room[(k + 3) * wide : (k + 3 + n) * wide], np.empty(n), np.empty((n, n))
    table[:], V[:], r[:], q[:] = 0.0, 0.0, 0.0, 0.0
    largest = 0.0
    for j in range(n):
        document = _document(arrays, documents[j])
        words, counts, first, last, length = document
        weights[j] = _weight(length, n)
        _project(document, W, k, Y[j])
        one = two = three = 0.0
        for e in range(first, last):
            at, w, share = starts[j] + e - first, words[e], counts[e] / length
            r[at] = weights[j] * share / length
            q[at] = r[at] / length
            norm = row_norms[w]
            one += share * norm
            two += share / length * norm * norm
            three += share / length / length * norm * norm * norm
            for z in range(k):
                table[z * wide + at] = W[w, z]
        largest += weights[j] * (one * one * one + 3.0 * one * two + 2.0 * three)
    found = 0.0
    for i in range(n):
        for z in range(k):
            at, x = z * wide, Y[i, z]
            for e in range(wide):
                V[i * wide + e] += x * table[at + e]
        for j in range(n):
            S[i, j] = 0.0
            for z in range(k):
                S[i, j] += Y[i, z] * Y[j, z]
            found += weights[i] * weights[j] * S[i, j] ** 3
    for j in range(n):
        own = j * wide  # where V holds the products with the document's y
        for f in range(starts[j], starts[j + 1]):
            _row_products(table, wide, k, f, padded(f + 1, 8), row)
            rf, qf, x = r[f], q[f], row[f]
            v = V[own + f]
            found += rf * rf * (3.0 * S[j, j] * x * x + 6.0 * v * v * x) - 12.0 * rf * qf * v * x * x
            found += 4.0 * qf * qf * x * x * x
            for i in range(n):
                vi = V[i * wide + f]
                found += weights[i] * vi * vi * (4.0 * qf * vi - 6.0 * rf * S[i, j])
            for i in range(j + 1):
                vi, a, b, c, d = V[i * wide + f], 0.0, 0.0, 0.0, 0.0
                for e in range(starts[i], min(starts[i + 1], f)):
                    x, ve = row[e], V[own + e]
                    rx = r[e] * x
                    a += rx * x
                    b += rx * ve
                    c += (qf * vi * r[e] + q[e] * ve * rf) * (x * x)
                    d += q[e] * (x * x * x)
                found += 2.0 * rf * (3.0 * S[i, j] * a + 6.0 * vi * b) - 12.0 * c + 8.0 * qf * d
    rounding = (6.0 * size + 4.0 * k + n * n + 60.0) * 1.01 * _UNIT_ROUNDOFF * largest * largest
    if not rounding <= _CANCELLED * found or 0.0 < largest < _UNDERFLOW:  # nan, too
        return np.inf
    return np.sqrt(found + rounding) * (1.0 + 1e-12)


@compiled(error_model="numpy")
def _slack(document, row_norms, peaks, k, rho, y_norm):
    """An upper bound on how far a document's integers are from rho^3 times its contribution, in lattice units."""
    words, counts, first, last, length = document
    delta = 0.5 * np.sqrt(float(k)) * 2.0**-_Y
    one = of_rounding = of_sum = g_sum = q_sum = q_squares = 0.0
    for e in range(first, last):
        w = words[e]
        share = counts[e] / length
        m, norm = peaks[w], row_norms[w]
        n = norm / m  # of w / m
        g, q = rho * rho * share / length * m * m, rho * rho * rho * share / length / length * m * m * m
        one += rho * share * norm
        of_rounding += n * n  # of g
        g_sum += g
        of_sum += g * n * n
        q_sum += n * n * n  # of q
        q_squares += q * (n * k * 2.0**-_PAIRS + n * n * np.sqrt(float(k)) * 2.0**-_ROW)
    delta += 1e-12 * one
    long = y_norm + delta
    cubes = 3.0 * delta * long * long
    pairs = 3.0 * (long * (0.5 * 2.0**-_G * of_rounding + 0.5 * k * 2.0**-_PAIRS * g_sum) + delta * of_sum)
    words_alone = 3.0 * (0.5 * 2.0**-_Q * q_sum + 0.5 * q_squares)
    return (cubes + pairs + words_alone) * 1.05 + 1e-9 * one * one * one


@compiled(error_model="numpy")
def _write(document, peaks, k, rho, y, G, q):
    """Add a document's integers to `G` (n_words, k) and `q` (n_words,); `y` becomes its integers."""
    words, counts, first, last, length = document
    for z in range(k):
        y[z] = np.rint(y[z] * rho * 2.0**_Y)
    for e in range(first, last):
        w = words[e]
        share, m = counts[e] / length, peaks[w]
        g = np.rint(rho * rho * share / length * m * m * 2.0**_G)
        q[w] += np.rint(rho * rho * rho * share / length / length * m * m * m * (2.0 / 3.0) * 2.0**_Q)
        for z in range(k):
            G[w, z] += g * y[z]


@compiled(error_model="numpy")
def _fits(document, peaks, k, rho, y):
    """Whether the integers are small enough for exact sums, and the entries sorted, one per word; false for nan."""
    words, counts, first, last, length = document
    for z in range(k):
        if not abs(y[z]) * rho * 2.0**_Y < _LARGEST_Y:
            return False
    for e in range(first, last):
        if e > first and words[e] <= words[e - 1]:
            return False
        m, share = peaks[words[e]], counts[e] / length
        if not rho * rho * share / length * m * m * 2.0**_G < _LARGEST_G:
            return False
        if not rho * rho * rho * share / length / length * m * m * m * 2.0**_Q < _LARGEST_Q:
            return False
    return True


@compiled(keep=True, error_model="numpy")
def _unit_norms(arrays, units, W, row_norms, norms):
    """Fill `norms` with upper bounds on the norms of `units`, -1 for one without an eligible document.

    A bound is infinite if `UnitSums` must sum the unit: for an infinite `_unit_norm`, for many eligible documents, or
    for so many words that forming the tensor takes less time.
    """
    indptr, _, _, unit_ptr = arrays
    k, documents = W.shape[1], np.empty(_MOST_DOCUMENTS, np.int64)
    most, entries = k * k // 3, 1
    for u in units:
        entries = max(entries, min(indptr[unit_ptr[u + 1]] - indptr[unit_ptr[u]], most))
    Y, room = np.zeros((_MOST_DOCUMENTS, k)), np.zeros((k + 3 + _MOST_DOCUMENTS) * padded(entries, 8))
    for i in range(len(units)):
        n, size = _documents(arrays, units[i], documents), 0
        for document in documents[: min(n, _MOST_DOCUMENTS)]:
            size += indptr[document + 1] - indptr[document]
        if n == 0:
            norms[i] = -1.0
        elif n > _MOST_DOCUMENTS or size > most:
            norms[i] = np.inf
        else:
            norms[i] = _unit_norm(arrays, documents[:n], W, row_norms, Y, room)


@compiled(keep=True, error_model="numpy")
def _fill(arrays, units, norms, begin, of_words, clip, margin, Y, sums, slow):
    """Write the integers of `units` to rows of `Y`, one for each document, from the unit `begin` on, and to the `sums`.

    `norms` is the result of `_unit_norms`; `of_words` are the rows w, bounds on their norms, and the m; `sums` are G
    and q. Ends before a unit for which `Y` has too few rows, or with which the products of `Y` might not be exact. Sets
    `slow` for units that `UnitSums` must sum. Returns the next unit, the number of rows, the sum of masses, and a bound
    on the products.
    """
    (W, row_norms, peaks), (G, q) = of_words, sums
    k, rows, bound, mass = W.shape[1], 0, 0.0, np.int64(0)
    documents, rhos = np.empty(_MOST_DOCUMENTS, np.int64), np.empty(_MOST_DOCUMENTS)
    extra = MASS_SHARE * clip
    for i in range(begin, len(norms)):
        if norms[i] == -1.0:
            continue
        if not np.isfinite(norms[i]):
            slow[i] = True
            continue
        n = _documents(arrays, units[i], documents)
        if rows + n > len(Y):
            return i, rows, mass, bound
        length = np.hypot(norms[i], extra)
        most = min(BOUND / clip, (BOUND - margin) / length)  # the factor if there were no slack
        fits, slack, largest = True, 0.0, 0.0
        for j in range(n):
            document, y = _document(arrays, documents[j]), Y[rows + j]
            rho = (most * _weight(document[4], n)) ** (1.0 / 3.0)
            _project(document, W, k, y)
            square = peak = 0.0
            for z in range(k):
                square += y[z] * y[z]
                peak = max(peak, abs(y[z]))
            fits = fits and _fits(document, peaks, k, rho, y)
            slack += _slack(document, row_norms, peaks, k, rho, rho * np.sqrt(square))
            largest += (peak * rho * 2.0**_Y + 1.0) ** 3
            rhos[j] = rho
        if not (fits and slack <= _SLACK):
            slow[i] = True
            continue
        if bound + largest > _EXACT:
            return i, rows, mass, bound
        factor = min(most, (BOUND - margin - slack) / length)
        for j in range(n):
            rho = rhos[j] * (factor / most) ** (1.0 / 3.0)
            _write(_document(arrays, documents[j]), peaks, k, rho, Y[rows + j], G, q)
        rows, bound = rows + n, bound + largest
        mass += np.int64(np.rint(extra * factor))
    return len(norms), rows, mass, bound


@compiled(keep=True)
def _pair_products(Y, rows, pairs):
    """pairs[n] = the products z_a z_b, a <= b, ordered by (b, a), of the integers z in row n of `Y`."""
    k = Y.shape[1]
    for n in range(rows):
        at = 0
        for b in range(k):
            x = Y[n, b]
            for a in range(b + 1):
                pairs[n, at + a] = x * Y[n, a]
            at += b + 1


def sums_of(contribution: Contribution, gpu: Gpu | None = None) -> UnitSums | ProductSums:
    """Make an object that sums `contribution` over units on the CPU, with matrix products on `gpu` if there is one."""
    return ProductSums(contribution, gpu) if has_products(contribution) else UnitSums(contribution)


def has_products(contribution: Contribution) -> bool:
    """Whether `contribution` is summed by matrix products."""
    expected = contribution.statistic is THIRD_MOMENT and contribution.matrix.shape[1] >= _LEAST_TOPICS
    return expected and np.array_equal(contribution.weights, third_moment(contribution.matrix).weights)


class ProductSums:
    """Sums over units, and norms of units, of a `third_moment` of many topics. Thread-safe.

    The CPU writes the integers of units. Their products are taken there or on `gpu`, with the same result.
    """

    def __init__(self, contribution: Contribution, gpu: Gpu | None = None) -> None:
        self._xp: Any = np if gpu is None else gpu.xp
        matrix = as_float32(contribution.matrix).astype(np.float64)
        matrix[~np.isfinite(matrix).all(axis=1)] = np.nan  # `UnitSums` sums units that use such a word
        self._k = matrix.shape[1]
        self._factors = tuple(map(self._xp.asarray, np.tril_indices(self._k)))  # (b, a) of the products z_a z_b
        peaks = np.nan_to_num(np.abs(matrix).max(axis=1))
        self._peaks = 2.0 ** np.ceil(np.log2(np.where(peaks > 0, peaks, 2.0**-200)))  # a row of zeros adds nothing
        self._matrix, self._row_norms = read_only(matrix), read_only(np.linalg.norm(matrix, axis=1) * (1 + 1e-12))
        self._scaled = np.nan_to_num(matrix) / self._peaks[:, None]
        self._margin = 1.01 * self._k**1.5 + 2.0
        self._others = UnitSums(contribution)
        blocks = range(0, self._k, _BLOCK)
        self._blocks = [(c, min(c + _BLOCK, self._k)) for c in blocks]
        self._sizes = [(end - c, end * (end + 1) // 2) for c, end in self._blocks]
        self._rows = min(max(_BUFFER // self._sizes[-1][1], _MOST_DOCUMENTS), 1024)

    def total(self, counts: UnitCounts, chosen: np.ndarray, clip: float) -> tuple[Any, ...]:
        """Sum the units `chosen` (int64) in integers; `finish` turns the sums over all ranges into the result."""
        d, k, n_products = len(self._peaks), self._k, sum(a * b for a, b in self._sizes)
        high, low, products = (self._xp.zeros(n_products, dtype) for dtype in (np.int64, np.int64, np.float64))
        words_high, words_low, squares = np.zeros((d, k), np.int64), np.zeros((d, k), np.int64), np.zeros(d, np.int64)
        Y, pairs = np.zeros((self._rows, k)), np.empty((self._rows if self._xp is np else 0, self._sizes[-1][1]))
        G, q = np.zeros((d, k)), np.zeros(d)
        norms, slow = self._bounds(counts, chosen), np.zeros(len(chosen), np.bool_)
        of_words = self._matrix, self._row_norms, self._peaks
        arrays, units = tuple(map(read_only, counts.arrays)), read_only(chosen)

        def flush_words() -> int:
            """Move the sums of words to integers; returns 0, the number of documents in the sums after that."""
            nonlocal squares
            squares = squares + q.astype(np.int64)
            q[:] = 0.0
            return int(_flush(G, words_high, words_low, _LIMB))

        unit, mass, bound, documents = 0, 0, 0.0, 0
        while unit < len(chosen):
            unit, rows, more, largest = _fill(
                arrays, units, norms, unit, of_words, float(clip), self._margin, Y, (G, q), slow
            )
            mass += int(more)
            if bound + largest > 2 * _EXACT:
                bound = _flush(products, high, low, 3 * _Y)
            self._multiply(Y[:rows], pairs, products)
            bound, documents = bound + largest, documents + rows
            if documents + len(Y) > _FLUSH:
                documents = flush_words()
        _flush(products, high, low, 3 * _Y)
        flush_words()
        others, others_mass = self._others.total(counts, chosen[slow], clip)
        return to_numpy(high), to_numpy(low), words_high, words_low, squares, others, mass + others_mass

    def norms(self, counts: UnitCounts, chosen: np.ndarray) -> np.ndarray:
        """Return the norms that decide the clipping of the units `chosen` (int64); see `UnitSums.norms`."""
        norms = self._bounds(counts, chosen)
        others = np.flatnonzero(~np.isfinite(norms))
        norms[others] = self._others.norms(counts, chosen[others])
        return norms

    def _bounds(self, counts: UnitCounts, chosen: np.ndarray) -> np.ndarray:
        """Return the `norms` that `_unit_norms` finds for the units `chosen`."""
        norms, arrays = np.empty(len(chosen)), tuple(map(read_only, counts.arrays))
        _unit_norms(arrays, read_only(chosen), self._matrix, self._row_norms, norms)
        return norms

    def finish(self, parts: tuple[Any, ...]) -> tuple[np.ndarray, int]:
        """Return the integer sum of clipped contributions, (1, width), and the sum of mass coordinates."""
        high, low, *of_words, others, mass = parts
        a, b, c = rising(self._k)
        limbs = [
            limb[c, b * (b + 1) // 2 + a] + limb[b, c * (c + 1) // 2 + a] + limb[a, c * (c + 1) // 2 + b]
            for limb in map(self._words_products, self._limbs(*of_words))
        ]
        # In lattice units, the limbs weigh 2^-34, 2^-12, 2^10 and 2^32, and what was flushed 1 and 2^-24.
        place, step = self._place(c, b * (b + 1) // 2 + a), _H + _PAIRS - _LIMB
        high, low = high + (low >> (3 * _Y)), low & ((1 << 3 * _Y) - 1)  # however products were divided
        rest = low[place] * 2.0 ** (-3 * _Y) - limbs[0] * 2.0 ** (-step - _LIMB)
        rest -= (limbs[1] & ((1 << step) - 1)) * 2.0**-step
        whole = high[place] - (limbs[1] >> step) - (limbs[2] << (_LIMB - step)) - (limbs[3] << (2 * _LIMB - step))
        return others + (whole + np.rint(rest).astype(np.int64))[None], mass

    def _limbs(self, high: np.ndarray, low: np.ndarray, squares: np.ndarray) -> list[np.ndarray]:
        """H = G - q o, (n_words, k), in parts of 22 bits, the last one signed; G = high 2^22 + low, q = `squares`."""
        rows, mask, q = np.rint(self._scaled * 2.0**_ROW).astype(np.int64), (1 << _LIMB) - 1, squares[:, None]
        low = low - (q & mask) * rows
        high = high - (q >> _LIMB) * rows + (low >> _LIMB)
        return [low & mask, high & mask, (high >> _LIMB) & mask, high >> (2 * _LIMB)]

    def _multiply(self, Y: Array, pairs: np.ndarray, products: Array) -> None:
        """Add Y'P of the batch `Y` to the flat blocks of `products`; `pairs` is scratch space for P on the CPU."""
        if self._xp is np:
            _pair_products(Y, len(Y), pairs)
        else:
            Y, (b, a) = self._xp.asarray(Y), self._factors
            pairs = Y[:, a] * Y[:, b]
        at = 0
        for (begin, end), (height, width) in zip(self._blocks, self._sizes, strict=True):
            block = products[at : at + height * width].reshape(height, width)
            block += Y[:, begin:end].T @ pairs[: len(Y), :width]
            at += height * width

    def _place(self, c: np.ndarray, pair: np.ndarray) -> np.ndarray:
        """Return where the blocks of products contain z_c times the product `pair`."""
        starts = np.cumsum([0] + [height * width for height, width in self._sizes])
        widths, block = np.array([width for _, width in self._sizes]), c // _BLOCK
        return np.asarray(starts[block] + (c - block * _BLOCK) * widths[block] + pair)

    def _words_products(self, limb: np.ndarray) -> np.ndarray:
        """limb' times the words' p at a <= b, (k, k (k + 1) / 2); exact in float64 for each batch of words."""
        b, a = np.tril_indices(self._k)
        total = np.zeros((self._k, len(a)), np.int64)
        for first in range(0, len(limb), _WORDS):
            rows = self._scaled[first : first + _WORDS]
            pairs = np.rint(rows[:, a] * rows[:, b] * 2.0**_PAIRS)
            total += (limb[first : first + _WORDS].astype(np.float64).T @ pairs).astype(np.int64)
        return total


def _flush(sums: Array, high: Array, low: Array, bits: int) -> float:
    """Move `sums` to `high` (multiples of 2^bits) and `low` (the rest); returns 0, a bound on what `sums` now hold."""
    whole = np.floor(sums * 2.0**-bits)
    high += whole.astype(np.int64)
    low += (sums - whole * 2.0**bits).astype(np.int64)
    sums[...] = 0.0
    return 0.0
