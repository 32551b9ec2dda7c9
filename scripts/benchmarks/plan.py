"""What `dplda plan` foresees beside what fits show, on film reviews and 20 newsgroups.

The plan sees the number of documents and settings only. Rows are the noise level of the core, its 20th eigenvalue
(the fit's with noise) and how many of its 26 stand above the noise; fits are medians over seeds. Noise is simulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dplda
from benchmarks import corpora
from benchmarks.corpora import Case
from benchmarks.tables import Table
from dplda.learning.settings import FitSettings
from dplda.runs import forecast
from dplda.runs.forecast import ForecastInputs

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TOPICS = 20
NUMBERS = ("noise level", "20th eigenvalue", "topics above the noise")


def measure(imdb: Path, news: Path, seeds: int) -> None:
    """Print a row for each corpus and number, with a column for each epsilon."""
    table = Table("corpus", "plan / fit", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))
    for name, case, kind in _corpora(imdb, news):
        corpus = dplda.Corpus.from_counts(case.counts, case.words, public_vocabulary=True)
        foreseen = np.array([_plan(case, kind, epsilon) for epsilon in EPSILONS]).T
        seen = np.array([_fits(corpus, epsilon, seeds) for epsilon in EPSILONS]).T
        for number, planned, fitted in zip(NUMBERS, foreseen, seen, strict=True):
            table.row(name, number, *(f"{one:.2g} / {other:.2g}" for one, other in zip(planned, fitted, strict=True)))


def _corpora(imdb: Path, news: Path) -> Iterator[tuple[str, Case, forecast.ReferenceCorpus]]:
    """Each corpus with the kind that stands for it in the plan."""
    yield "film reviews", corpora.lines(imdb), forecast.ONE_SUBJECT
    yield "20 newsgroups", corpora.newsgroups(news), forecast.MANY_SUBJECTS


def _plan(case: Case, kind: forecast.ReferenceCorpus, epsilon: float) -> tuple[float, float, float]:
    """Noise level, eigenvalue and count that the plan foresees."""
    settings = FitSettings.of(epsilon=epsilon, topics=TOPICS, max_vocabulary=len(case.words))
    outlook = ForecastInputs(settings, documents=case.counts.shape[0], public_vocabulary=True)
    expected = outlook.forecast(kind)
    core = next(stage for stage in expected.stages if stage.name == "core")
    return core.noise, expected.eigenvalues[TOPICS - 1], expected.supported


def _fits(corpus: dplda.Corpus, epsilon: float, seeds: int) -> tuple[float, ...]:
    """Medians of the same three numbers over `seeds` fits."""
    found = []
    for seed in range(seeds):
        model = dplda.fit(corpus, n_topics=TOPICS, epsilon=epsilon, ledger=False, simulate_seed=seed)
        core = (getattr(model.facts, name) for name in ("core_noise_level", "core_eigenvalues", "supported_topics"))
        noise, eigenvalues, supported = core
        found.append((noise, eigenvalues[TOPICS - 1], supported))
    return tuple(np.median(found, axis=0).tolist())
