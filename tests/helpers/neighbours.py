"""The finished program run on one corpus while a neighbour of that corpus is asked the same questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dplda
from dplda.budget.events import GAUSSIAN_THRESHOLD, Event
from dplda.private import Release, WordFrequencies
from dplda.private.attributes import TableRows
from dplda.private.curator import Curator
from dplda.private.noise import lattice_scale
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics import NONNEGATIVE, Contribution
from dplda.private.statistics.clipping import BOUND, MASS_SHARE
from dplda.private.store.count_store import CountStore
from dplda.runs.corpus import Corpus

Moves = Mapping[str, float]  # by stage: the change of an exact answer, squared, over its squared sensitivity


WORDS = Event(stage="vocabulary", mechanism=GAUSSIAN_THRESHOLD, noise_multiplier=1.0, delta=1e-6)
VOTE_TOTAL = Event(stage="vote total", noise_multiplier=1.0)


def _gaussian(stage: str) -> Event:
    return Event(stage=stage, noise_multiplier=1.0)


class Silence:
    """No noise at all, so that only the documents decide; every unit enters every histogram."""

    private = False
    source = "none"

    def __init__(self, seed: int = 0) -> None:
        """Any seed will do."""

    def gaussian(self, scale: float, size: int) -> np.ndarray:
        return np.zeros(size, np.int64)

    def above_threshold(self, values: Mapping[int, int], scale: float, threshold: int) -> dict[int, int]:
        return dict(values)

    def coins(self, share: float, size: int) -> np.ndarray:
        return np.ones(size, np.bool_)

    def hear(self, bins: np.ndarray) -> float:
        """Keep what a clip is read off."""
        self.heard = bins
        return 1.0


class Watched(Curator):
    """Answers from its own corpus, and notes how far the neighbour's exact answer to each question is from it."""

    mine: CountStore
    neighbour: CountStore
    moved: dict[str, list[float]]

    def __init__(self, passes: LocalPasses, events: Sequence[Any], charge: Any, noise: Any, **options: Any) -> None:
        super().__init__(passes, events, charge, noise, **options)
        self._sides = (self.mine, self.neighbour)
        self._options = {"adjacency": options["adjacency"]}
        self._words: Sequence[str] | None = None

    def use_words(self, words: Sequence[str], rows: TableRows | None = None) -> None:
        super().use_words(words, rows)
        self._words = words

    def choose_words(self, listed: Sequence[str] = ()) -> WordFrequencies:
        self._note_votes("vocabulary", [c.choose_words(listed) for c in self._silent(WORDS, VOTE_TOTAL)])
        return super().choose_words(listed)

    def word_frequencies(self) -> WordFrequencies:
        self._note_votes("frequency", [c.word_frequencies() for c in self._silent(_gaussian("frequency"), VOTE_TOTAL)])
        return super().word_frequencies()

    def size(self) -> float:
        self._note("size", [[c.size() * BOUND] for c in self._silent(_gaussian("size"))])
        return super().size()

    def clip(self, stage: str, contribution: Contribution, quantile: float, share: float = 1.0) -> float:
        heard = [Silence(), Silence()]
        for curator, noise in zip(self._silent(_gaussian(f"{stage} clip"), noises=heard), heard, strict=True):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dplda.private.curator.clip_at_quantile", lambda bins, _, noise=noise: noise.hear(bins))
                curator.clip(stage, contribution, quantile)
        self._note(f"{stage} clip", [noise.heard for noise in heard], NONNEGATIVE)
        return super().clip(stage, contribution, quantile, share)

    def release(self, stage: str, contribution: Contribution, clip: float) -> Release:
        weights = np.append(np.tile(contribution.weights, contribution.n_rows), 1)
        sums = [c.release(stage, contribution, clip) for c in self._silent(_gaussian(stage))]
        exact = [np.append(r.total.ravel() / (clip / BOUND), r.mass * MASS_SHARE * BOUND) for r in sums]
        self._note(stage, exact, contribution.statistic.replace_factor, weights)
        return super().release(stage, contribution, clip)

    def _silent(self, *events: Event, noises: Sequence[Silence] = (Silence(), Silence())) -> list[Curator]:
        """A curator of each side that answers `events` without noise."""
        pair = [
            Curator(LocalPasses(store), events, lambda _: None, noise, **self._options)
            for store, noise in zip(self._sides, noises, strict=True)
        ]
        for curator in pair if self._words is not None else []:
            curator.use_words(self._words)
        return pair

    def _note_votes(self, stage: str, sides: Sequence[WordFrequencies]) -> None:
        factor = NONNEGATIVE if self._options["adjacency"] == "replace" else 1.0
        vote_totals = [lattice_scale(1.0, BOUND * factor) / side.std for side in sides]
        votes = [
            dict(zip(side.words, side.frequencies * vote_total, strict=True))
            for side, vote_total in zip(sides, vote_totals, strict=True)
        ]
        words = sorted(set().union(*votes))
        self._note(stage, [[side.get(word, 0) for word in words] for side in votes], NONNEGATIVE)
        self._note("vote total", [[vote_total] for vote_total in vote_totals])

    def _note(self, stage: str, sides: Sequence[Any], replace_factor: float = 1.0, weights: Any = 1) -> None:
        """Exact answers are whole numbers of lattice steps: nothing but the last bits of a float is rounded here."""
        mine, theirs = (np.rint(np.asarray(side, float)).astype(np.int64).astype(object) for side in sides)
        change = mine - theirs
        square = sum(int(w) * z**2 for w, z in zip(np.broadcast_to(weights, len(change)), change, strict=True))
        factor = replace_factor if self._options["adjacency"] == "replace" else 1.0
        self.moved[stage].append(square / (BOUND * factor) ** 2)


def moves(monkeypatch: pytest.MonkeyPatch, mine: Corpus, neighbour: Corpus, **options: Any) -> Moves:
    """Fit `mine` and return the largest move of each stage towards `neighbour`; 1 is what the noise is made for."""
    watched = type(
        "Watching", (Watched,), {"mine": mine.open(), "neighbour": neighbour.open(), "moved": defaultdict(list)}
    )
    with monkeypatch.context() as patch:
        patch.setattr("dplda.runs.run.Curator", watched)
        patch.setattr("dplda.runs.words.require_documents", lambda *_, **__: None)  # ask few documents everything
        dplda.fit(mine, ledger=False, **{"n_topics": 2, "simulate_seed": 1, "max_document_frequency": 1.0} | options)
    return {stage: max(found) for stage, found in watched.moved.items()}


def read(folder: Path, name: str, content: bytes, **options: Any) -> Corpus:
    """The corpus of a file `name` of `content` in a new `folder`."""
    folder.mkdir()
    (folder / name).write_bytes(content)
    return dplda.read_corpus(folder / name, cache=folder / "cache", **options)
