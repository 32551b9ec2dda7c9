"""The keyed fingerprint and sketch of a corpus, by which a ledger recognises it without storing its documents."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplda.config import MINIMUM_LENGTH
from dplda.corpus.blocks import Block
from dplda.corpus.store import CountStore
from dplda.overlap import Fingerprint, Sketch
from dplda.text.records import DOCUMENT

_LANES = 2  # two independent 64-bit sums: 128 bits against accidental collisions
_DOMAIN = b"dplda corpus fingerprint 1"
_FEW_DOCUMENTS = 1 << 20  # are held before they are added to their units
Hashes = NDArray[np.uint64]


def fingerprint(store: CountStore, key: bytes) -> Fingerprint:
    """Codes of the documents in `store` and of how they form units, and a sketch of the documents.

    A document is its multiset of words. It is eligible with at least `MINIMUM_LENGTH` words, counted with repetition:
    shorter ones contribute nothing to any statistic, and anyone can add any number of them. A unit is its multiset of
    eligible documents. Codes are hexadecimal HMAC-SHA256 of the multiset of documents, and of that of units. The sketch
    is of distinct eligible documents. No part depends on the order of documents, on blocks, on the numbers of words in
    the dictionary, or on what units are called. All are private: whoever holds `key` can test a guess of the corpus, or
    of a document in the sketch.
    """
    lanes = [_word_hashes(store.dictionary, key, lane) for lane in range(_LANES)]
    secret, unit_secret = (hmac.digest(key, _DOMAIN + part, hashlib.sha256) for part in (b" documents", b" units"))
    sums = np.zeros(_LANES, dtype=np.uint64)
    grouped = store.unit != DOCUMENT
    documents, sketch, units = 0, Sketch(), _Units()
    for block in store.blocks():
        documents += block.n_documents
        hashes = np.stack([_document_hashes(block, words) for words in lanes], axis=1)
        sums += hashes.sum(axis=0, dtype=np.uint64)
        eligible = np.flatnonzero(_lengths(block) >= MINIMUM_LENGTH)
        codes = _keyed(hashes[eligible], secret)
        near = codes <= np.uint64(sketch.bound)
        owners = _keyed(block.units[eligible[near]], unit_secret) if grouped else None
        sketch = sketch.with_documents(codes[near], owners)
        if grouped:
            units.add(block.units[eligible], hashes[eligible])
    code = _code(key, _DOMAIN, sums, documents)
    return Fingerprint(code, sketch, _code(key, _DOMAIN + b" grouping", *units.sums(), code) if grouped else None)


class _Units:
    """Sums of the hashes of each unit's documents, wherever they lie. Memory grows with the number of units."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, 2 + _LANES), np.uint64)  # a unit's key, and its sums
        self._new: list[Hashes] = []
        self._n_new = 0

    def add(self, keys: Hashes, hashes: Hashes) -> None:
        """Documents: the keys of their units (n_documents, 2), and their hashes (n_documents, lanes)."""
        self._new.append(np.hstack([keys, _mixed(hashes)]))
        self._n_new += len(keys)
        if self._n_new > max(len(self._rows), _FEW_DOCUMENTS):
            self._merge()

    def sums(self) -> tuple[Hashes, int]:
        """The sum over units (lanes,) of a hash of each one's sum, and the number of units."""
        self._merge()
        return _mixed(self._rows[:, 2:]).sum(axis=0, dtype=np.uint64), len(self._rows)

    def _merge(self) -> None:
        rows = np.concatenate([self._rows, *self._new])
        rows = rows[np.lexsort(rows[:, :2].T)]
        starts = np.flatnonzero(np.append(len(rows) > 0, (rows[1:, :2] != rows[:-1, :2]).any(axis=1)))
        sums = np.add.reduceat(rows[:, 2:], starts, axis=0) if len(rows) else rows[:, 2:]
        self._rows, self._new, self._n_new = np.hstack([rows[starts, :2], sums]), [], 0


def _code(key: bytes, domain: bytes, sums: Hashes, n: int, of: str = "") -> str:
    message = domain + sums.astype("<u8").tobytes() + n.to_bytes(8, "little") + of.encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _keyed(hashes: Hashes, secret: bytes) -> Hashes:
    """A pseudorandom 64-bit number for each row of `hashes`, (n_documents, lanes), under `secret`.

    The rows themselves are sums of few unknowns, which a reader without the key could solve for.
    """
    rows, width = hashes.astype("<u8").tobytes(), 8 * hashes.shape[1]
    digests = (
        hashlib.blake2b(rows[first : first + width], digest_size=8, key=secret).digest()
        for first in range(0, len(rows), width)
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _word_hashes(words: Sequence[str], key: bytes, lane: int) -> Hashes:
    """Keyed hash of each word, (n_words,)."""
    secret = hmac.new(key, _DOMAIN + bytes([lane]), hashlib.sha256).digest()
    digests = (
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=secret).digest() for word in words
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _document_hashes(block: Block, hashes: Hashes) -> Hashes:
    """Hash of each document, (n_documents,), as the mixed sum of the mixed hashes of its entries."""
    return _mixed(_row_sums(block, _mixed(hashes[block.words] + _mixed(block.counts.astype(np.uint64)))))


def _lengths(block: Block) -> Hashes:
    """How many words each document has, (n_documents,), repetitions counted."""
    return _row_sums(block, block.counts.astype(np.uint64))


def _row_sums(block: Block, entries: Hashes) -> Hashes:
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return np.asarray(running[block.indptr[1:]] - running[block.indptr[:-1]])


def _mixed(values: Hashes) -> Hashes:
    """SplitMix64's finalizer (Steele, Lea and Flood, 2014), elementwise; arithmetic is modulo 2^64."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
