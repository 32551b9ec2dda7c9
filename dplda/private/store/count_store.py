"""The corpus store: counts of documents in a folder of memory-mapped shards, or in memory.

    meta.json          facts about the import and the number of shards; written last
    part-00000.arrow   the first shard: documents, and the words that they add to the dictionary
    fingerprint.json   the fingerprint of the documents under a ledger's key, if the import had one

The folder is private (mode 0700).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dplda.base.errors import InputError
from dplda.private.store.shards import SHARD_NAME, Block, Shard, freeze, read_block, shard_name, sound_documents
from dplda.text.reading_options import READING_FACTS
from dplda.text.records import DOCUMENT, Defect

FORMAT = "dplda corpus store"
VERSION = 1
META, FINGERPRINT = "meta.json", "fingerprint.json"
META_BYTES = 1 << 20
ORIGIN, INSIDE = "origin.json", "store"  # a file and a folder of a partial store, see `partial_folder`

__all__ = ["Block", "CountStore", "is_store"]


@dataclass(frozen=True)
class StoreFacts:
    """Facts about the documents of a store; `n_documents` and `defects` are private.

    `unit` is ``"document"`` or the column that names the privacy unit; `defects` counts the documents that contribute
    nothing, by the name of their `Defect`; `name` is the name of the corpus, if any; `reading` says how text became
    words (language, lemmas), and is empty for counts. `group_columns` are the columns whose values the store keeps for
    tables (`Block.groups`). If each document is a unit, `id_field` is the column of ids whose keys are in
    `Block.units`. The names of columns are public, too.
    """

    unit: str
    n_documents: int
    defects: dict[str, int]
    name: str | None = None
    reading: dict[str, Any] = field(default_factory=dict)
    group_columns: tuple[str, ...] = ()
    id_field: str | None = None


class CountStore:
    """Counts of documents over a dictionary of words. Private, except for the facts that `StoreFacts` calls public.

    The fields of `StoreFacts` are attributes. `path` is the folder of the store, None in memory; `n_bytes` is the
    approximate size of its `n_blocks` blocks. `identity` distinguishes stores that have the same path on different
    machines or at different times; it is empty in memory.

    Made by `open` from a folder that `StoreWriter` wrote, or by `from_blocks`.
    """

    def __init__(
        self,
        facts: StoreFacts,
        *,
        words: Callable[[], Any],
        blocks: Callable[[int, range], Iterator[Block]],
        n_blocks: int,
        n_bytes: int,
        path: Path | None = None,
        identity: str = "",
    ) -> None:
        self.unit, self.name, self.reading = facts.unit, facts.name, facts.reading
        self.n_documents, self.defects = facts.n_documents, facts.defects
        self.group_columns, self.id_field = facts.group_columns, facts.id_field
        self._words, self._blocks = words, blocks
        self.n_blocks, self.n_bytes = n_blocks, n_bytes
        self.path, self.identity = path, identity
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
            StoreFacts(
                meta["unit"],
                meta["documents"],
                meta["defects"],
                meta["name"],
                meta.get("reading", {}),
                tuple(meta.get("groups", ())),
                meta.get("id_field"),
            ),
            words=words,
            blocks=blocks,
            n_blocks=len(places),
            n_bytes=sum(shard.n_bytes for shard in shards),
            path=folder,
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
        group_columns: Sequence[str] = (),
    ) -> CountStore:
        """A store in memory. A document with a word or count out of range, or a repeated word, becomes empty."""
        kept = tuple(_checked(block, len(dictionary)) for block in blocks)
        words = pa.array(dictionary, pa.string())
        return cls(
            StoreFacts(
                unit, sum(block.n_documents for block in kept), dict(defects or {}), group_columns=tuple(group_columns)
            ),
            words=lambda: words,
            blocks=lambda _, chosen: (kept[index] for index in chosen),
            n_blocks=len(kept),
            n_bytes=sum(block.words.nbytes + block.counts.nbytes for block in kept),
        )

    @cached_property
    def words(self) -> Any:
        """The dictionary as an Arrow string array, (n_words,)."""
        return self._words()

    @cached_property
    def dictionary(self) -> list[str]:
        """The words to which the indices in `Block.words` refer, (n_words,)."""
        return list(self.words.to_pylist())

    def columns(self, words: tuple[str, ...]) -> NDArray[np.int64]:
        """The index of each of `words` in the dictionary; the dictionary's length for a word that it lacks.

        The last result is cached.
        """
        if self._columns is None or self._columns[0] is not words:
            position = {word: index for index, word in enumerate(self.dictionary)}
            self._columns = words, np.array([position.get(word, len(position)) for word in words], np.int64)
        return self._columns[1]

    def blocks(self, chosen: range | None = None) -> Iterator[Block]:
        """All blocks, or those with the indices `chosen`, in order."""
        return self._blocks(len(self.words), range(self.n_blocks) if chosen is None else chosen)


def is_store(path: Path) -> bool:
    """Whether `path` is a folder with the file names of a corpus store.

    The names alone decide, so no document is opened, and the content of a document cannot turn its folder into a store.
    Raises `InputError` for a store that contains other files or lacks some of its own.
    """
    names = _visible(path)
    shards = {name for name in names if SHARD_NAME.fullmatch(name)}
    if META not in names or not shards:
        return False
    if names - {FINGERPRINT} != {META, *map(shard_name, range(len(shards)))}:
        raise InputError(
            f"{path} looks like a corpus store, but holds other files too or lacks some of its own. Move the others "
            "elsewhere, or import the corpus again; --format folder reads each file as one document."
        )
    return True


def _visible(path: Path) -> set[str]:
    try:
        return {name for name in os.listdir(path) if not name.startswith(".")}
    except OSError:
        return set()


def partial_folder(destination: Path) -> Path:
    """The folder in which the store `destination` is written; the leading dot hides it from listings."""
    return destination.parent / f".{destination.name}.partial"


def is_partial(path: Path) -> bool:
    """Whether `path` is a partial store, or the destination of one."""
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
        fine = fine and isinstance(reading, dict) and reading.keys() <= set(READING_FACTS)
        groups = meta.get("groups", [])
        fine = fine and isinstance(groups, list) and all(isinstance(name, str) for name in groups)
        fine = fine and isinstance(meta.get("id_field"), str | None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        if is_partial(folder):
            raise InputError(
                f"{folder} is incomplete: its import was stopped, or is still running. To resume it, give the same "
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
    """A digest of `meta`, which contains a random id, and of the names and sizes of all shards."""
    sizes = {name: (folder / name).stat().st_size for name in map(shard_name, range(meta["shards"]))}
    return hashlib.sha256(json.dumps([meta, sizes], sort_keys=True).encode()).hexdigest()


@contextmanager
def _intact(folder: Path) -> Iterator[None]:
    """Turn the errors of a damaged shard into a one-line `InputError`."""
    try:
        yield
    except (OSError, pa.ArrowException):
        raise InputError(f"{folder} is a damaged corpus store. Import the corpus again.") from None
