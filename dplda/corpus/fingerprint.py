"""A keyed fingerprint of a corpus, by which a ledger knows it again without learning anything about it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplda.corpus.blocks import Block
from dplda.corpus.store import CountStore
from dplda.overlap import Fingerprint, Sketch

_LANES = 2  # two independent 64-bit sums: 128 bits against accidental collisions
_DOMAIN = b"dplda corpus fingerprint 1"


def fingerprint(store: CountStore, key: bytes) -> Fingerprint:
    """A code of the multiset of documents in `store`, each a multiset of words, and a sketch of its distinct documents.

    The code is a hexadecimal HMAC-SHA256. Neither depends on the order of documents, on blocks, or on the numbers of
    words in the dictionary; documents without words are not in the sketch. Both are private all the same: whoever
    holds `key` can test a guess of the whole corpus, or of a document in the sketch.
    """
    lanes = [_word_hashes(store.dictionary, key, lane) for lane in range(_LANES)]
    secret = hmac.digest(key, _DOMAIN + b" documents", hashlib.sha256)
    sums = np.zeros(_LANES, dtype=np.uint64)
    documents, sketch = 0, Sketch()
    for block in store.blocks():
        documents += block.n_documents
        hashes = np.stack([_document_hashes(block, words) for words in lanes], axis=1)
        sums += hashes.sum(axis=0, dtype=np.uint64)
        sketch = sketch.with_documents(_keyed(hashes[np.diff(block.indptr) > 0], secret))
    message = _DOMAIN + sums.astype("<u8").tobytes() + documents.to_bytes(8, "little")
    return Fingerprint(hmac.new(key, message, hashlib.sha256).hexdigest(), sketch)


def _keyed(hashes: NDArray[np.uint64], secret: bytes) -> NDArray[np.uint64]:
    """A pseudorandom 64-bit number for each row of `hashes`, (n_documents, lanes), under `secret`.

    The rows themselves are sums of few unknowns, which a reader without the key could solve for.
    """
    rows, width = hashes.astype("<u8").tobytes(), 8 * hashes.shape[1]
    digests = (
        hashlib.blake2b(rows[first : first + width], digest_size=8, key=secret).digest()
        for first in range(0, len(rows), width)
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _word_hashes(words: Sequence[str], key: bytes, lane: int) -> NDArray[np.uint64]:
    """Keyed hash of each word, (n_words,)."""
    secret = hmac.new(key, _DOMAIN + bytes([lane]), hashlib.sha256).digest()
    digests = (
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=secret).digest() for word in words
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _document_hashes(block: Block, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash of each document, (n_documents,), as the mixed sum of the mixed hashes of its entries."""
    entries = _mixed(hashes[block.words] + _mixed(block.counts.astype(np.uint64)))
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return _mixed(running[block.indptr[1:]] - running[block.indptr[:-1]])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finalizer (Steele, Lea and Flood, 2014), elementwise; arithmetic is modulo 2^64."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
