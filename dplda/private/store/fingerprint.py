"""Keyed fingerprints and sketches of corpora: a ledger recognises a corpus without storing its documents."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplda.base.arrays import mix_bits
from dplda.budget.sketches import NO_DOCUMENTS, Fingerprint, Sketch
from dplda.private.store.count_store import FINGERPRINT, META_BYTES, Block, CountStore, row_sums
from dplda.text.records import DOCUMENT

_LANES = 2  # two independent 64-bit sums: 128 bits against accidental collisions
_DOMAIN = b"dplda corpus fingerprint 1"
_TEXTS = _DOMAIN + b" texts"
_SEALED = _DOMAIN + b" seal of eligible documents and texts"
_BUFFERED_DOCUMENTS = 1 << 20  # at least this many documents are buffered before they are merged into their units
_SMALL_COUNTS = 1 << 10  # counts below this are hashed by table
_CHUNK = 1 << 15  # entries hashed together, so that intermediate arrays stay in a core's cache
_Hashes = NDArray[np.uint64]


class Fingerprinter:
    """Computes the fingerprint of a corpus from its blocks, under a ledger's `key`.

    Only eligible documents enter it (`Block.eligible`): anyone can add any number of others, which contribute nothing
    to any statistic. A document is its multiset of words, and a unit is its multiset of documents. The codes are
    hexadecimal HMAC-SHA256 values of the multisets of documents and of units. The sketch samples the distinct
    documents. Nothing depends on the order of documents, on blocks, on the indices of words in the dictionary, or on
    the names of units. Everything is private: whoever holds `key` can test a guess of the corpus, or of a document in
    the sketch.

    The fingerprint of the texts is another one of the same kind, in which a document is its `text_code`: the words of
    one text depend on how it was read.
    """

    def __init__(self, key: bytes, unit: str) -> None:
        self._key = key
        self._words = [np.zeros(0, np.uint64)] * _LANES
        self._of_words, self._of_texts = (_Documents(key, unit, domain) for domain in (_DOMAIN, _TEXTS))

    def add_words(self, words: Sequence[str]) -> None:
        """Append `words` (n,) to the dictionary."""
        self._words = [
            np.concatenate([known, _word_hashes(words, self._key, lane)]) for lane, known in enumerate(self._words)
        ]

    def add(self, block: Block) -> None:
        """Add the eligible documents of `block`, which is over the current dictionary."""
        block = block.eligible()
        counts = _count_hashes(block.counts)
        hashes = [_document_hashes(block, words, counts) for words in self._words]
        self._of_words.add(np.stack(hashes, axis=1), block.units)
        if block.texts is not None:
            known = block.texts.any(axis=1)
            self._of_texts.add(_text_hashes(block.texts[known], self._key), block.units[known])

    def result(self) -> Fingerprint:
        """Return the fingerprint of all documents added."""
        texts = self._of_texts.result()
        return replace(self._of_words.result(), texts=None if texts.code == NO_DOCUMENTS else texts)

    def to_json(self, identity: str) -> bytes:
        """Return the result as ``fingerprint.json``, with an HMAC that binds it to the store `identity`."""
        entry = _entry(self.result())
        return json.dumps(entry | {"seal": _seal(entry, self._key, identity)}).encode()


class _Documents:
    """Collects documents by their hashes, and computes their fingerprint; `domain` tells words from texts."""

    def __init__(self, key: bytes, unit: str, domain: bytes) -> None:
        self._key, self._domain = key, domain
        self._secret, self._unit_secret = (
            hmac.digest(key, domain + part, hashlib.sha256) for part in (b" documents", b" units")
        )
        self._sums = np.zeros(_LANES, dtype=np.uint64)
        self._documents, self._sketch = 0, Sketch()
        self._units = None if unit == DOCUMENT else _Units()

    def add(self, hashes: _Hashes, units: _Hashes) -> None:
        """Add documents by their `hashes` (n_documents, lanes) and the keys of their `units` (n_documents, 2)."""
        self._documents += len(hashes)
        self._sums += hashes.sum(axis=0, dtype=np.uint64)
        codes = _key_hashes(hashes, self._secret)
        small = codes <= np.uint64(self._sketch.bound)
        owners = None
        if self._units is not None:
            owners = _key_hashes(units[small], self._unit_secret)
            self._units.add(units, hashes)
        self._sketch = self._sketch.with_documents(codes[small], owners)

    def result(self) -> Fingerprint:
        """Return the fingerprint of all documents added."""
        if not self._documents:
            return Fingerprint(NO_DOCUMENTS)
        code = _code(self._key, self._domain, self._sums, self._documents)
        if self._units is None:
            return Fingerprint(code, self._sketch)
        return Fingerprint(code, self._sketch, _code(self._key, self._domain + b" grouping", *self._units.sums(), code))


def fingerprint(store: CountStore, key: bytes, *, ids_of: str | None = None) -> Fingerprint:
    """Return the fingerprint of `store` under `key`, as stored in its folder, else from a pass over the store.

    With `ids_of`, the name of a dataset, it contains the `keyed_ids` of the documents.
    """
    stored = _read_stored(store, key)
    if stored is None:
        fingerprinter = Fingerprinter(key, store.unit)
        fingerprinter.add_words(store.dictionary)
        for block in store.blocks():
            fingerprinter.add(block)
        stored = fingerprinter.result()
    return stored if ids_of is None else replace(stored, ids=keyed_ids(store, key, ids_of))


def document_codes(
    words: Sequence[str],
    indptr: NDArray[np.int64] | NDArray[np.int32],
    indices: NDArray[np.int64] | NDArray[np.int32],
    counts: NDArray[np.int32],
    key: bytes,
) -> _Hashes:
    """Return the code of each document, (n_documents,), by which sketches under `key` know it. Private.

    The documents are a CSR matrix of `counts`, without repeated entries, over `words`. Documents that are too short to
    be in a sketch have a code, too.
    """
    nobody = np.zeros((len(indptr) - 1, 2), np.uint64)
    block = Block(indptr, indices.astype(np.int32), counts, nobody, None)
    hashes = [_document_hashes(block, _word_hashes(words, key, lane), _count_hashes(counts)) for lane in range(_LANES)]
    return _key_hashes(np.stack(hashes, axis=1), hmac.digest(key, _DOMAIN + b" documents", hashlib.sha256))


def keyed_ids(store: CountStore, key: bytes, dataset: str) -> _Hashes:
    """Hash the id of each document of `store` with `key`, (n_documents,); 0 for one that is ineligible or has no id.

    `store` has a column of ids; their keys take the place of the units' keys. Hashes of one id differ between datasets,
    so that a ledger without its key does not show whether two of them have ids in common.
    """
    secret = hmac.digest(key, _DOMAIN + b" ids of " + dataset.encode("utf-8", "surrogatepass"), hashlib.sha256)
    found = [np.zeros(0, np.uint64)]
    for block in store.blocks():
        counted = block.is_eligible() & block.units.any(axis=1)
        found.append(np.where(counted, _key_hashes(block.units, secret) | np.uint64(1), np.uint64(0)))
    return np.concatenate(found)


def _read_stored(store: CountStore, key: bytes) -> Fingerprint | None:
    """Return the fingerprint in the store's folder, if its HMAC under `key` is that of this store."""
    if store.path is None:
        return None
    try:
        with open(store.path / FINGERPRINT, "rb") as file:
            entry = json.loads(file.read(META_BYTES))
        if not hmac.compare_digest(entry.pop("seal"), _seal(entry, key, store.identity)):
            return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return _fingerprint_of(entry)


def _entry(result: Fingerprint) -> dict[str, Any]:
    """Return a fingerprint as plain JSON."""
    return {
        "code": result.code,
        "documents": result.sketch.to_text(),
        "members": result.sketch.members_to_text(),
        "grouping": result.grouping,
        "texts": None if result.texts is None else _entry(result.texts),
    }


def _fingerprint_of(entry: dict[str, Any]) -> Fingerprint:
    """Return the fingerprint that `_entry` made plain JSON of."""
    sketch = Sketch.from_text(entry["documents"], entry["members"])
    texts = None if entry["texts"] is None else _fingerprint_of(entry["texts"])
    return Fingerprint(entry["code"], sketch, entry["grouping"], texts)


def _seal(entry: dict[str, Any], key: bytes, identity: str) -> str:
    message = _SEALED + json.dumps([identity, entry], sort_keys=True).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


class _Units:
    """The sums of the documents' hashes of each unit, one for each lane; memory grows with the number of units."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, 2 + _LANES), np.uint64)  # for each unit its key and its sums
        self._new: list[_Hashes] = []
        self._n_new = 0

    def add(self, keys: _Hashes, hashes: _Hashes) -> None:
        """Add documents by the `keys` of their units (n_documents, 2) and their `hashes` (n_documents, lanes)."""
        self._new.append(np.hstack([keys, _mix(hashes)]))
        self._n_new += len(keys)
        if self._n_new > max(len(self._rows), _BUFFERED_DOCUMENTS):
            self._merge()

    def sums(self) -> tuple[_Hashes, int]:
        """Return the hashes of the units' sums, added up over all units, (lanes,), and the number of units."""
        self._merge()
        return _mix(self._rows[:, 2:]).sum(axis=0, dtype=np.uint64), len(self._rows)

    def _merge(self) -> None:
        rows = np.concatenate([self._rows, *self._new])
        rows = rows[np.lexsort(rows[:, :2].T)]
        starts = np.flatnonzero(np.append(len(rows) > 0, (rows[1:, :2] != rows[:-1, :2]).any(axis=1)))
        sums = np.add.reduceat(rows[:, 2:], starts, axis=0) if len(rows) else rows[:, 2:]
        self._rows, self._new, self._n_new = np.hstack([rows[starts, :2], sums]), [], 0


def _code(key: bytes, domain: bytes, sums: _Hashes, n: int, of: str = "") -> str:
    message = domain + sums.astype("<u8").tobytes() + n.to_bytes(8, "little") + of.encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _key_hashes(hashes: _Hashes, secret: bytes) -> _Hashes:
    """Return a pseudorandom 64-bit number for each row of `hashes`, (n_documents, lanes), under `secret`.

    The rows themselves must not be stored: they are sums of few secret numbers, the hashes of words. Somebody who has
    the ledger, but not the key, could solve for these.
    """
    rows, width = hashes.astype("<u8").tobytes(), 8 * hashes.shape[1]
    digests = (
        hashlib.blake2b(rows[first : first + width], digest_size=8, key=secret).digest()
        for first in range(0, len(rows), width)
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _word_hashes(words: Sequence[str], key: bytes, lane: int) -> _Hashes:
    """Return a keyed 64-bit hash of each word, (n_words,), in one of `_LANES` independent lanes."""
    secret = hmac.new(key, _DOMAIN + bytes([lane]), hashlib.sha256).digest()
    digests = (
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=secret).digest() for word in words
    )
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _document_hashes(block: Block, hashes: _Hashes, counts: _Hashes) -> _Hashes:
    """Return a hash of each document, (n_documents,), from the hashes of words (n_words,) and of counts (nnz,).

    The hashes of a document's entries are mixed and summed, and the sum is mixed again.
    """
    entries = np.empty(len(block.words), np.uint64)
    for first in range(0, len(entries), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        entries[chunk] = _mix(hashes[block.words[chunk]] + counts[chunk])
    return _mix(row_sums(block, entries))


def _text_hashes(codes: _Hashes, key: bytes) -> _Hashes:
    """Return keyed hashes of texts, (n_documents, lanes), from their codes (n_documents, 2)."""
    secrets = (hmac.digest(key, _TEXTS + bytes([lane]), hashlib.sha256) for lane in range(_LANES))
    offsets = np.frombuffer(b"".join(secrets), "<u8").astype(np.uint64).reshape(_LANES, -1)
    lanes = [_mix(_mix(codes[:, 0] + offset[0]) + codes[:, 1] + offset[1]) for offset in offsets]
    return np.stack(lanes, axis=1)


def _count_hashes(counts: NDArray[np.int32]) -> _Hashes:
    """Return a hash of each count, (nnz,); most counts are small and are looked up."""
    table = _mix(np.arange(_SMALL_COUNTS, dtype=np.uint64))
    return table[counts] if counts.max(initial=0) < _SMALL_COUNTS else _mix(counts.astype(np.uint64))


def _mix(values: _Hashes) -> _Hashes:
    """Return one step of the generator SplitMix64 from each of `values`."""
    return mix_bits(values + np.uint64(0x9E3779B97F4A7C15))
