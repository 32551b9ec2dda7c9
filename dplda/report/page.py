"""The report page: one self-contained HTML file with guarantees, pictures and their numbers."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dplda.base.errors import DpldaWarning, InputError, warn
from dplda.base.software import describe, software_of
from dplda.budget import Ledger
from dplda.budget.comparisons import Comparison
from dplda.budget.database import default_path
from dplda.budget.events import NOT_PRIVATE, NOT_PROVEN, PrivacyStatement, at_least
from dplda.budget.guarantees import Basis
from dplda.learning.estimates import Estimates
from dplda.learning.placements.registry import NO_NOISE, SOUND
from dplda.learning.settings import LISTED
from dplda.model import TopicModel
from dplda.model.examples import Examples
from dplda.model.run_facts import RunFacts
from dplda.model.topic_model import write_atomically
from dplda.report import (
    comparison_of_runs,
    comparison_pictures,
    indicator_pictures,
    promise,
    run_pictures,
    summary,
    table_pictures,
)
from dplda.report.comparison_pictures import Method
from dplda.report.facts import TITLES, Facts
from dplda.report.indicator_pictures import are_indicators
from dplda.report.pictures import Table, number, percent, shown
from dplda.report.promise import AllRuns, all_runs, unit_of
from dplda.report.wording import DIVIDED, ShownTopics, Wording, is_hidden, shown_topics
from dplda.runs.questions import beside_topics
from dplda.runs.released_table import Tables, least_noisy_shares, tables_about

_Kind = TypeVar("_Kind")
_SHOWN_ELSEWHERE = (
    *("alpha", "core_eigenvalues", "core_noise_level", "frequent_words", "published", "verdicts"),
    *("new_topics", "faded_topics", "share_std", "topic_sentences", "merged", "group_labels", "made_names"),
    *("topic_probabilities", "word_probabilities", "given", "software", "other_answers", "topic_names", "unseen_seeds"),
)
_SETTING_NAMES = {
    "alpha0": "prior, sum of its parameters (alpha0)",
    "budget_share": "share of the budget that the topics had",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"  # and no script
_NO_WORDING = Wording()
LANGUAGE = re.compile("[a-z]{2}")  # a code that HTML knows
_MOST_FREQUENT = 10  # words left out for being too frequent that are named
_STAMPED_BY_NAME = 4  # maximum number of runs that a warning label names; more are counted


def write_report(
    models: TopicModel | Sequence[TopicModel],
    path: str | Path,
    comparison: Comparison | None = None,
    guarantees: Mapping[str, AllRuns] | None = None,
    wording: Wording | None = None,
    date: datetime.date | None = None,
    batches: Mapping[str, TopicModel] | None = None,
    tables: Tables | Sequence[Tables] = (),
    examples: Examples | Sequence[Examples | None] = (),
) -> None:
    """Write one self-contained HTML page about `models`, and `comparison` if given, to `path`.

    `guarantees` maps a dataset to what a ledger recorded of all its runs (`all_runs`), by default what the default
    ledger did, if it exists. Of runs that it does not know, the guarantee is for the runs shown alone. `wording`
    changes words of the page only; `date` is today if None.
    `batches` maps names of batches to the models of a series, in order, ending with the model in `models`, which must
    then be the only one. `tables` are released tables of topics of `models` or `batches`, and counts and words of their
    datasets; others are refused.
    `examples` are public texts about the topics of each of `models`, None for a model without any; one of one model.

    Besides such texts, the page contains released numbers only: topics, prevalence, privacy statements, public
    parameters and the outcomes of a comparison, but no seconds if its corpus is private. Raises `InputError` if there
    is nothing to report, a run occurs twice, two runs have no word in common, the wording does not fit, or the file
    cannot be written. Warns (`DpldaWarning`) if the default ledger knows what the page does not say of its total.
    """
    models = _listed(
        models, TopicModel, "a report is of a model, or of several in a list, such as dplda.load('reviews')."
    )
    tables = _listed(
        tables, Tables, "tables must be results of tabulate, count or distinctive_words, and not tables[0]."
    )
    examples = [examples] if isinstance(examples, Examples) else examples
    if not isinstance(wording, Wording | None):
        raise InputError("wording must be a dplda.report.Wording, such as Wording(title='What patients write').")
    if not models and comparison is None:
        raise InputError("a report needs at least one run. List runs with `dplda runs` (Ledger.runs).")
    if guarantees is None and default_path().exists():
        ledger = Ledger()
        records, runs = ledger.datasets(), ledger.runs()
        guarantees = all_runs(records, models, runs)
        tables = [beside_topics(each, models, runs) if are_indicators(each) else each for each in tables]
        for record in records:
            if record.name in guarantees and record.in_reports:
                warn(f"Dataset {record.name} (exact, not for publication): {record.in_reports}.", DpldaWarning)
    _check_tables(tables, models, batches or {})
    try:
        today = date or datetime.date.today()
        page = _render(models, comparison, guarantees, wording or _NO_WORDING, today, batches, tables, examples)
        write_atomically(Path(path), page.encode())
    except OSError as error:
        raise InputError(f"cannot write the report to {path}: {error.strerror or error}.") from None


def _listed(given: Any, kind: type[_Kind], told: str) -> Sequence[_Kind]:
    """Return what is `given`, one or several of a `kind`, in a list; raises `InputError` for anything else."""
    listed = [given] if isinstance(given, kind) else given
    if not isinstance(listed, Sequence) or not all(isinstance(each, kind) for each in listed):
        raise InputError(told)
    return listed


def _render(
    models: Sequence[TopicModel],
    comparison: Comparison | None = None,
    guarantees: Mapping[str, AllRuns] | None = None,
    wording: Wording = _NO_WORDING,
    date: datetime.date = datetime.date.min,
    batches: Mapping[str, TopicModel] | None = None,
    tables: Sequence[Tables] = (),
    examples: Sequence[Examples | None] = (),
) -> str:
    """Return the page as text; parameters and errors are as in `write_report`."""
    ids, known = _ids(models, comparison), guarantees or {}
    names = _named(ids, wording)
    topics = shown_topics(models, wording, examples, indicator_pictures.words_of(tables))
    return template("page.html.j2").render(
        title=_title(models, comparison, wording.title),
        hidden=len({word.casefold() for word in wording.hidden}),
        stamps=warnings_of(models, names, comparison),
        runs=[
            run_section(model, shown_words, known.get(model.facts.dataset or ""), name, f"run-{i + 1}", tables)
            for i, (model, shown_words, name) in enumerate(zip(models, topics, names, strict=True))
        ],
        groups=promises(models, known),
        summary={
            "text": summary.text(models),
            "topics": [summary.topics(model, among_others=len(models) > 1) for model in models],
            "verdict": summary.verdict(models, apart=not _covered(tables, known)),
            "date": f"{date.day} {date:%B} {date.year}",
        },
        settings=_settings_of_runs(models, names, ids),
        answers=answers_section(models, tables, wording.hidden, "all") if len(models) > 1 else None,
        over_batches=comparison_of_runs.batch_pictures(batches or {}, topics),
        across=comparison_of_runs.pictures(models, names, topics),
        comparison=_comparison_section(comparison),
        style=style(),
        policy=POLICY,
    )


def style() -> Markup:
    """Return the style sheet of every page."""
    return Markup(files("dplda.report").joinpath("templates", "page.css").read_text(encoding="utf-8"))


@cache  # compiling one takes longer than filling it
def template(name: str) -> Template:
    """Return the template `name` of this package; what it is filled with is escaped."""
    environment = Environment(
        loader=PackageLoader("dplda.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def reason_of(privacy: PrivacyStatement) -> str:
    """Say why a run has no proven guarantee, without its warning label."""
    stamp, reason = privacy.warning_label, privacy.reason
    plain = reason[len(stamp) :].lstrip(": ") if reason.upper().startswith(stamp) else reason
    return shown(plain or "no proof of its privacy is known")


def run_section(
    model: TopicModel,
    topics: ShownTopics,
    together: AllRuns | None,
    name: str,
    prefix: str,
    all_tables: Sequence[Tables],
) -> dict[str, Any]:
    """Return the template's variables for one run."""
    privacy, unit, facts = model.privacy, unit_of(model.privacy), Facts(model, together)
    language = model.facts.language or ""
    frequent = [word for word in model.facts.frequent_words or () if not is_hidden(word, topics.hidden)]
    of_topics = [each for each in all_tables if not are_indicators(each)]
    shares, tables = least_noisy_shares(of_topics, model), tables_about(of_topics, model)
    pictures = {p.name.removeprefix(f"{prefix}-"): p for p in run_pictures.pictures(model, topics, prefix, shares)}
    own = [each for each in tables if each.same_documents]
    whole = [(each, table) for each in own for table in each if not table.by]
    if whole:  # the first picture shows them
        told = [table_pictures.definition(table, each, model) for each, table in whole]
        pictures["prevalence"] = replace(pictures["prevalence"], definition=" ".join(told))
    by_group = [
        replace(each, tables=tuple(table for table in each if table.by)) if each in own else each for each in tables
    ]
    return {
        "name": name,
        "id": shown(model.facts.run or name),
        "merged": model.facts.merged is not None,
        "dataset": shown(model.facts.dataset or ""),
        "prefix": prefix,
        "privacy": privacy,
        "verdict": privacy.warning_label,
        "epsilon": at_least(privacy.epsilon) if privacy.sound else "unbounded",
        "unit": unit,
        "language": language if LANGUAGE.fullmatch(language) else "",
        "together": together,
        "names": [shown(model.facts.dataset or ""), *map(shown, together.others if together else ())],
        "other_names": facts.other_names,
        "of_batches": facts.of_batches,
        "beliefs": Table(*promise.beliefs(privacy, together)),
        "success": percent(promise.success_at_most(privacy), upwards=True),
        "mu": at_least(promise.noise(privacy)[0]),
        "rarest": promise.rarest(privacy),
        "too_frequent": promise.too_frequent(privacy, model.facts),
        "frequent": list(map(shown, frequent[:_MOST_FREQUENT])),
        "more_frequent": len(frequent) > _MOST_FREQUENT,
        "listed": model.facts.words == LISTED,
        "words_of_series": model.facts.has_words_of_series,
        "public_words": model.facts.vocabulary == "public",
        "prior": {
            "source": "" if facts.prior is None else shown(facts.prior.source),
            "used": model.facts.prior_used is True,
            "public": facts.prior is not None and facts.prior.declared_public,
            "share": "" if model.facts.prior_share is None else percent(model.facts.prior_share),
            "divided": "" if shares is None else DIVIDED,
            "given": model.facts.n_given,
        },
        "guided": facts.seed_words,
        "series": facts.series,
        "batch": facts.batch,
        "pictures": pictures,
        "tables": table_pictures.pictures(by_group, topics, model.listed_topics, prefix, model),
        "answers": answers_section([model], all_tables, topics.hidden, prefix),
        "topics": cards(model, topics, shares),
        "examples_from": shown(topics.examples_from) if any(topics.examples.values()) else "",
        "edges": _edges(model.facts),
        "verdicts": bool(model.verdicts),
        "about_verdicts": model.facts.about_verdicts,
        "hidden": len(model.topics) - len(model.listed_topics),
        "settings": _settings(
            model.facts.to_json(),
            f"number of {unit.many}{' (inexact on purpose)' if privacy.sound else ''}",
        ),
        "facts": [(title, facts[key]) for key, title in TITLES.items()] if privacy.sound else [],
    }


def answers_section(
    models: Sequence[TopicModel], all_tables: Sequence[Tables], hidden: Sequence[str], prefix: str
) -> dict[str, Any]:
    """Return the template's variables for the counts and words of the datasets of `models`."""
    found = [
        each  # of a series, only those of the same batch
        for each in all_tables
        if are_indicators(each)
        and any(each.run == m.facts.run if m.facts.series else each.dataset == m.facts.dataset for m in models)
    ]
    runs = {each.run: each for each in found}
    if set(runs) <= {model.facts.run for model in models}:
        runs = {}  # the page says what they are of
    return {
        "pictures": indicator_pictures.pictures(found, prefix, hidden),
        "runs": [shown(run) for run in runs],
        "elsewhere": [shown(run) for run, each in runs.items() if not (each.same_documents or each.same_as)],
        "of_some": [
            (shown(run), list(map(shown, each.same_as)))
            for run, each in runs.items()
            if not each.same_documents and each.same_as
        ],
    }


def _check_tables(tables: Sequence[Tables], models: Sequence[TopicModel], batches: Mapping[str, TopicModel]) -> None:
    """Raise `InputError` for tables that no part of the page would show."""
    runs = {model.facts.run for model in (*models, *batches.values())}
    datasets = {model.facts.dataset for model in models}
    for each in tables:
        if each.dataset not in datasets if are_indicators(each) else each.of not in runs:
            made = f"counts or words of dataset {each.dataset}" if are_indicators(each) else f"topics of run {each.of}"
            raise InputError(
                f"tables of run {each.run} are about {made}, and no model on this page is: leave them out, or give its "
                "model. If these are other names of the same documents, read them with name= of one dataset."
            )


def _covered(tables: Sequence[Tables], known: Mapping[str, AllRuns]) -> bool:
    """Whether what is promised of all runs, if it is `known` and holds, covers the runs that made `tables`."""
    return all(
        each.dataset in known and known[each.dataset].guarantee.holds and each.run in known[each.dataset].ids
        for each in tables
    )


def _settings_of_runs(models: Sequence[TopicModel], names: Sequence[str], ids: Sequence[str]) -> Table:
    of_run = ("run", "dataset", "size (inexact on purpose)", "placement", "epsilon", "delta", "unit", "adjacency")
    columns = (*of_run, "private", "topics", "supported")
    rows = []
    for place, (model, name, run) in enumerate(zip(models, names, ids, strict=True), start=1):
        facts, privacy = model.facts, model.privacy
        method = Method(facts.placement or "–", facts.calibration or SOUND).label
        rows.append(
            (
                f"{place} {name}" if name == run else f"{place} {name} ({run})",
                shown(facts.dataset or "–"),
                promise.size(model)[0] or "–",
                shown(method),
                at_least(privacy.epsilon) if privacy.sound else "unbounded",
                number(privacy.delta),
                shown(privacy.unit),
                shown(privacy.adjacency),
                "yes" if privacy.sound else privacy.warning_label,
                str(len(model.topics)),
                number(facts.supported_topics),
            )
        )
    return Table(columns, rows)


def promises(models: Sequence[TopicModel], guarantees: Mapping[str, AllRuns]) -> list[dict[str, Any]]:
    """Return the template's variables for what is promised of the sound runs on each dataset."""
    return promises_of([(model.facts.dataset or "", model.privacy) for model in models], guarantees)


def promises_of(
    runs: Sequence[tuple[str, PrivacyStatement]], guarantees: Mapping[str, AllRuns]
) -> list[dict[str, Any]]:
    """Return what `promises` does of `runs`, given by dataset and statement."""
    groups: dict[tuple[str, str, str], list[PrivacyStatement]] = {}
    for dataset, privacy in runs:
        if privacy.sound:
            groups.setdefault((dataset, privacy.unit, privacy.adjacency), []).append(privacy)
    promises = []
    for (dataset, _, adjacency), statements in groups.items():
        together = guarantees.get(dataset)
        lost = together is not None and together.guarantee.basis == Basis.LOST
        promises.append(
            {
                "dataset": shown(dataset),
                "unit": unit_of(statements[0]),
                "adjacency": adjacency,
                "shown": len(statements),
                "names": [shown(dataset), *map(shown, together.others if together else ())],
                "recorded": together.runs if together else 0,
                "all": promise.of_all(together),
                "listed": together is not None and (together.others or len(together.guarantee.listed) > 1),
                "later": promise.of_total(together) if together and together.runs == 1 else None,
                "unknown": together.unknown if together else 0,
                "lost": lost,
                "unfinished": together is not None and together.guarantee.basis == Basis.UNFINISHED,
                "broken": lost
                or (together is not None and together.runs + together.unknown > 1 and not together.guarantee.holds),
                "one": promise.of_each(statements),
                "spent": promise.spent(statements) if dataset else None,
            }
        )
    return promises


def _comparison_section(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "name": shown(comparison.name),
        "corpus": shown(comparison.corpus),
        "introduction": comparison_pictures.introduction(comparison),
        "grid": summary.grid(comparison),
        "best": summary.best(comparison),
        "pictures": comparison_pictures.pictures(comparison),
        "winners": comparison_pictures.winners(comparison),
        "outcomes": comparison_pictures.outcomes(comparison),
        "settings": _settings(comparison.parameters),
    }


def cards(model: TopicModel, topics: ShownTopics, by_table: Estimates[np.ndarray] | None) -> list[dict[str, Any]]:
    """List the words of each topic, with bars for their probability in it and in the whole text.

    Each card has a scale of its own: one topic with a very frequent word would make all other bars tiny.
    """
    shares = model.prevalence if by_table is None else by_table.value
    overall = dict(zip(model.vocabulary, (model.prevalence @ model.topics).tolist(), strict=True))
    part = run_pictures.share_of(model, "" if by_table is None else model.privacy.unit)
    cards = []
    for topic in model.listed_topics:
        words = topics.words[topic]
        longest = max((probability for _, probability in words), default=1.0)
        cards.append(
            {
                "number": topic,
                "name": shown(topics.names.get(topic, "")),
                "prevalence": percent(float(shares[topic])),
                "part": part,
                "verdict": model.verdicts[topic] if model.verdicts else "",
                "real": model.how_sure(topic, " ({:.0%})"),
                "words": [
                    {
                        "word": shown(word),
                        "probability": percent(probability),
                        "width": f"{100 * probability / longest:.2f}%",
                        "overall": f"{min(100 * overall[word] / longest, 100):.2f}%",
                    }
                    for word, probability in words
                ],
                "examples": [shown(text) for text in topics.examples.get(topic, ())],
            }
        )
    return cards


def _settings(parameters: Mapping[str, Any], documents: str = "documents") -> Table:
    names = {**_SETTING_NAMES, "documents": documents}
    told = {key: at_least(value) if key == "epsilon" else value for key, value in parameters.items()}
    named = ((key, value) for key, value in told.items() if key not in _SHOWN_ELSEWHERE)
    rows = [(shown(names.get(key, key.replace("_", " "))), _plain(value)) for key, value in sorted(named)]
    if made_by := software_of(parameters):
        rows.append(("software", shown(f"{describe(made_by)}; noise: {made_by.get('noise')}")))
    return Table(("setting", "value"), rows)


def _edges(facts: RunFacts) -> Table | None:
    """Tabulate the noise on each edge of the graph of DeCarolis et al. 2020, for the published calibration."""
    edges = facts.published
    if not edges:
        return None
    columns = list(dict.fromkeys(name for noise in edges.values() for name in noise))
    rows = [(shown(edge), *(_plain(noise.get(name, "–")) for name in columns)) for edge, noise in edges.items()]
    return Table(("edge", *map(shown, columns)), rows)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _ids(models: Sequence[TopicModel], comparison: Comparison | None) -> list[str]:
    """Return ids of the runs, or descriptions of cells of the comparison. Raises `InputError` if a run occurs twice."""
    cells = {outcome.run: outcome.cell for outcome in comparison.outcomes} if comparison else {}
    names = []
    for place, model in enumerate(models, start=1):
        run = f"run {place}" if model.facts.run is None else model.facts.run
        if cell := cells.get(run):
            label = Method(cell.placement, cell.calibration).label
            budget = "" if cell.placement == NO_NOISE else f", epsilon {cell.epsilon:g}"
            names.append(f"{label}{budget}, repeat {cell.repeat + 1}")
        else:
            names.append(run)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"run {twice} is named twice: name each run once. Topics that were merged count as those of their run, and "
            "have a page of their own."
        )
    return [shown(name) for name in names]


def _named(ids: Sequence[str], wording: Wording) -> list[str]:
    """Return the names that `wording` gives the runs, or their `ids`. Raises `InputError` for names that do not fit."""
    for place, name in wording.runs.items():
        if not 1 <= place <= len(ids):
            raise InputError(f"there is no run {place} to name on this page: its runs are 1 to {len(ids)}, in order.")
        if not name.strip():
            raise InputError(f"the name of run {place} is empty.")
    names = [shown(wording.runs.get(place, run)) for place, run in enumerate(ids, start=1)]
    if len(set(names)) < len(names):
        raise InputError("two runs on this page have one name. Give each a name of its own.")
    return names


def _title(models: Sequence[TopicModel], comparison: Comparison | None, given: str = "") -> str:
    """Return the title, `given` or made of the datasets' names, behind a warning label if one is due."""
    verdicts = {model.privacy.warning_label for model in models} - {""}
    sound = [model.privacy.sound for model in models] + [o.sound for o in (comparison.outcomes if comparison else ())]
    stamp = ""
    if comparison and comparison.simulated:
        stamp = f"{NOT_PRIVATE}: "
    elif not all(sound):
        stamp = f"{'with runs ' if any(sound) else ''}{min(verdicts or {NOT_PROVEN}, key=len)}: "
    if given:
        return shown(f"{stamp}{given}")
    if comparison:
        return shown(f"{stamp}noise placements on {comparison.corpus}")
    datasets = dict.fromkeys("a dataset" if model.facts.dataset is None else model.facts.dataset for model in models)
    return shown(f"{stamp}topics of {', '.join(datasets)}")


def warnings_of(
    models: Sequence[TopicModel], names: Sequence[str], comparison: Comparison | None
) -> list[tuple[str, str]]:
    """Return the warnings at the top of the page: a label, and its reason with the runs to which it applies."""
    simulated = comparison is not None and comparison.simulated
    about: dict[tuple[str, str], list[str]] = {}
    for model, name in zip(models, names, strict=True):
        stamp = model.privacy.warning_label
        if stamp and not (simulated and stamp == NOT_PRIVATE):
            about.setdefault((stamp, reason_of(model.privacy)), []).append(name)
    stamps = [(NOT_PRIVATE, "all runs compared drew their noise from a known seed, or none")] if simulated else []
    for (stamp, reason), runs in about.items():
        if len(models) > 1:
            named = f": {', '.join(runs)}" if len(runs) <= _STAMPED_BY_NAME else ", marked below"
            reason = f"{reason} ({len(runs)} of {len(models)} runs{named})"
        stamps.append((stamp, reason))
    outcomes = comparison.outcomes if comparison else ()
    unproven = sum(not outcome.sound for outcome in outcomes)
    if unproven:
        where = f"{unproven} of the {len(outcomes)} runs compared are of placements without noise or without a proof"
        stamps.append((NOT_PROVEN, f"{where}: their names say so, and the table of all runs"))
    return stamps
