"""How good the topics are: dplda beside a private peer, two peers that protect nobody, and words picked at random.

Everything is charged, for adding or removing one document at delta 1e-6; the vocabulary is public. Noise is simulated
unless exact noise is asked for: it is reproducible and has the same law, up to rounding, but protects nobody. What is
tuned is tuned on one half (planted corpora of other seeds, every other document); the other half and 20 newsgroups are
for reporting.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np

import dplda
from benchmarks import corpora, results, systems, variational
from benchmarks.corpora import Case
from benchmarks.results import Record
from benchmarks.small import agreement
from dplda.runs.grid import diversity, matched_error, npmi

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, None)  # None: no noise
KEY = ("corpus", "half", "system", "settings", "epsilon", "seed")
PRIVATE = ("dplda", "variational")  # measured at every epsilon, and without noise


@dataclass(frozen=True)
class Options:
    """What is measured: corpora (with the raw `files` of the real ones), systems, epsilons, seeds and settings."""

    corpora: Sequence[str]
    systems: Sequence[str]
    epsilons: Sequence[float | None] = EPSILONS
    seeds: int = 5
    half: str = "all"
    exact: bool = False
    rounds: int = variational.ROUNDS
    clip: float = variational.CLIP
    files: Mapping[str, Path | None] = field(default_factory=dict)


def measure(path: Path, options: Options) -> None:
    """Measure what is missing in the results at `path`, and append it."""
    results.fill(path, KEY, wanted(options), lambda record: one(record, options))


def wanted(options: Options) -> Iterator[Record]:
    """The keys of all measurements asked for, seed by seed: what is interrupted is whole for fewer seeds."""
    settings = {system: SYSTEMS[system].settings(options) for system in options.systems}
    for corpus in options.corpora:
        for seed in range(options.seeds):
            for system in options.systems:
                for epsilon in options.epsilons if system in PRIVATE else [None]:
                    values = (corpus, options.half, system, settings[system], epsilon, seed)
                    yield dict(zip(KEY, values, strict=True))


def one(record: Record, options: Options) -> Record:
    """Fit what `record` names; its measures and seconds."""
    case = load(record["corpus"], record["seed"], options)
    start = time.perf_counter()
    topics = SYSTEMS[record["system"]].topics(case, record["epsilon"], record["seed"], options)
    seconds = time.perf_counter() - start
    found = {"npmi": float(npmi(topics, case.counts).mean()), "diversity": diversity(topics)}
    if case.labels is not None:
        found["nmi"] = agreement(case.labels, topics, case.counts)
    if case.planted is not None:
        found["error"] = float(matched_error(topics, case.planted).mean())
    return found | {"seconds": round(seconds, 1)}


def load(corpus: str, seed: int, options: Options) -> Case:
    """The corpus of that name; only planted ones depend on the seed."""
    if corpus == "synthetic":
        return _planted(seed, options.half)
    path = options.files.get(corpus)
    if path is None:
        raise click.UsageError(f"--{corpus} must name the raw file, or leave {corpus} out of --corpora.")
    if corpus != "news":
        return _lines(path, options.half)
    if options.half == "tune":
        raise click.UsageError("20 newsgroups is for reporting. Leave news out of --corpora.")
    return _newsgroups(path)


_planted = functools.lru_cache(maxsize=1)(corpora.planted)
_lines = functools.cache(corpora.lines)
_newsgroups = functools.cache(corpora.newsgroups)


def fit_dplda(case: Case, epsilon: float | None, seed: int, options: Options) -> np.ndarray:
    """Topics of the whole pipeline over the case's words; no noise at all for epsilon None."""
    settings: dict[str, Any] = {"placement": "none"} if epsilon is None else {"epsilon": epsilon, "delta": DELTA}
    simulate_seed = None if options.exact and epsilon is not None else seed
    return systems.dplda_topics(case.counts, case.n_topics, case.words, simulate_seed, **settings)


def dplda_settings(options: Options) -> str:
    """A hash of the package's source, and the kind of noise."""
    folder = Path(dplda.__file__).parent
    source = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        source.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"source {source.hexdigest()[:12]}, {'exact' if options.exact else 'simulated'} noise"


def fit_variational(case: Case, epsilon: float | None, seed: int, options: Options) -> np.ndarray:
    """Topics of the private peer."""
    rounds, clip = options.rounds, options.clip
    multiplier = 0.0 if epsilon is None else variational.noise_multiplier(epsilon, DELTA, rounds)
    return variational.fit(case.counts, case.n_topics, multiplier, seed, rounds, clip)


@dataclass(frozen=True)
class System:
    """How topics are found (from a case, epsilon, seed and options), and the settings that identify them."""

    topics: Callable[[Case, float | None, int, Options], np.ndarray]
    settings: Callable[[Options], str]


SYSTEMS = {
    "dplda": System(fit_dplda, dplda_settings),
    "variational": System(fit_variational, lambda options: f"{options.rounds} rounds, clip {options.clip:g}"),
    "tomotopy": System(
        lambda case, epsilon, seed, options: systems.tomotopy_topics(case.counts, case.n_topics, seed),
        lambda options: f"{version('tomotopy')}, {systems.SWEEPS} sweeps",
    ),
    "gensim": System(
        lambda case, epsilon, seed, options: systems.gensim_topics(case.counts, case.n_topics, seed),
        lambda options: f"{version('gensim')}, {systems.PASSES} passes",
    ),
    "random": System(
        lambda case, epsilon, seed, options: systems.random_words(case.n_topics, len(case.words), seed),
        lambda options: "",
    ),
}
