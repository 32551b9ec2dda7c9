"""`tabulate`: charges one event for each table of released topics by groups, and releases it (docs/privacy.md, T10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

import numpy as np

from dplda.accounting.accountant import run_epsilon
from dplda.accounting.budget_plan import Share, calibrate
from dplda.accounting.events import Event, PrivacyStatement, Stage, merged
from dplda.attributes import Axis, Rows
from dplda.config import DEFAULTS, ExecutionSettings, PrivacySettings
from dplda.corpus import Corpus
from dplda.errors import InputError, UnsupportedByData
from dplda.execution.compilation import compiling
from dplda.execution.engines import is_local, running_engine
from dplda.ledger import Ledger, RunRecord, new_name
from dplda.mechanisms.curator import Curator
from dplda.mechanisms.noise import ExactNoise, SimulatedNoise
from dplda.model.topic_model import TopicModel
from dplda.progress import NoProgress, Progress
from dplda.readers.records import DOCUMENT
from dplda.recording import Recorder, Stopwatch, Unrecorded, abandoned_on_failure, spent_text
from dplda.statistics.topic_proportions import COUNT_SHARE, TABLE_CLIP, TABLE_PROPORTIONS, table_proportions
from dplda.store.fingerprint import fingerprint
from dplda.tables.grouping import MOST_CELLS, Grouping, groupings
from dplda.tables.released_table import ReleasedTable, Tables

TABLE = "table"  # the kind of a run that makes tables, in its parameters
_GROUPS_WEIGHT = 0.15  # share of a private list of groups in mu^2, beside 1 for a table
_GROUPS_OF_UNIT = 10  # how many groups a unit that is no single document votes for
_SIMULATED = "NOT PRIVATE: simulated noise from a known seed"


def tabulate(
    model: TopicModel,
    corpus: Corpus,
    by: Sequence[str],
    epsilon: float = DEFAULTS.privacy.epsilon,
    delta: float = DEFAULTS.privacy.delta,
    *,
    groups: Mapping[str, Sequence[object]] | None = None,
    dates: tuple[str | date | None, str | date | None] = (None, None),
    zone: str = "UTC",
    dataset: str | None = None,
    ledger: Ledger | Literal[False] | None = None,
    sampling: bool = False,
    public_topics: bool = False,
    adjacency: str | None = None,
    engine: str = DEFAULTS.execution.engine,
    scheduler: str | None = None,
    simulate_seed: int | None = None,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
) -> Tables:
    """Count the units of `corpus` by group, and what they are about, under (epsilon, delta) differential privacy.

    `by` lists the tables: ``"product"``, ``"month(date)"``, or ``"product,month(date)"`` for every product and month.
    Their columns are those that `corpus` was read with (``group_fields``). `groups` maps columns to lists of their
    values that are public, and `dates`, the first and the last day, list all periods; other groups are found privately
    and cost a part of the budget. Offsets in dates are converted to `zone`.

    A unit is in the tables with its topic proportions under the topics of `model`, which are released, or which
    `public_topics` declares public. `epsilon` (nats) is charged to `dataset` (None: the name of `corpus`), with the
    `adjacency` of the model if it is None. With `sampling`, intervals also hold the error of a sample. The other
    parameters are those of `dplda.fit`.

    Raises `InputError` for bad input and `BudgetRefused` if the ledger does not allow the run; neither spends anything.
    """
    ledger = Ledger() if ledger is None else ledger
    if not model.privacy.sound and not public_topics and simulate_seed is None:
        raise InputError(
            "the topics of this run are not private, and a table would carry what they were learned from. Give a "
            "private run, or declare with public_topics=True (--public-topics) that its text is public."
        )
    tables = groupings(by, groups or {}, dates, zone)
    _check_columns(corpus.group_columns, tables)
    request = _Request(
        model,
        corpus,
        tables,
        PrivacySettings(
            epsilon=epsilon,
            delta=delta,
            adjacency=adjacency or model.privacy.adjacency,
            simulate_seed=simulate_seed,
        ),
        ExecutionSettings(engine=engine, scheduler=scheduler),
        dataset or corpus.name or "unnamed",
        zone,
    )
    if ledger is False and not request.reason:
        raise InputError("ledger=False is for runs that are not private: give simulate_seed, or use a ledger.")
    run = new_name(request.dataset)
    watch = Stopwatch(progress or NoProgress(), seconds if seconds is not None else {})
    with running_engine(request.execution, passes=len(tables)) as passes_of:
        recorder: Recorder = Unrecorded(run) if ledger is False else request.reserve(ledger, run)
        with (
            abandoned_on_failure(request, recorder, ledger),
            compiling((TABLE_PROPORTIONS,), here=is_local(passes_of)) as wait_for_kernels,
        ):
            watch.start("read")
            store = corpus.open(watch, key=None if ledger is False else ledger.key)
            if ledger is not False:
                recorder.bind(fingerprint(store, ledger.key))
            wait_for_kernels(watch)
            found = _release(request, recorder, passes_of(store), watch, sampling)
            watch.stop()
            recorder.finish(model=None, seconds=watch.seconds, result=found.released())
    return found


@dataclass(frozen=True)
class _Request:
    """Tables that are asked for, with the plan of their events. All of it is public."""

    model: TopicModel
    corpus: Corpus
    tables: tuple[tuple[Grouping, ...], ...]
    privacy: PrivacySettings
    execution: ExecutionSettings
    dataset: str
    zone: str = "UTC"
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        hidden = len(self.hidden)
        shares = [Share(Stage.TABLE, float(len(self.tables)), len(self.tables))]
        if hidden:
            shares.insert(0, Share(Stage.GROUPS, _GROUPS_WEIGHT * hidden, hidden, selects_words=True))
        try:
            events = calibrate(tuple(shares), self.privacy.epsilon, self.privacy.delta)
        except ValueError:
            raise InputError("at most 9 attributes may have private groups. List the groups of the others.") from None
        object.__setattr__(self, "events", events)
        for table in self.tables:
            if len({each.attribute.name for each in table}) < len(table):
                raise InputError("a table is grouped twice by the same attribute. Name it once.")
            rows = math.prod(len(each.groups or ()) + 1 for each in table)
            if rows > self.most_rows:
                raise InputError(f"a table would have {rows:,} rows, at most {self.most_rows:,} are possible.")

    @property
    def hidden(self) -> tuple[Grouping, ...]:
        """The distinct groupings whose groups are found privately."""
        return tuple(dict.fromkeys(each for table in self.tables for each in table if each.groups is None))

    @property
    def most_rows(self) -> int:
        """The largest number of rows of a table."""
        return MOST_CELLS // len(self.model.topics)

    @property
    def reason(self) -> str:
        """See `Planned`."""
        return "" if self.privacy.simulate_seed is None else _SIMULATED

    @property
    def most_groups(self) -> int:
        """How many groups a unit votes for: a document is in one."""
        return 1 if self.corpus.unit == DOCUMENT else _GROUPS_OF_UNIT

    def statement(self) -> PrivacyStatement:
        """See `Planned`."""
        p = self.privacy
        return PrivacyStatement(
            epsilon=float("inf") if self.reason else run_epsilon(self.events, p.delta),
            delta=p.delta,
            unit=self.corpus.unit,
            adjacency=p.adjacency,
            sound=not self.reason,
            events=merged(self.events),
            reason=self.reason,
        )

    def reserve(self, ledger: Ledger, run: str) -> Recorder:
        """Reserve the budget, on disk before anything private is read."""
        p = self.privacy
        return ledger.reserve(
            run=run,
            dataset=self.dataset,
            unit=self.corpus.unit,
            adjacency=p.adjacency,
            epsilon=p.epsilon,
            delta=p.delta,
            events=self.events,
            parameters={
                "kind": TABLE,
                "of": str(self.model.parameters.get("run", "")),
                "by": [",".join(each.attribute.name for each in table) for table in self.tables],
                "private_groups": [each.attribute.name for each in self.hidden],
                **({"zone": self.zone} if self.zone != "UTC" else {}),
            },
            sound=not self.reason,
        )


def _check_columns(columns: Sequence[str], tables: Sequence[Sequence[Grouping]]) -> None:
    missing = [each.attribute.column for table in tables for each in table if each.attribute.column not in columns]
    if missing:
        kept = f" It keeps {', '.join(columns)}." if columns else ""
        raise InputError(
            f"The corpus was read without column {missing[0]!r}.{kept} Read it with group_fields=[{missing[0]!r}], or "
            f"import it with --group-field {missing[0]}."
        )


def _release(request: _Request, recorder: Recorder, passes: Any, watch: Stopwatch, sampling: bool) -> Tables:
    """Find the private groups, and release the tables."""
    model, charged, seed = request.model, list[Event](), request.privacy.simulate_seed

    def charge(event: Event) -> None:
        recorder.charge(event)
        charged.append(event)

    noise = ExactNoise() if seed is None else SimulatedNoise(seed)
    curator = Curator(passes, request.events, charge, noise, adjacency=request.privacy.adjacency, progress=watch)
    found = {each: curator.choose_groups(each.attribute, request.most_groups) for each in request.hidden}
    all_rows = [Rows(tuple(Axis(each.attribute, each.groups or found[each]) for each in t)) for t in request.tables]
    longest = max(map(len, all_rows))
    if longest > request.most_rows:
        raise UnsupportedByData(
            f"A table would have {longest:,} rows, at most {request.most_rows:,} are possible. "
            f"{spent_text(request, recorder, charged)}"
        )
    released = []
    for table, rows in zip(request.tables, all_rows, strict=True):
        axes = rows.axes
        curator.use_words(model.vocabulary, rows)
        alpha = float(np.mean(model.alpha))
        release = curator.release(Stage.TABLE, table_proportions(model.topics.T, alpha, len(rows)), TABLE_CLIP)
        released.append(
            ReleasedTable(
                by=tuple(axis.attribute.name for axis in axes),
                groups=tuple(axis.names for axis in axes),
                private=tuple(each.groups is None for each in table),
                totals=release.total[:, :-1],
                counts=release.total[:, -1] / COUNT_SHARE,
                std=release.std,
                sampling=sampling,
            )
        )
    of = str(model.parameters.get("run", ""))
    return Tables(recorder.run, of, request.dataset, tuple(released), request.statement())


def tables_of(ledger: Ledger, of: str) -> list[RunRecord]:
    """The finished runs that made tables of the topics of the run `of`, oldest first."""
    runs = [run for run in ledger.runs() if run.parameters.get("kind") == TABLE and run.result is not None]
    return [run for run in runs if run.parameters.get("of") == of]


def load_tables(run: RunRecord, *, sampling: bool = False) -> Tables:
    """The tables that `run` released. Raises `InputError` if it made none."""
    if run.parameters.get("kind") != TABLE or run.result is None:
        raise InputError(f"Run {run.id} made no tables. List runs with `dplda runs`.")
    return Tables.of_released(
        run.result, run=run.id, of=str(run.parameters.get("of", "")), dataset=run.dataset, sampling=sampling
    )
