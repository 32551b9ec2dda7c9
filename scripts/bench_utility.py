#!/usr/bin/env python
"""How good the topics are: dplda beside a private peer, two peers that protect nobody, and words picked at random.

    python scripts/bench_utility.py --results utility.jsonl --imdb imdb.jsonl.gz --news 20news-bydate.tar.gz
    python scripts/bench_utility.py --results utility.jsonl --draw docs/figures

The first measures NPMI@10, diversity and, for planted topics, the mean matched l1 error of every corpus, system,
epsilon and seed, and appends them to the results; what is there already for the same source and settings is not
measured again, so it may be interrupted. The second prints the tables and draws the curves. Both need the extra
`bench` (tomotopy, matplotlib).

Everything is charged, for adding or removing one document at delta 1e-6; the vocabulary is public. Noise is
simulated: it is reproducible and has the same law as the exact noise, up to rounding, but protects nobody. --exact
draws the exact noise, against a temporary ledger. What is tuned is tuned with --half tune (planted corpora of other
seeds, every other film review); the remaining half and 20 newsgroups are for reporting.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import benchmark_corpora
import numpy as np
import peers
import utility_report
import variational_baseline
from benchmark_corpora import Case

import dplda
from dplda.comparison.measures import diversity, matched_error, npmi, on_words

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
KEY = ("corpus", "half", "system", "settings", "epsilon", "seed")
PRIVATE = ("dplda", "variational")  # measured at every epsilon, and without noise


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing, or draw what is there."""
    options = _parser().parse_args(arguments)
    if options.draw is not None:
        utility_report.write(records(options.results), options.half, options.draw)
        return
    done = {key(record) for record in records(options.results)}
    for record in wanted(options):
        if key(record) not in done:
            measured = record | measure(record, options)
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(measured) + "\n")
            print(json.dumps(measured), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="JSON lines, appended to")
    parser.add_argument("--imdb", type=Path, help="film reviews: JSON lines with a text, compressed by gzip")
    parser.add_argument("--news", type=Path, help="20 newsgroups: a tar archive")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--epsilons", nargs="+", type=_epsilon, default=[*EPSILONS, None], help="'none': no noise")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--half", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--exact", action="store_true", help="exact noise for dplda instead of simulated")
    parser.add_argument("--rounds", type=int, default=variational_baseline.ROUNDS, help="of the private peer")
    parser.add_argument("--clip", type=float, default=variational_baseline.CLIP, help="of the private peer")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="print tables, write curves; measure nothing")
    return parser


def _epsilon(text: str) -> float | None:
    return None if text == "none" else float(text)


def records(results: Path) -> list[dict]:
    """What has been measured so far."""
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()] if results.exists() else []


def key(record: dict) -> tuple:
    """What makes a measurement the same as another."""
    return tuple(record[name] for name in KEY)


def wanted(options: argparse.Namespace) -> Iterator[dict]:
    """The keys of all measurements asked for, seed by seed: what is interrupted is whole for fewer seeds."""
    settings = {system: SYSTEMS[system][1](options) for system in options.systems}
    for corpus in options.corpora:
        for seed in range(options.seeds):
            for system in options.systems:
                for epsilon in options.epsilons if system in PRIVATE else [None]:
                    values = (corpus, options.half, system, settings[system], epsilon, seed)
                    yield dict(zip(KEY, values, strict=True))


def measure(record: dict, options: argparse.Namespace) -> dict:
    """Fit what `record` names; its measures and seconds."""
    case = load(record["corpus"], record["seed"], options)
    start = time.perf_counter()
    topics = SYSTEMS[record["system"]][0](case, record["epsilon"], record["seed"], options)
    seconds = time.perf_counter() - start
    found = {"npmi": float(npmi(topics, case.counts).mean()), "diversity": diversity(topics)}
    if case.planted is not None:
        found["error"] = float(matched_error(topics, case.planted).mean())
    return found | {"seconds": round(seconds, 1)}


def load(corpus: str, seed: int, options: argparse.Namespace) -> Case:
    """The corpus of that name; only planted ones depend on the seed."""
    if corpus == "synthetic":
        return _planted(seed, options.half)
    path = getattr(options, corpus)
    if path is None:
        raise SystemExit(f"--{corpus} must name the raw file, or leave {corpus} out of --corpora.")
    if corpus == "imdb":
        return _reviews(path, options.half)
    if options.half == "tune":
        raise SystemExit("20 newsgroups is for reporting. Leave news out of --corpora.")
    return _newsgroups(path)


CORPORA = ("imdb", "news", "synthetic")
_planted = functools.lru_cache(maxsize=1)(benchmark_corpora.planted)
_reviews = functools.cache(benchmark_corpora.reviews)
_newsgroups = functools.cache(benchmark_corpora.newsgroups)


def fit_dplda(case: Case, epsilon: float | None, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Topics of the whole pipeline over the case's words; no noise at all for epsilon None."""
    corpus = dplda.Corpus.from_counts(case.counts, case.words, public_vocabulary=True)
    if epsilon is None:
        model = dplda.fit(corpus, n_topics=case.n_topics, placement="none", ledger=False, simulate_seed=seed)
    elif options.exact:
        with tempfile.TemporaryDirectory() as folder:
            ledger = dplda.Ledger(Path(folder) / "ledger.db")
            model = dplda.fit(corpus, n_topics=case.n_topics, epsilon=epsilon, delta=DELTA, ledger=ledger)
    else:
        model = dplda.fit(
            corpus, n_topics=case.n_topics, epsilon=epsilon, delta=DELTA, ledger=False, simulate_seed=seed
        )
    return on_words(model.topics, model.vocabulary, case.words)


def dplda_settings(options: argparse.Namespace) -> str:
    """A hash of the package's source, and the kind of noise."""
    folder = Path(dplda.__file__).parent
    source = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        source.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"source {source.hexdigest()[:12]}, {'exact' if options.exact else 'simulated'} noise"


def fit_variational(case: Case, epsilon: float | None, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Topics of the private peer."""
    rounds, clip = options.rounds, options.clip
    multiplier = 0.0 if epsilon is None else variational_baseline.noise_multiplier(epsilon, DELTA, rounds)
    return variational_baseline.fit(case.counts, case.n_topics, multiplier, seed, rounds, clip)


def fit_tomotopy(case: Case, epsilon: float | None, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Topics of tomotopy."""
    return peers.tomotopy_topics(case.counts, case.n_topics, seed)


def fit_gensim(case: Case, epsilon: float | None, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Topics of gensim."""
    return peers.gensim_topics(case.counts, case.n_topics, seed)


def fit_random(case: Case, epsilon: float | None, seed: int, options: argparse.Namespace) -> np.ndarray:
    """The floor: all probability on words picked at random."""
    picks = np.random.default_rng(seed).random((case.n_topics, len(case.words)))
    tenth = np.sort(picks, axis=1)[:, -10, None]
    return np.where(picks >= tenth, 0.1, 0.0)


SYSTEMS: dict[str, tuple[Callable, Callable]] = {  # how topics are found, and the settings that identify them
    "dplda": (fit_dplda, dplda_settings),
    "variational": (fit_variational, lambda options: f"{options.rounds} rounds, clip {options.clip:g}"),
    "tomotopy": (fit_tomotopy, lambda options: f"{version('tomotopy')}, {peers.SWEEPS} sweeps"),
    "gensim": (fit_gensim, lambda options: f"{version('gensim')}, {peers.PASSES} passes"),
    "random": (fit_random, lambda options: ""),
}

if __name__ == "__main__":
    main()
