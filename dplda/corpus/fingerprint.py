"""A keyed fingerprint of a corpus, by which a ledger knows it again without learning anything about it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplda.corpus.blocks import Block
from dplda.corpus.store import CountStore

_LANES = 2  # two independent 64-bit sums: 128 bits against accidental collisions
_DOMAIN = b"dplda corpus fingerprint 1"


def fingerprint(store: CountStore, key: bytes) -> str:
    """Hexadecimal HMAC-SHA256 of the multiset of documents in `store`, each a multiset of words.

    Does not depend on the order of documents, on blocks, or on the numbers of words in the dictionary. It is
    private all the same: whoever holds `key` can test a guess of the whole corpus.
    """
    lanes = [_word_hashes(store.dictionary, key, lane) for lane in range(_LANES)]
    sums = np.zeros(_LANES, dtype=np.uint64)
    documents = 0
    for block in store.blocks():
        documents += block.n_documents
        for lane, hashes in enumerate(lanes):
            sums[lane : lane + 1] += _document_hashes(block, hashes).sum(dtype=np.uint64)  # array: wraps silently
    message = _DOMAIN + sums.astype("<u8").tobytes() + documents.to_bytes(8, "little")
    return hmac.new(key, message, hashlib.sha256).hexdigest()


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
