"""The corpus store: a folder of memory-mapped shards, or the same blocks in memory.

    meta.json          written last: what was imported, and how many shards there are
    part-00000.arrow   the first shard: documents, and the words that they add to the dictionary
    fingerprint.json   the fingerprint of the documents under a ledger's key, if one was known

The folder is private (mode 0700).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dplda.errors import InputError
from dplda.readers.records import DOCUMENT, Defect
from dplda.store.shards import SHARD_NAME, Block, Shard, freeze, read_block, shard_name, sound_documents

FORMAT = "dplda corpus store"
VERSION = 3
META, FINGERPRINT = "meta.json", "fingerprint.json"
META_BYTES = 1 << 20
ORIGIN, INSIDE = "origin.json", "store"  # of the folder in which a store is while it is written
_READING = {"language", "lemmas", "tokenizer"}  # what a run on the store records beside its settings
_EARLIER = {META, "dictionary.arrow", "documents.arrow"}  # the files of versions 1 and 2

__all__ = ["Block", "CountStore", "is_store"]


class CountStore:
    """Counts of documents over a dictionary of words. Everything but `unit` and `name` is private.

    `unit` is ``"document"`` or the column that named the privacy unit; `name` is that of the corpus it was
    made from, if any; `path` is its folder, None in memory; `n_bytes` is about how large its `n_blocks` blocks are;
    `defects` counts the documents that contribute nothing, by name of `Defect`; `reading` is how text became words
    (language, lemmas), empty for counts. `identity` tells stores apart that lie at one path on different machines or
    one after the other; empty in memory.

    Made by `open` from a folder that `StoreWriter` wrote, or by `from_blocks`.
    """

    def __init__(
        self,
        *,
        words: Callable[[], Any],
        blocks: Callable[[int, range], Iterator[Block]],
        n_blocks: int,
        n_bytes: int,
        unit: str,
        n_documents: int,
        defects: dict[str, int],
        path: Path | None = None,
        name: str | None = None,
        reading: dict[str, Any] | None = None,
        identity: str = "",
    ) -> None:
        self._words = words
        self._blocks = blocks
        self.n_blocks = n_blocks
        self.n_bytes = n_bytes
        self.path = path
        self.unit = unit
        self.n_documents = n_documents
        self.defects = defects
        self.name = name
        self.reading = reading or {}
        self.identity = identity
        self._columns: tuple[tuple[str, ...], NDArray[np.int64]] | None = None

    @classmethod
    def open(cls, path: str | Path) -> CountStore:
        """Map the store at `path`. Raises `InputError` if it is damaged or of another version."""
        folder = Path(path)
        meta = _read_meta(folder)
        with _intact(folder):
            shards = [Shard(folder / shard_name(number)) for number in range(meta["shards"])]
            if os.path.exists(folder / shard_name(len(shards))):
                raise pa.ArrowInvalid("a shard too many")
            identity = store_identity(folder, meta)
        places = [(shard, index) for shard in shards for index in range(len(shard))]

        def words() -> Any:
            with _intact(folder):
                return pa.chunked_array([shard.new_words() for shard in shards], pa.large_string()).combine_chunks()

        def blocks(n_words: int, chosen: range) -> Iterator[Block]:
            for shard, index in (places[place] for place in chosen):
                with _intact(folder):
                    batch = shard.batch(index)
                yield read_block(batch, n_words)

        return cls(
            words=words,
            blocks=blocks,
            n_blocks=len(places),
            n_bytes=sum(shard.n_bytes for shard in shards),
            path=folder,
            unit=meta["unit"],
            n_documents=meta["documents"],
            defects=meta["defects"],
            name=meta["name"],
            reading=meta.get("reading"),
            identity=identity,
        )

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Block],
        dictionary: Sequence[str],
        *,
        unit: str = DOCUMENT,
        defects: dict[str, int] | None = None,
    ) -> CountStore:
        """A store in memory. A document with a word or count out of range, or a word twice, becomes empty."""
        kept = tuple(_checked(block, len(dictionary)) for block in blocks)
        words = pa.array(dictionary, pa.string())
        return cls(
            words=lambda: words,
            blocks=lambda _, chosen: (kept[index] for index in chosen),
            n_blocks=len(kept),
            n_bytes=sum(block.words.nbytes + block.counts.nbytes for block in kept),
            unit=unit,
            n_documents=sum(block.n_documents for block in kept),
            defects=dict(defects or {}),
        )

    @cached_property
    def words(self) -> Any:
        """The dictionary as an Arrow string array, (n_words,)."""
        return self._words()

    @cached_property
    def dictionary(self) -> list[str]:
        """The words that `Block.words` index, (n_words,)."""
        return list(self.words.to_pylist())

    def columns(self, words: tuple[str, ...]) -> NDArray[np.int64]:
        """The index of each of `words` in the dictionary, or the dictionary's length; remembered until the next."""
        if self._columns is None or self._columns[0] is not words:
            position = {word: index for index, word in enumerate(self.dictionary)}
            self._columns = words, np.array([position.get(word, len(position)) for word in words], np.int64)
        return self._columns[1]

    def blocks(self, chosen: range | None = None) -> Iterator[Block]:
        """The blocks, or those of the indices `chosen`, in order; can be iterated again."""
        return self._blocks(len(self.words), range(self.n_blocks) if chosen is None else chosen)


def is_store(path: Path) -> bool:
    """Whether `path` is a folder that claims to be a corpus store. The names of its files decide, and nothing else.

    Documents are not opened to find out, and nobody's document turns the folder that it lies in into a store. Raises
    `InputError` for a store with other files in it, or some of its own missing.
    """
    names = _visible(path)
    shards = {name for name in names if SHARD_NAME.fullmatch(name)}
    if META not in names or not (shards or names & (_EARLIER - {META})):
        return False
    if names - {FINGERPRINT} != {META, *map(shard_name, range(len(shards)))} and names != _EARLIER:
        raise InputError(
            f"{path} holds files of a corpus store, but not them alone. Move other files elsewhere, or import the "
            "corpus again; --format folder reads each file as one document."
        )
    return True


def _visible(path: Path) -> set[str]:
    try:
        return {name for name in os.listdir(path) if not name.startswith(".")}
    except OSError:
        return set()


def partial_folder(destination: Path) -> Path:
    """Where the store `destination` is while it is written: a dot keeps it out of listings."""
    return destination.parent / f".{destination.name}.partial"


def is_partial(path: Path) -> bool:
    """Whether `path` is, or would be, a store of which only a part is there."""
    places = (path, path.parent) if os.path.exists(path) else (partial_folder(path),)
    partial = (place for place in places if place.name.startswith(".") and place.name.endswith(".partial"))
    return any(os.path.isfile(place / ORIGIN) for place in partial)


def _checked(block: Block, n_words: int) -> Block:
    sound = sound_documents(block, n_words)
    if not sound.all():
        block = block.without(~sound)
    freeze((block.indptr, block.words, block.counts, block.units))
    return block


def _read_meta(folder: Path) -> dict[str, Any]:
    try:
        with open(folder / META, "rb") as file:
            meta = json.loads(file.read(META_BYTES))
        fine = meta["format"] == FORMAT and isinstance(meta["unit"], str) and isinstance(meta["documents"], int)
        version, defects = meta["version"], meta["defects"].items()
        fine = fine and all(name in Defect.__members__ and isinstance(count, int) for name, count in defects)
        fine = fine and isinstance(meta["name"], str | None)
        reading = meta.get("reading", {})
        fine = fine and isinstance(reading, dict) and reading.keys() <= _READING
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        if is_partial(folder):
            raise InputError(
                f"{folder} is not whole: its import was stopped, or is not done. To resume it, give the same "
                "`dplda corpus import` command again."
            ) from None
        raise InputError(f"{folder} is not a corpus store. Write one with `dplda corpus import`.") from None
    if version != VERSION or not fine or not isinstance(meta.get("shards"), int):
        raise InputError(
            f"{folder} was written by another version of dplda. Import its corpus again, into another folder: "
            "dplda corpus import CORPUS STORE."
        )
    return dict(meta)


def store_identity(folder: Path, meta: dict[str, Any]) -> str:
    """A digest of what was written last, with a random number in it, and of the names and sizes of all shards."""
    sizes = {name: (folder / name).stat().st_size for name in map(shard_name, range(meta["shards"]))}
    return hashlib.sha256(json.dumps([meta, sizes], sort_keys=True).encode()).hexdigest()


@contextmanager
def _intact(folder: Path) -> Iterator[None]:
    """One line for a damaged shard."""
    try:
        yield
    except (OSError, pa.ArrowException):
        raise InputError(f"{folder} is a damaged corpus store. Import the corpus again.") from None
