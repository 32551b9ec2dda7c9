"""What each kernel has to do at least: operations, and bytes moved, of a corpus' documents.

Operations are additions, subtractions, multiplications and divisions of one number of an entry, a row or a coordinate,
by the cheapest order we know of; what is computed once a document (its length, norm and clip) is left out. Every
coordinate of a document's contribution costs its part of the norm, of the scaling to the lattice, of the exact check
and of the sum (`PLAIN`; `WEIGHTED` where it stands for several). Bytes from memory are the counts themselves, 8 an
entry and 24 a document, and each array once; bytes from caches are the rows gathered for the entries and the sums
read and written.
"""

from __future__ import annotations

from dataclasses import dataclass

PLAIN, WEIGHTED = 6, 8  # square and add, twice; scale; add the whole number; and two products with the weight
DIGAMMA = 41  # of `dplda.private.statistics.expected_counts._exp_digamma`
NUMBER, SUM, ENTRY, DOCUMENT = 4, 16, 8, 24  # bytes: a float32, a sum read and written, and of the counts


@dataclass(frozen=True)
class Size:
    """Of the documents: their number, their entries, and of the E-step its steps and entries times steps."""

    documents: int
    entries: int
    n_words: int
    steps: int = 0
    entry_steps: int = 0


@dataclass(frozen=True)
class Cost:
    """Operations, and bytes from memory and from caches."""

    flops: float
    memory: float
    caches: float


def first_moment(size: Size) -> Cost:
    """A share and a product with the scale for each entry."""
    m = size.entries
    return _rows(size, m * (2 + PLAIN), 1)


def second_moment_times(size: Size, p: int) -> Cost:
    """y from the entries' rows of X (n_words, p), then a row for each entry from y and its own."""
    m, n = size.entries, size.documents
    return _rows(size, m * (2 * p + 3 * p + 2 + PLAIN * p) + n * p, p)


def core(size: Size, p: int) -> Cost:
    """y and the pairs of R from the rows, then y y' - R."""
    m, n, t = size.entries, size.documents, triangle(p)
    return _single(size, m * (1 + 2 * p + 2 * t) + n * (3 + WEIGHTED) * t, p, t)


def third_moment(size: Size, k: int) -> Cost:
    """y, R and the coordinates of Q from the rows, then y^3 - P(R, y) + 2 Q."""
    m, n, t, q = size.entries, size.documents, triangle(k), pyramid(k)
    return _single(size, m * (1 + 2 * k + 2 * t + 2 * q) + n * (3 * t + (7 + WEIGHTED) * q), k, q)


def third_moment_along(size: Size, k: int, r: int) -> Cost:
    """y and the r_u from rows of k + r numbers, what is linear in the rows for each of r directions, and the rest."""
    m, n = size.entries, size.documents
    flops = m * (1 + 2 * (k + r) + 5 * r + 2 * k * r) + n * r * (3 + 3 * k + PLAIN * k)
    return _single(size, flops, k + r, k * r)


def expected_counts(size: Size, k: int) -> Cost:
    """Steps of two products with the document's columns and a digamma a topic, then a row for each entry."""
    steps = size.entry_steps * (4 * k + 1) + size.steps * k * (2 + DIGAMMA)
    return _rows(size, steps + size.entries * (2 * k + 2 + 2 * k + PLAIN * k), k)


def votes(size: Size) -> Cost:
    """No arithmetic in floating point: a hash and a sum for each entry."""
    return Cost(0.0, _counts(size) + size.n_words * SUM, size.entries * (8 + SUM))


def triangle(p: int) -> int:
    """Coordinates of a symmetric (p, p) matrix."""
    return p * (p + 1) // 2


def pyramid(k: int) -> int:
    """Coordinates of a symmetric (k, k, k) tensor."""
    return k * (k + 1) * (k + 2) // 6


def _counts(size: Size) -> float:
    return float(size.entries * ENTRY + size.documents * DOCUMENT)


def _rows(size: Size, flops: float, width: int) -> Cost:
    """Of a contribution with a row for each word."""
    memory = _counts(size) + size.n_words * width * (NUMBER + SUM)
    return Cost(float(flops), memory, float(size.entries * width * (NUMBER + SUM)))


def _single(size: Size, flops: float, width: int, coordinates: int) -> Cost:
    """Of a contribution with one row in all, from rows of `width`."""
    memory = _counts(size) + size.n_words * width * NUMBER + coordinates * SUM
    return Cost(float(flops), memory, float(size.entries * width * NUMBER + size.documents * coordinates * SUM))
