"""Small corpora, noise that can be seen through, and curators over them, for the tests of the gate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dplda.budget.events import Event
from dplda.private.curator import Curator
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.store.count_store import Block, CountStore
from dplda.private.store.units import UnitCounts, project

Document = tuple[str, Mapping[str, int]]  # the privacy unit's name, and counts by word
WORDS = tuple(f"w{i}" for i in range(8))


def unit_key(name: str) -> np.ndarray:
    return np.frombuffer(hashlib.blake2b(name.encode(), digest_size=16).digest(), np.uint64)


def store_of(
    documents: Sequence[Document],
    dictionary: Sequence[str] | None = None,
    *,
    unit: str = "user",
    per_block: int = 2,
) -> CountStore:
    """A store in memory; `dictionary` defaults to the order of first occurrence, as in a real import."""
    words = list(dictionary or dict.fromkeys(word for _, counts in documents for word in counts))
    index = {word: i for i, word in enumerate(words)}
    blocks = []
    for first in range(0, len(documents), per_block):
        part = documents[first : first + per_block]
        flat = [(index[word], count) for _, counts in part for word, count in counts.items()]
        blocks.append(
            Block(
                indptr=np.cumsum([0, *(len(counts) for _, counts in part)]).astype(np.int32),
                words=np.array([word for word, _ in flat], np.int32),
                counts=np.array([count for _, count in flat], np.int32),
                units=np.array([unit_key(name) for name, _ in part]).reshape(-1, 2),
                ids=pa.array([str(first + i) for i in range(len(part))], pa.string()),
            )
        )
    return CountStore.from_blocks(blocks, words, unit=unit)


def counts_of(documents: Sequence[Document], words: Sequence[str] = WORDS) -> UnitCounts:
    return project(store_of(documents), words)


class NoNoise:
    """Adds zeros, so that exact sums can be compared, and remembers what it was asked for."""

    private = False

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []
        self.thresholds: list[tuple[dict[int, int], float, int]] = []
        self.tossed: list[tuple[float, int]] = []

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        self.asked.append((scale, size))
        return np.zeros(size, np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        self.thresholds.append((dict(values), scale, threshold))
        return dict(values)

    def coins(self, share: float, size: int) -> np.ndarray:
        self.tossed.append((share, size))
        return np.arange(size) < round(share * size)


def passes_over(documents: Sequence[Document], words: Sequence[str] = WORDS) -> LocalPasses:
    """Passes over `documents`, with `words` in use."""
    passes = LocalPasses(store_of(documents))
    passes.use_words(tuple(words))
    return passes


def gaussian(stage: str, multiplier: float = 1.0) -> Event:
    return Event(stage=stage, noise_multiplier=multiplier)


def curator(
    documents: Sequence[Document],
    events: Sequence[Event],
    noise: Any = None,
    *,
    words: Sequence[str] | None = WORDS,
    gate: type[Curator] = Curator,
    **options: Any,
) -> Curator:
    """A curator over `documents` that allows `events`, with `words` in use."""
    made = gate(
        LocalPasses(store_of(documents)), events, options.pop("charge", lambda _: None), noise or NoNoise(), **options
    )
    if words is not None:
        made.use_words(words)
    return made


def seal(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a pass over private counts fails the test."""

    def touched(*_: Any, **__: Any) -> None:
        raise AssertionError("private counts were touched")

    for name in ("_map_ranges", "_sum_ranges", "range_counts", "exact_moments", "dictionary"):
        monkeypatch.setattr(LocalPasses, name, property(touched) if name == "dictionary" else touched)
