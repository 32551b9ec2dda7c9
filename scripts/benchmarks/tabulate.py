"""Tables by group and period: how often intervals hold, how large the what short documents do, and seconds.

The truth is the mean of the proportions of a group's documents, without noise.
"""

from __future__ import annotations

import gzip
import json
import re
import resource
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import dplda
from benchmarks.corpora import write_store
from benchmarks.measuring import alone, timed
from benchmarks.tables import Table
from dplda.base.distributions import match_topics
from dplda.budget.accountant import Share, calibrate
from dplda.budget.events import PrivacyStatement, Stage
from dplda.learning.estimates import Estimates
from dplda.model.run_facts import RunFacts
from dplda.private.attributes import Axis, TableRows
from dplda.private.noise import SimulatedNoise, lattice_scale
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.expected_counts import COUNT_SHARE, TABLE_CLIP, table_proportions
from dplda.runs.corpus import synthetic
from dplda.runs.indicator_tables import CountTable
from dplda.runs.released_table import ReleasedTable
from dplda.runs.tabulation import groupings

WEEKS, FIRST = 8, date(2024, 1, 1)
LAST = FIRST + timedelta(days=7 * WEEKS - 1)
BY = ("group", "group,week(date)")
DELTA = 1e-6


@dataclass
class Held:
    """How often intervals held the truth, and how many there were."""

    held: float = 0.0
    number: int = 0

    def add(self, held: np.ndarray) -> None:
        """Count more intervals."""
        self.held, self.number = self.held + float(held.sum()), self.number + held.size

    def __str__(self) -> str:
        return f"{self.held / self.number:.1%}" if self.number else ""


def measure(news: Path, imdb: Path, epsilons: Sequence[float], repeats: int) -> None:
    """Print for each corpus, table and budget how often intervals held the truth, among `repeats` simulated tables."""
    table = Table(
        *("corpus", "by", "rows", "epsilon", "large enough"),
        *("shares", "numbers", "differences", "all differences together"),
    )
    for name, corpus, groups in cases(news, imdb):
        model = dplda.fit(corpus, n_topics=20, epsilon=4.0, ledger=False, simulate_seed=0)
        for by in BY:
            dates = (FIRST, LAST) if "week" in by else (None, None)
            (asked,) = groupings([by], {"group": groups} if "group" in by else {}, dates)
            axes = tuple(Axis(each.attribute, each.groups or ()) for each in asked)
            exact = _exact(model, corpus, TableRows(axes))
            for epsilon in epsilons:
                held_row(table, name, exact, epsilon, repeats, partial(_released, axes))


def _exact(model: dplda.TopicModel, corpus: dplda.Corpus, rows: TableRows) -> np.ndarray:
    """The sums of a table in lattice units, (n_rows, k + 1), as the curator computes them before it adds noise."""
    passes = LocalPasses(corpus.open())
    passes.use_words(tuple(model.vocabulary), rows)
    contribution = table_proportions(model.topics.T, float(np.mean(model.alpha)), len(rows))
    return passes.clipped_sum(contribution, TABLE_CLIP)[0]


def _released(axes: tuple[Axis, ...], sums: np.ndarray, std: float) -> ReleasedTable:
    """The table of `sums` in lattice units, and the `std` of their noise."""
    by, groups, step = *named(axes), TABLE_CLIP / BOUND
    return ReleasedTable(
        by, groups, (False,) * len(by), sums[:, :-1] * step, sums[:, -1] * step / COUNT_SHARE, std * step
    )


def named(axes: tuple[Axis, ...]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The names of attributes, and of their groups."""
    return tuple(axis.attribute.name for axis in axes), tuple(axis.names for axis in axes)


def held_row(
    table: Table,
    name: str,
    exact: np.ndarray,
    epsilon: float,
    repeats: int,
    released: Callable[[np.ndarray, float], ReleasedTable],
) -> None:
    """Print how often intervals of the table ``released(sums, std)`` held, where `exact` are the sums without noise.

    Numbers are those of units, or of the units that match each category.
    """
    (event,) = calibrate((Share(Stage.TABLE, 1.0),), epsilon, DELTA)
    scale = lattice_scale(event.noise_multiplier or 0.0, float(BOUND))

    def numbers_of(one: ReleasedTable) -> Estimates[np.ndarray]:
        return one.matches() if isinstance(one, CountTable) else one.units()

    truth = released(exact, 1e-6)
    shares, numbers, sizes = truth.shares().value, numbers_of(truth).value, truth.units().value
    pairs, differences = truth.differences()
    full = np.array([sizes[row] > 0.5 for row in np.array(pairs).ravel()]).reshape(-1, 2).all(axis=1)
    told, of_shares, of_numbers, of_differences, together = (Held() for _ in range(5))
    for seed in range(repeats):
        noise = SimulatedNoise(1000 * seed).gaussian(scale, exact.size).reshape(exact.shape)
        one = released(exact + noise, scale)
        tells, found, units = one.tells, one.shares(), numbers_of(one)
        told.add(tells)
        holds = (found.low <= shares + 1e-9) & (shares <= found.high + 1e-9)
        of_shares.add(holds[tells])
        of_numbers.add((units.low <= numbers + 1e-9) & (numbers <= units.high))
        for count, simultaneous in ((of_differences, False), (together, True)):
            _, changes = one.differences(together=simultaneous)
            inside = ((changes.low <= differences.value) & (differences.value <= changes.high))[full]
            bounded = ((changes.low > -1) & (changes.high < 1))[full]
            count.add(np.array([inside.all()]) if simultaneous else inside[bounded])
    measured = told, of_shares, of_numbers, of_differences, together
    table.row(name, truth.name, len(truth.rows), f"{epsilon:g}", *measured)


def short_documents(lengths: Sequence[int]) -> None:
    """Print how far the mean proportions of planted documents are from what was planted, by their length."""
    errors, slopes = [], []
    for length in lengths:
        rng = np.random.default_rng(length)
        counts, topics, proportions = synthetic(20_000, 1000, 10, mean_length=float(length), seed=1)
        groups = rng.integers(0, 10, 20_000)
        proportions = np.asarray(proportions)
        groups = np.where(rng.random(20_000) < 0.6, proportions.argmax(axis=1), groups)
        words = [f"w{i}" for i in range(1000)]
        corpus = dplda.Corpus.from_counts(counts, words, public_vocabulary=True, groups={"g": groups.tolist()})
        model = dplda.fit(corpus, n_topics=10, epsilon=8.0, ledger=False, simulate_seed=0)
        planted = _matched(model, np.asarray(topics), words)
        found = dplda.tabulate(
            model, corpus, ["g"], 100.0, groups={"g": list(range(10))}, ledger=False, simulate_seed=0
        )[0].shares().value[:10]  # fmt: skip
        true = np.array([proportions[groups == g].mean(axis=0)[planted] for g in range(10)])
        slopes.append(np.polyfit(true.ravel(), found.ravel(), 1)[0])
        errors.append(100 * np.sqrt(((found - true) ** 2).mean()))
    table = Table("tokens a document", *map(str, lengths))
    table.row("root mean square error of a share, points", *(f"{error:.2f}" for error in errors))
    table.row("slope", *(f"{slope:.2f}" for slope in slopes))


def _matched(model: dplda.TopicModel, topics: np.ndarray, words: list[str]) -> np.ndarray:
    """The planted topic that each topic of the model is paired with."""
    planted = topics[:, [words.index(word) for word in model.vocabulary]]
    return match_topics(model.topics, planted)[1]


def speed(news: Path, n_documents: int, cache: Path | None = None) -> None:
    """Print seconds and memory of tables from prepared stores: of posts by week, and of planted documents."""
    table = Table("documents", "rows", "seconds", "core-seconds", "memory, GB")
    with tempfile.TemporaryDirectory() as scratch:
        _, corpus, _ = next(cases(news, None))
        corpus.write(Path(scratch) / "posts")
        large = cache or Path(scratch) / "planted"
        if not large.exists():
            write_store(large, n_documents, 5000, 20, groups=planted_groups)
        for store, by, n in ((Path(scratch) / "posts", "week(date)", 0), (large, "product,month(date)", n_documents)):
            found = alone(_timed_table, str(store), by, n)
            table.row(*found)


def _timed_table(store: str, by: str, n: int) -> tuple[str, ...]:
    corpus = dplda.read_corpus(store)
    words = corpus.open().dictionary[:2000]
    rng = np.random.default_rng(0)
    model = _any_model(words, rng)
    options: dict[str, Any] = {"dates": (date(2024, 1, 1), date(2025, 12, 31) if n else LAST)}
    if n:
        options["groups"] = {"product": [f"p{i}" for i in range(10)]}
    run = timed(
        lambda: dplda.tabulate(model, corpus, [by], 1.0, ledger=False, simulate_seed=0, public_topics=True, **options)
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    n = n or corpus.open().n_documents
    rows = len(run.result[0].rows)
    return f"{n:,}", f"{rows}", f"{run.wall:.1f}", f"{run.cores:.1f}", f"{memory / 1e9:.2f}"


def _any_model(words: Sequence[str], rng: np.random.Generator) -> dplda.TopicModel:
    """Twenty topics over `words`, whatever they are: what a table costs does not depend on them."""
    return dplda.TopicModel(
        topics=rng.dirichlet(np.full(len(words), 0.05), 20),
        prevalence=np.full(20, 0.05),
        vocabulary=tuple(words),
        privacy=PrivacyStatement(
            epsilon=float("inf"),
            delta=0.0,
            unit="document",
            adjacency="add-remove",
            sound=False,
            events=(),
            reason="planted",
        ),
        facts=RunFacts(alpha=(0.05,) * 20),
    )


def planted_groups(numbers: range, last: date = date(2025, 12, 31)) -> list[tuple[str, ...]]:
    """A product and a day, until the `last` one, for each of these numbers of documents."""
    days = (last - FIRST).days + 1
    return [(f"p{i % 10}", (FIRST + timedelta(days=i * 7919 % days)).isoformat()) for i in numbers]


def cases(news: Path, imdb: Path | None) -> Iterator[tuple[str, dplda.Corpus, list[str]]]:
    """Names, corpora with a group and a date, and the groups: posts, reviews and planted topics."""
    posts = list(posts_by_week(news))
    yield "posts", _of_records(posts), sorted({post["group"] for post in posts})
    if imdb is None:
        return
    with gzip.open(imdb, "rt", encoding="utf-8") as file:
        reviews = [json.loads(line) for line in islice(file, 30_000)]
    films = [review["movie"][-1] for review in reviews]
    dated = [{"text": r["text"], "group": f, "date": _day(i, len(reviews))}
             for i, (r, f) in enumerate(zip(reviews, films, strict=True))]  # fmt: skip
    yield "reviews", _of_records(dated), sorted(set(films))
    counts, _, proportions = synthetic(20_000, 1000, 20, mean_length=60.0, seed=100)
    main = np.asarray(proportions).argmax(axis=1)
    groups = {
        "group": [f"g{topic % 7}" for topic in main],
        "date": [_day(i * 7919 % 20_000, 20_000) for i in range(20_000)],
    }
    words = [f"w{i}" for i in range(1000)]
    yield (
        "planted",
        dplda.Corpus.from_counts(counts, words, public_vocabulary=True, groups=groups),
        sorted(set(groups["group"])),
    )


def _of_records(records: Sequence[dict[str, str]]) -> dplda.Corpus:
    return dplda.Corpus.from_texts(records, group_fields=["group", "date"], tokenizer="fast")


def posts_by_week(news: Path) -> Iterator[dict[str, str]]:
    """The posts with their group; the archive has no dates, and article numbers rise with time within a group."""
    groups: dict[str, list[tuple[int, str]]] = {}
    with tarfile.open(news) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                group, name = member.name.split("/")[-2:]
                text = re.split(r"\n\n|\t\t", file.read().decode("latin-1"), maxsplit=1)[-1]
                number = re.match(r"\d+", name)
                groups.setdefault(group, []).append((int(number[0]) if number else 0, text))
    for group, posts in groups.items():
        for place, (_, text) in enumerate(sorted(posts)):
            yield {"text": text, "group": group, "date": _day(place, len(posts))}


def _day(place: int, of: int) -> str:
    return (FIRST + timedelta(days=7 * WEEKS * place // of)).isoformat()
