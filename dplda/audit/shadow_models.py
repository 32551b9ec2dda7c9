"""Shadow models for the membership attack: topics that each attacked system learns from random halves of documents.

For each model, an independent coin decides about each document, so that two models whose documents differ in one
document are neighbours in the sense of add-remove. The noise is simulated and has the distribution of the exact noise;
no ledger is opened.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dplda.audit.membership import log_likelihoods
from dplda.base.errors import InputError, NoisyTopicsWarning, UnsupportedByData
from dplda.base.progress import Progress
from dplda.base.software import version
from dplda.budget.events import PrivacyStatement
from dplda.learning.placements.registry import NO_NOISE
from dplda.model.prior_topics import PriorTopics
from dplda.model.topic_model import write_atomically
from dplda.runs.corpus import Corpus, counts_for
from dplda.runs.fit_options import FitOptions
from dplda.runs.fitting import fit, plan_fit

_STAGE = "train shadow models"
_ORDINARY = "ordinary LDA"
_SWEEPS = 200  # of Gibbs sampling, by ordinary LDA
_REPEATED = 12  # times that a canary repeats its word
_SETTINGS = "settings.json"
_Learn = Callable[[sparse.csr_matrix, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Targets:
    """Public documents to attack, and canaries."""

    counts: sparse.csr_matrix
    """(n_targets, n_words)."""
    words: tuple[str, ...]
    canaries: int = 0
    """How many targets, the last ones, are canaries."""

    def members(self, seed: int, number: int) -> np.ndarray:
        """Choose the targets that shadow model `number` learns from, (n_targets,)."""
        coins: np.ndarray = np.random.default_rng([seed, number]).random(self.counts.shape[0]) < 0.5
        return coins

    def memberships(self, seed: int, models: int) -> np.ndarray:
        """Return the `members` of the first `models` shadow models, (models, n_targets)."""
        return np.array([self.members(seed, number) for number in range(models)])

    @property
    def digest(self) -> str:
        """A hash of the counts and the words."""
        parts = (self.counts.indptr, self.counts.indices, self.counts.data)
        digest = hashlib.sha256("\n".join(self.words).encode())
        for part in parts:
            digest.update(part.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]


def find_targets(
    corpus: Corpus, words: Sequence[str] | None, max_vocabulary: int, canaries: int, progress: Progress
) -> Targets:
    """Take the documents of `corpus`, which its owner declared public, and canaries that repeat a word of their own.

    `words` is a public list. If it is None, the words are those of the corpus, at most the `max_vocabulary` with the
    largest document frequencies. Documents that contain none of the words are left out. Raises `InputError` if fewer
    than two documents are left.
    """
    store = corpus.open(progress)
    chosen = list(words if words is not None else corpus.public_vocabulary or store.dictionary)
    counts = counts_for(chosen, store)[0]
    if words is None and corpus.public_vocabulary is None:
        frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
        columns = sorted(np.flatnonzero(frequency), key=lambda column: (-frequency[column], chosen[column]))
        columns = columns[:max_vocabulary]
        counts, chosen = counts[:, columns], [chosen[column] for column in columns]
    counts = counts[np.asarray(counts.sum(axis=1)).ravel() > 0]
    if counts.shape[0] < 2:
        raise InputError("fewer than two documents of CORPUS have a word to attack. Give more text, or other words.")
    own = sparse.csr_matrix(_REPEATED * np.eye(canaries, dtype=np.int64))  # a word of its own for each canary
    whole = sparse.csr_matrix(sparse.block_diag([counts, own], format="csr"))
    whole.sort_indices()
    return Targets(whole, (*chosen, *(f"<canary {number}>" for number in range(canaries))), canaries)


@dataclass(frozen=True, eq=False)
class System:
    """A system to attack."""

    name: str
    learn: _Learn
    """Maps counts (n_documents, n_words) and a seed to topics (n_topics, n_words)."""
    statement: PrivacyStatement | None = None
    """The guarantee of the system; None without noise."""


def ordinary_system(topics: int) -> System:
    """Describe LDA by collapsed Gibbs sampling, without privacy. Raises `InputError` without tomotopy.

    tomotopy's defaults, except for the number of topics and of sweeps; one thread, so that the seed decides.
    """
    try:
        import tomotopy
    except ImportError:
        raise InputError("--ordinary needs tomotopy: pip install 'dplda[attack]'.") from None

    def learn(counts: sparse.csr_matrix, seed: int) -> np.ndarray:
        model = tomotopy.LDAModel(k=topics, seed=seed)
        for row in range(counts.shape[0]):
            entries = slice(counts.indptr[row], counts.indptr[row + 1])
            words = np.repeat(counts.indices[entries], counts.data[entries].astype(np.int64))
            if len(words):
                model.add_doc([str(word) for word in words])
        model.train(_SWEEPS, workers=1)
        answer = np.zeros((topics, counts.shape[1]))
        answer[:, [int(word) for word in model.used_vocabs]] = [model.get_topic_word_dist(k) for k in range(topics)]
        return answer

    return System(_ORDINARY, learn)


def dplda_system(targets: Targets, *, topics: int, placement: str, epsilon: float, **settings: Any) -> System:
    """Describe `placement` at `epsilon` on the public words of `targets`; `settings` are further parameters of `fit`.

    Raises `InputError` for settings that a fit refuses.
    """
    chosen: dict[str, Any] = {"placement": placement, "epsilon": epsilon, "prior": None} | settings
    run = plan_fit(_corpus(targets.counts, targets.words), False, FitOptions(n_topics=topics, **chosen))

    def learn(counts: sparse.csr_matrix, seed: int) -> np.ndarray:
        model = fit(_corpus(counts, targets.words), n_topics=topics, ledger=False, simulate_seed=seed, **chosen)
        column = {word: index for index, word in enumerate(targets.words)}
        answer = np.zeros((len(model.topics), len(targets.words)))
        answer[:, [column[word] for word in model.vocabulary]] = model.topics
        return answer

    prior = "" if chosen["prior"] is None else ", prior"
    if placement == NO_NOISE:
        return System(f"no noise{prior}", learn)
    return System(f"{placement}, epsilon {epsilon:g}{prior}", learn, run.statement)


def _corpus(counts: sparse.csr_matrix, words: tuple[str, ...]) -> Corpus:
    return Corpus.from_counts(counts, words, public_vocabulary=True)


class Results:
    """The statistics of the targets under each finished shadow model: a file for each in `folder`, or (None) in memory.

    `settings` are everything that decides these statistics. Raises `InputError` if `folder` holds results with other
    settings, or cannot be written.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any]) -> None:
        self._folder = folder
        self._kept: dict[tuple[str, int], np.ndarray] = {}
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / _SETTINGS).exists():
                _check_settings(folder, settings)
            elif any(folder.iterdir()):
                raise InputError(f"--results {folder} holds other files. Choose a new or empty folder.")
            else:
                write_atomically(folder / _SETTINGS, json.dumps(dict(settings), indent=1).encode())
        except OSError as error:
            raise InputError(f"cannot use --results {folder}: {error.strerror}. Choose another folder.") from None

    def get(self, system: str, number: int, targets: int) -> np.ndarray | None:
        """Return the statistics of the targets under a finished model of `system`, (n_targets,); else None."""
        if self._folder is None:
            return self._kept.get((system, number))
        path = self._path(system, number)
        if not path.exists():
            return None
        try:
            likelihoods: np.ndarray = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            likelihoods = np.empty(0)
        if likelihoods.shape != (targets,):
            raise InputError(f"{path} is damaged. Remove it, and give the same command again.")
        return likelihoods

    def keep(self, system: str, number: int, likelihoods: np.ndarray) -> None:
        """Save the statistics under model `number` of `system`, atomically."""
        if self._folder is None:
            self._kept[system, number] = likelihoods
            return
        path, written = self._path(system, number), BytesIO()
        np.save(written, likelihoods)
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, written.getvalue())
        except OSError as error:
            raise InputError(
                f"cannot write to {path.parent}: {error.strerror}. The same command goes on from here."
            ) from None

    def _path(self, system: str, number: int) -> Path:
        assert self._folder is not None
        return self._folder / system.replace(", ", "-").replace(" ", "-") / f"model-{number:05}.npy"


def _check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    try:
        known = json.loads((folder / _SETTINGS).read_bytes())
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise InputError(f"{folder / _SETTINGS} is damaged. Choose another folder for --results.")
    other = [name for name in sorted({*known, *settings}) if known.get(name) != settings.get(name)]
    if other:
        differ = "; ".join(f"{name} {known.get(name)}, not {settings.get(name)}" for name in other)
        raise InputError(f"--results {folder} holds another attack ({differ}). Choose another folder.")


def settings_of(targets: Targets, seed: int, prior: PriorTopics | None, **chosen: Any) -> dict[str, Any]:
    """Collect, as JSON, what decides the results of shadow models: documents, words, seed, prior and `chosen`."""
    learned = None if prior is None else prior.to_json()["digest"]
    facts = {"dplda": version(), "corpus": targets.digest, "canaries": targets.canaries, "seed": seed}
    return {**facts, "prior": learned, **chosen}


def train(
    systems: Sequence[System], targets: Targets, models: int, seed: int, results: Results, progress: Progress
) -> dict[str, np.ndarray]:
    """Return the statistics of the targets under `models` shadow models of each system, (models, n_targets).

    Trains the models whose statistics are not saved yet. A model that released no topics has NaN. Raises `InputError`
    if no model of a system released topics.
    """
    progress.start(_STAGE, models * len(systems))
    n_targets = targets.counts.shape[0]
    reasons: dict[str, str] = {}
    for number in range(models):
        for system in systems:
            if results.get(system.name, number, n_targets) is None:
                likelihoods, reasons[system.name] = _train_one(system, targets, seed, number)
                results.keep(system.name, number, likelihoods)
            progress.advance()
    answer = {}
    for system in systems:
        kept = [results.get(system.name, number, n_targets) for number in range(models)]
        answer[system.name] = np.array([likelihoods for likelihoods in kept if likelihoods is not None])
        if not np.isfinite(answer[system.name]).any():
            reason = reasons.get(system.name) or "see an earlier call"
            raise InputError(
                f"no shadow model of {system.name} released topics ({reason.rstrip('.')}). Give more documents, a "
                "larger epsilon or fewer topics."
            )
    return answer


def _train_one(system: System, targets: Targets, seed: int, number: int) -> tuple[np.ndarray, str]:
    """Return the statistics of the targets under one shadow model; NaN, and the reason, if it released no topics."""
    noise = int(np.random.default_rng([seed, number, 1]).integers(2**31))  # independent of the coins of `members`
    half = targets.counts[targets.members(seed, number)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyTopicsWarning)
        try:
            topics = system.learn(sparse.csr_matrix(half), noise)
        except UnsupportedByData as error:
            return np.full(targets.counts.shape[0], np.nan), str(error)
    return log_likelihoods(targets.counts, topics), ""
