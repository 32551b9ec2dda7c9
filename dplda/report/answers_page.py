"""The page of `dplda ask`: each question in the user's words, and its answer."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dplda.base.config import MINIMUM_LENGTH
from dplda.base.errors import InputError
from dplda.model.examples import Examples
from dplda.model.topic_model import write_atomically
from dplda.report import indicator_pictures, promise, table_pictures
from dplda.report.page import (
    LANGUAGE,
    POLICY,
    promises_of,
    reason_of,
    run_section,
    style,
    template,
)
from dplda.report.pictures import shown
from dplda.report.promise import AllRuns, unit_of
from dplda.report.summary import verdict
from dplda.report.wording import ShownTopics, Wording, shown_topics
from dplda.runs.questions import Findings
from dplda.runs.released_table import Tables


def write_answers(
    findings: Findings,
    path: str | Path,
    together: AllRuns | None = None,
    date: datetime.date | None = None,
    wording: Wording | None = None,
    examples: Examples | None = None,
) -> None:
    """Write the answers as one self-contained HTML page to `path`.

    The page contains the questions, released numbers, and public `examples` of the topics only. `together` is what a
    ledger recorded of all runs on the dataset; without it, the page says that its guarantee is for this run alone.
    `date` is today if None. `wording` changes words of the page only. Raises `InputError` if the wording does not fit,
    or the file cannot be written.
    """
    try:
        page = _render(findings, together, date or datetime.date.today(), wording or Wording(), examples)
        write_atomically(Path(path), page.encode())
    except OSError as error:
        raise InputError(f"cannot write the answers to {path}: {error.strerror or error}.") from None


def _render(
    findings: Findings, together: AllRuns | None, date: datetime.date, wording: Wording, examples: Examples | None
) -> str:
    privacy, dataset, model = findings.privacy, findings.dataset, findings.model
    label, unit = privacy.warning_label, unit_of(privacy)
    if wording.names and model is None:
        raise InputError("this run answers questions without topics, so that there are none to name.")
    if wording.runs:
        raise InputError("names of runs need a report of several runs; answers are of one run, which has a title.")
    drawn = indicator_pictures.words_of([answer for _, answer, _ in findings.answers if answer is not None])
    models = [] if model is None else [model]
    shown_of_models = shown_topics(  # which refuses wording that fits nothing
        models, wording, [examples] if models else (), others=drawn
    )
    topics = shown_of_models[0] if shown_of_models else None
    title = wording.title or f"answers about {dataset}"
    language = "" if model is None else model.facts.language or ""
    whole = together is not None and together.guarantee.holds and not together.unknown
    epsilon, delta = together.guarantee.largest_total if together is not None and whole else (0.0, 0.0)
    answers = [
        {
            "question": shown(question),
            "reason": shown(reason),
            **({} if reason else _answer(findings, answer, topics, together, f"answer-{place}", wording.hidden)),
        }
        for place, (question, answer, reason) in enumerate(findings.answers, start=1)
    ]
    return template("answers.html.j2").render(
        title=shown(f"{label}: {title}" if label else title),
        hidden=len({word.casefold() for word in wording.hidden}),
        stamp=(label, reason_of(privacy)) if label else None,
        guarantee=shown(privacy.in_words) if privacy.sound else "",
        total=f"epsilon {epsilon:g} at delta {delta:g}" if whole else "",
        dataset=shown(dataset),
        size="" if model is None else ". ".join(filter(None, promise.size(model))),
        least=MINIMUM_LENGTH,
        unit=unit,
        verdict=verdict(models)[1:],  # the first line is about publishing
        groups=promises_of([(dataset, privacy)], {} if together is None else {dataset: together}),
        together=together,
        names=[shown(dataset), *map(shown, together.others if together else ())],
        series="" if model is None else shown(model.facts.series or ""),
        language=language if LANGUAGE.fullmatch(language) else "",
        date=f"{date.day} {date:%B} {date.year}",
        run=shown(findings.run),
        answers=answers,
        of_topics=next((each["topics"] for each in answers if each.get("topics")), None),
        style=style(),
        policy=POLICY,
    )


def _answer(
    findings: Findings,
    answer: Tables | None,
    topics: ShownTopics | None,
    together: AllRuns | None,
    prefix: str,
    hidden: Sequence[str],
) -> dict[str, Any]:
    """Return the template's variables for one answer: ``topics`` of a fit, or ``pictures``, without `hidden` words."""
    model = findings.model
    if answer is None:
        if model is None or topics is None:
            raise InputError("the topics that this run learned are gone: its model was moved or deleted.")
        section = run_section(model, topics, together, shown(findings.run), prefix, findings.topic_tables)
        return {"topics": section, "pictures": []}
    if indicator_pictures.are_indicators(answer):
        others = [each for _, each, _ in findings.answers if each is not None]
        of_plan, *of_page = (replace(each, same_documents=True) for each in (answer, *others))
        return {"topics": None, "pictures": indicator_pictures.pictures([of_plan], prefix, hidden, of_page=of_page)}
    known = topics if model is not None and len(model.topics) == answer[0].n_topics else None
    if known is None:  # of another run
        known = ShownTopics([()] * answer[0].n_topics, {})
    listed = model.listed_topics if model is not None and topics is known else range(answer[0].n_topics)
    return {
        "topics": None,
        "pictures": table_pictures.pictures([answer], known, listed, prefix, model, besides=""),
    }
