"""Saved models of the runs in a ledger, and series: batches of documents, each fitted from the previous one."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Literal

from dplda.base.config import RANGES
from dplda.base.distributions import SAME, match_topics, on_words
from dplda.base.errors import InputError, warn
from dplda.budget.database import default_path
from dplda.budget.ledger import Ledger, usual_ledger
from dplda.budget.ledger_records import RunRecord, Status, released_in_words
from dplda.learning.recovery import Learned
from dplda.learning.settings import DEFAULTS
from dplda.model import topic_model
from dplda.model.prior_topics import PriorTopics
from dplda.model.run_facts import PER_TOPIC
from dplda.model.topic_model import TopicModel
from dplda.runs.corpus import Corpus
from dplda.runs.plan_parts import is_plan
from dplda.text.reading_options import READING_FACTS


def load(name: str | Path, *, ledger: Ledger | None = None) -> TopicModel:
    """Load a saved model: of the run that `Ledger.run` finds by `name`, or from the model folder `name`.

    `ledger` is the default one if None. A name with a path separator, or of a model folder, is taken as a path. Every
    field is checked and no code in the files is run. Raises `InputError` if there is no such model.
    """
    return topic_model.load(folder_of(name, ledger=ledger))


def load_run(run: RunRecord) -> TopicModel:
    """Load the saved model of `run`. Raises `InputError` if there is none."""
    return topic_model.load(_folder(run))


def is_path(name: str | Path) -> bool:
    """Whether `load` takes `name` as a path: a name with a path separator, or of a model folder."""
    return isinstance(name, Path) or os.path.isfile(Path(name) / topic_model.TEXT_FILE) or os.sep in name


def folder_of(name: str | Path, *, ledger: Ledger | None = None) -> Path:
    """Return the folder of the model that `load` loads by `name`; raises `InputError` if there is no such run."""
    if not isinstance(name, str | Path):
        raise InputError(f"name must be the id of a run, the name of a dataset or the folder of a model, got {name!r}.")
    if is_path(name):
        return Path(name)
    if ledger is None and not os.path.exists(default_path()):
        raise InputError(f"{name!r} is not a model folder, and there is no ledger that could know a run of this name.")
    return _folder(usual_ledger(ledger).run(str(name)))


def _folder(run: RunRecord) -> Path:
    """Return the folder of the model of `run`. Raises `InputError`, which says why, if there is none."""
    if not run.model:
        if run.result is not None:
            alone = f"`dplda report {run.id}` writes a page of them."
            raise InputError(
                f"Run {run.id} released {released_in_words(run.parameters)} and no topics. "
                f"{alone if is_plan(run) else 'List runs with `dplda runs` (Ledger.runs).'}"
            )
        why = "it was fitted without `out` or `models`" if run.status == Status.DONE else run.status_in_words
        raise InputError(f"Run {run.id} has no saved model ({why}). List runs with `dplda runs` (Ledger.runs).")
    if not os.path.isfile(Path(run.model) / topic_model.TEXT_FILE):
        raise InputError(f"The model of run {run.id} is no longer in {run.model}. If you moved it, give its new path.")
    return Path(run.model)


UNNAMED = "unnamed"  # dataset of corpora without a name; they share one budget, so that none escapes the ledger


@dataclass(frozen=True)
class Place:
    """Where a run is recorded, and what it continues from (see `find_place`)."""

    dataset: str
    """The dataset that is charged."""
    series: str | None = None
    """The same name, if the dataset is a series."""
    batch: str | None = None
    """The batch of the series that the run is on."""
    prior: PriorTopics | None = None
    """The topics that the run may start from; in a series, those of the previous batch if none are given."""
    earlier: TopicModel | None = None
    """The model of the previous batch."""

    def topics(self, requested: int | Literal["auto"] | None) -> int | Literal["auto"]:
        """Return the number of topics of the run; None as `requested` stands for the default.

        A series that continues has the number of the previous batch. New topics are added as they appear, not on
        request: a smaller number and ``auto`` are ignored. Raises `InputError` if more topics are `requested`.
        """
        if self.series is None or self.prior is None or self.prior.counts is None:
            return DEFAULTS.model.topics if requested is None else requested
        if requested not in (None, "auto") and RANGES["topics"].check("topics", requested) > len(self.prior):
            raise InputError(
                f"series {self.series!r} continues with {len(self.prior)} topics, got topics={requested}. Leave "
                "the number out; new topics are added as they appear."
            )
        return len(self.prior)


def find_place(
    corpus: Corpus,
    ledger: Ledger | Literal[False],
    *,
    dataset: str | None,
    series: str | None,
    batch: str | None,
    prior: PriorTopics | None,
    private: bool,
) -> Place:
    """Return the place of a run on `corpus`, from the arguments of `fit` and whether it is `private`.

    If `prior` is from a run of a series in the ledger, this run joins that series, unless `series` or `dataset` is
    given. Raises `InputError` for arguments that contradict each other, if this batch is private but the previous
    batch is not, and if the model of the previous batch is no longer there.
    """
    if series is None and dataset is None and prior is not None and ledger is not False:
        series = _series_of(prior, corpus, ledger)
    if series is None:
        if batch is not None:
            raise InputError(f"batch {batch!r} must be of a series. Name it: --series NAME (in Python, series=).")
        return Place(dataset or corpus.name or UNNAMED, prior=prior)
    if dataset not in (None, series):
        raise InputError(f"a series is a dataset: its name is {series!r} or {dataset!r}, not both. Leave one out.")
    name = batch or corpus.name
    if name is None:
        raise InputError(
            "a batch of a series needs a name, such as its week. Give one: --batch NAME (in Python, batch=)."
        )
    previous = [] if ledger is False else batches_before(ledger, series, name)
    if not previous:
        if prior is not None and prior.run is not None and prior.counts is None:
            warn(
                f"Run {prior.run} released no counts that a series continues: it learned from pairs of words, or chose "
                "its topics from a prior. This first batch does not continue its topics, and chooses among them, if "
                "they explain its documents. Without it, the batch learns topics of its own."
            )
        return Place(series, series, name, prior)
    earlier = load_run(previous[-1])
    _check_read_alike(corpus, earlier)
    if private and not earlier.privacy.sound:
        raise InputError(
            f"the batch before {name!r} was fitted without privacy, and a private batch may not continue from it. "
            "Begin another series."
        )
    if prior is None:
        prior = released_prior(earlier, public=not private)
    return Place(series, series, name, prior, earlier)


def _check_read_alike(corpus: Corpus, earlier: TopicModel) -> None:
    """Raise `InputError` if the text of a batch is read otherwise than that of the previous one.

    The ledger would not recognise documents that are in both, and their words would not be those of the topics.
    """
    for name in READING_FACTS:
        now, before = corpus.reading.get(name), earlier.facts.reading.get(name)
        if corpus.reading and earlier.facts.language is not None and (now or None) != (before or None):
            raise InputError(
                f"This batch is read with {name} {now}, and the previous one was read with {before}. Read all batches "
                "of a series alike, or begin another series."
            )


def _series_of(prior: PriorTopics, corpus: Corpus, ledger: Ledger) -> str | None:
    """Return the series of the run that released `prior`, according to the ledger; None if there is none.

    Raises `InputError` if `corpus` has the name of another dataset, because the user may mean to charge that one.
    """
    runs = ledger.runs()
    series = next((run.dataset for run in runs if run.id == prior.run and run.batch is not None), None)
    others = {run.dataset for run in runs} | {record.name for record in ledger.datasets()}
    if series is not None and corpus.name in others - {series}:
        raise InputError(
            f"the prior is of series {series!r}, and {corpus.name!r} is a dataset of its own. Say which budget is "
            f"charged: --series {shlex.quote(series)} or --dataset {shlex.quote(str(corpus.name))}."
        )
    return series


def released_prior(model: TopicModel, *, public: bool = False) -> PriorTopics:
    """Return the topics of `model` as prior topics: a private release, or one that you declare `public`.

    Raises `InputError` for any other model.
    """
    if not isinstance(model, TopicModel):
        raise InputError(
            f"released_prior takes a model, got {type(model).__name__}. That of a run: dplda.load(run). Topics of "
            "public text: dplda.public_prior(corpus)."
        )
    if not (model.privacy.sound or public):
        raise InputError(
            "the prior is a model that is not private, so that it must be public: its topics would reveal what they "
            "were learned from in this run. If that text was public, say so with --public-prior (in Python, "
            "public=True)."
        )
    earlier = model.facts.prior
    declared = earlier is not None and earlier.declared_public
    chosen = f", from {earlier.source}" if earlier is not None and declared else ""
    return PriorTopics(
        model.topics,
        tuple(model.vocabulary),
        f"run {model.facts.run or 'without a name'}{chosen}",
        declared or not model.privacy.sound,
        guarantee={name: value for name, value in model.privacy.to_json().items() if name != "events"},
        counts=model.counts,
        names=model.topic_names,
        made_names=frozenset(topic for (topic, *others) in model.facts.made_names or () if not others),
        probabilities=tuple(chance or 0.0 for chance in model.probabilities),  # no series continues a run with a prior
        too_frequent=model.facts.frequent_words or (),
        run=model.facts.run,
    )


def batches(ledger: Ledger, series: str) -> list[RunRecord]:
    """Return the latest run with a model of each batch of `series`, in the order of the batches' first runs."""
    found: dict[str, RunRecord] = {}
    for run in ledger.runs():
        if run.dataset == series and run.batch is not None and run.model:
            found[run.batch] = run
    return list(found.values())


def history(ledger: Ledger, series: str) -> dict[str, TopicModel]:
    """Return the model of each batch of `series`, in order, without models that were deleted.

    Raises `InputError` if none is left.
    """
    found = {}
    for run in batches(ledger, series):
        with suppress(InputError):
            found[str(run.batch)] = load_run(run)
    if not found:
        others = sorted({run.dataset for run in ledger.runs() if run.batch is not None and run.model})
        known = f" Series with a model: {', '.join(map(repr, others))}." if others else ""
        raise InputError(
            f"the ledger has no model of a batch of series {series!r}.{known} Begin one: "
            f"dplda fit CORPUS --series {shlex.quote(series)}"
        )
    return found


def share_of(model: TopicModel, topic: int) -> str:
    """Return the share of `topic` in the batch of `model`, as ``3.1%``, ``new 3.1%`` or ``faded`` (see `state_of`).

    A dash if `model` has no topic of this number.
    """
    if topic >= len(model.topics):
        return "–"
    state = state_of(model, topic)
    new = "new " if state == "new" else ""
    return state if state == "faded" else f"{new}{model.prevalence[topic]:.1%}"


def state_of(model: TopicModel, topic: int) -> str:
    """Return the state of `topic` in the batch of `model`: ``new``, ``faded``, or ``held`` if it continues.

    A topic has faded if too little of the batch is about it to tell from noise; the model keeps its earlier words.
    """
    if topic in (model.facts.faded_topics or ()):
        return "faded"
    return "new" if topic in (model.facts.new_topics or ()) else "held"


def batches_before(ledger: Ledger, series: str, batch: str) -> list[RunRecord]:
    """Return the `batches` of `series` before `batch`; all of them, if `batch` is not among them."""
    return list(takewhile(lambda run: run.batch != batch, batches(ledger, series)))


def renumber_topics(learned: Learned, words: tuple[str, ...], earlier: TopicModel) -> Learned:
    """Renumber the topics of `learned`: a topic that `earlier` also has gets its number in `earlier`.

    The topics of `learned` are over `words`. They are matched one to one with the largest sum of cosines, and a match
    counts if its cosine is at least `SAME` (`dplda.base.distributions`). The remaining topics get the free numbers and
    are listed in the fact ``new_topics``.
    """
    k = len(learned.topics)
    both = list(dict.fromkeys([*words, *earlier.vocabulary]))
    before = on_words(earlier.topics[:k], earlier.vocabulary, both)
    matched = match_topics(on_words(learned.topics, words, both), before)
    same = {int(number): int(topic) for topic, number, cosine in zip(*matched, strict=True) if cosine >= SAME}
    taken = set(same.values())
    rest = iter(topic for topic in range(k) if topic not in taken)
    order = [same[number] if number in same else next(rest) for number in range(k)]
    listed = {fact: [learned.facts[fact][topic] for topic in order] for fact in PER_TOPIC if fact in learned.facts}
    new = [number for number in range(k) if number not in same]
    return replace(
        learned,
        topics=learned.topics[order],
        prevalence=learned.prevalence[order],
        facts={**learned.facts, **listed, "new_topics": new},
        counts=learned.counts and learned.counts.of_topics(order),
    )
