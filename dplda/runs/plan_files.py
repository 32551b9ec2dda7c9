"""Plan files of `dplda ask`: which documents are read, what all answers may cost, and the questions, such as::

    corpus: tickets.csv
    text_field: body
    unit_field: customer
    epsilon: 4
    categories:
      refund: [refund, money back]
    questions:
      - ask: What do customers write about?
        fit: {topics: 8}
      - ask: How many ask for a refund, in which product, and since when?
        count: {by: [product, month(created)]}
      - ask: Which words mark those who ask for a refund?
        words: {by: category(refund)}

Paths in it are relative to its folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dplda.base.config import PrivacySettings
from dplda.base.errors import InputError
from dplda.runs.fit_options import FitOptions
from dplda.runs.questions import KINDS, Question
from dplda.runs.tabulation import groupings, stored_columns
from dplda.text.categories import RULES
from dplda.text.reading_options import Reading, Tokenization
from dplda.text.word_files import read_mapping, read_word_list
from dplda.text.wordlists import words_named

_READING = tuple(name for name in Reading.__annotations__ if name != "group_fields")
_RUN = ("dataset", "epsilon", "delta", "adjacency", "series", "batch", "seed_words")
_ASKED = {  # keys, and the parameters of `dplda.cli.options.chosen_categories`
    **{name: name for name in ("question", "answers", "endpoint", "model", "timeout")},
    "categories": "rules",
}
_CALENDAR = ("zone", "date_format")
_KEYS = ("corpus", *_READING, *_RUN, *_ASKED, *_CALENDAR, "groups", "from", "to", "questions")
_OF_KIND = {
    "fit": ("topics", "words", "vocabulary", "seed_words", "max_document_frequency"),
    "tabulate": ("by", "between"),
    "count": ("by", "between", "at_most", "persons", "documents_per_person"),
    "words": ("by", "between", "vocabulary"),
}
_FIT_NAMES = {"topics": "n_topics"}
_TEXT, _DAY, _TEXTS, _NUMBER, _WHOLE = "text", "a day", "text or a list of texts", "a number", "a whole number"
_YES_NO, _PAIR, _MAPPING = "true or false", "two groups", "a mapping of names to lists"
_IS: dict[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _DAY: lambda value: isinstance(value, str | date),
    _TEXTS: lambda value: isinstance(value, str) or _are_all(value, str),
    _NUMBER: lambda value: isinstance(value, str | int | float) and not isinstance(value, bool),
    _WHOLE: lambda value: isinstance(value, int) and not isinstance(value, bool),
    _YES_NO: lambda value: isinstance(value, bool),
    _PAIR: lambda value: _are_all(value, str | int | date) and len(value) == 2,
    _MAPPING: lambda value: isinstance(value, Mapping) and all(isinstance(each, list) for each in value.values()),
}
_KINDS = {  # of the values of keys, also of those of questions
    **dict.fromkeys((*_ASKED, *_CALENDAR, *_READING, "dataset", "adjacency", "series", "batch", "words"), _TEXT),
    **dict.fromkeys(("text_field", "by", "answers", "vocabulary", "stopwords"), _TEXTS),
    **dict.fromkeys(("epsilon", "delta", "max_document_frequency"), _NUMBER),
    **dict.fromkeys(("at_most", "documents_per_person", "ngrams", "timeout"), _WHOLE),
    **dict.fromkeys(("lemmas", "one_line", "persons"), _YES_NO),
    **dict.fromkeys(("from", "to"), _DAY),
    **dict.fromkeys(("groups", "seed_words"), _MAPPING),
    "between": _PAIR,
    "categories": "",
}
_HINT = "See the example in docs/questions.md."


def _are_all(values: Any, kind: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in values)


@dataclass(frozen=True)
class PlanFile:
    """What a plan file says; paths in it are relative to its folder."""

    corpus: tuple[str, ...]
    """The files or folder of the documents; empty if the plan names none."""
    reading: Mapping[str, Any]
    """How they are read (`Reading`), with the columns that the questions need."""
    run: Mapping[str, Any]
    """Options of the whole run, fields of `FitOptions`."""
    asked: Mapping[str, Any]
    """What each document is asked: ``rules`` of categories, or a ``question`` with what belongs to it."""
    questions: tuple[Question, ...]

    @property
    def date_format(self) -> str:
        """How dates are written; empty for ISO 8601."""
        return next((each.calendar["date_format"] for each in self.questions if "date_format" in each.calendar), "")

    @property
    def options(self) -> FitOptions:
        """The options of the whole run."""
        return FitOptions(**self.run)


def read_plan(path: Path) -> PlanFile:
    """Read the plan file `path`. Raises `InputError`, which names what is wrong, for anything else."""
    given = read_mapping(path, _HINT, "key")
    _refuse_unknown(given, _KEYS, str(path))
    try:
        _check_kinds(given, _KINDS)
        run = _run_options(given)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    listed = given.get("questions")
    if not isinstance(listed, list) or not listed:
        raise InputError(f"{path} has no list of questions. {_HINT}")
    try:
        questions = tuple(_question(place, each, given, path.parent) for place, each in enumerate(listed, 1))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    corpus = given.get("corpus") or []
    corpus = corpus if isinstance(corpus, list) else [corpus]
    if not all(isinstance(each, str) for each in corpus):
        raise InputError(f"{path}: corpus must be the path of a file or folder, or a list of files.")
    columns = dict.fromkeys(column for question in questions for column in stored_columns(question.tables))
    used = {each.attribute.column for question in questions for table in question.tables for each in table}
    grouped = set(given.get("groups") or {})
    for column in grouped - used:  # of a question that was taken out, or a slip
        for close in get_close_matches(str(column), used - grouped, n=1):
            raise InputError(
                f"{path}: groups are given for {column!r}, by which no question is grouped. Did you mean {close!r}?"
            )
    rules = given.get("categories") or {}
    if isinstance(rules, str):  # the name of a file, as for --categories
        given = {**given, "categories": (rules := read_mapping(path.parent / rules, RULES, "category"))}
    if not isinstance(rules, Mapping):
        raise InputError(f"{path}: categories must map names to rules, or be the name of a file that does.")
    columns |= dict.fromkeys(
        str(rule["column"]) for rule in rules.values() if isinstance(rule, Mapping) and "column" in rule
    )
    reading = {name: given[name] for name in _READING if given.get(name) is not None}
    return PlanFile(
        corpus=tuple(str(path.parent / each) for each in corpus),
        reading={**reading, "group_fields": list(columns)},
        run=run,
        asked={"rules": None, **{_ASKED[name]: given[name] for name in _ASKED if given.get(name) is not None}},
        questions=questions,
    )


def _question(place: int, given: Any, plan: Mapping[str, Any], folder: Path) -> Question:
    """Return the question `given` in the list of the `plan`."""
    kinds = [kind for kind in KINDS if isinstance(given, Mapping) and kind in given]
    if len(kinds) != 1 or not isinstance(given.get("ask"), str) or not given["ask"].strip():
        raise InputError(f"question {place} needs `ask: ...` and one of {', '.join(KINDS)}. {_HINT}")
    (kind,) = kinds
    text = " ".join(given["ask"].split())
    _refuse_unknown(given, ("ask", "weight", kind), f"question {place}")
    options = given[kind] or {}
    if not isinstance(options, Mapping):
        example = "{topics: auto}" if kind == "fit" else "{by: product}"
        raise InputError(f"question {place}: {kind} must be followed by its options, such as {example}. {_HINT}")
    _refuse_unknown(options, _OF_KIND[kind], f"question {place}")
    try:
        _check_kinds(options, _KINDS)
    except InputError as error:
        raise InputError(f"question {place}: {error}") from None
    weight = given.get("weight", 0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1000:
        raise InputError(f"question {place}: weight must be a number from 0 to 1000.")
    options = dict(options)
    if isinstance(options.get("vocabulary"), str):
        words = folder / options["vocabulary"]
        corpus = plan.get("corpus")
        places = corpus if isinstance(corpus, list) else [corpus]
        if os.path.realpath(words) in [os.path.realpath(folder / each) for each in places if isinstance(each, str)]:
            raise InputError(f"question {place}: {words} holds the documents, and is no public list of words.")
        how = {name: plan[name] for name in ("language", "lemmas", "tokenizer") if plan.get(name) is not None}
        named = words_named(options["vocabulary"], Tokenization(**how))
        options["vocabulary"] = named or read_word_list(words)
    if kind == "fit":
        chosen = {_FIT_NAMES.get(name, name): value for name, value in options.items()}
        return Question(text, kind, chosen, weight=float(weight))
    by, between = options.pop("by", ()), options.pop("between", None)
    calendar = {name: str(plan[name]) for name in _CALENDAR if plan.get(name) is not None}
    by_names = [by] if isinstance(by, str) else by
    groups = {column: names for column, names in (plan.get("groups") or {}).items() if column in str(by_names)}
    dated = any("(" in str(each) and not str(each).startswith(("bool(", "category(")) for each in by_names)
    dates = (plan.get("from"), plan.get("to")) if dated else (None, None)
    used = calendar if dated or between is not None else {}
    tables = groupings(
        by_names,
        groups,
        dates,
        used.get("zone", "UTC"),
        used.get("date_format", ""),
        None if between is None else (str(between[0]), str(between[1])),
    )
    if kind == "words" and not all(tables):
        raise InputError(f"question {place}: words are compared between groups; name them with `by`.")
    return Question(text, kind, options, tables, used, float(weight))


def _run_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the whole run. Raises `InputError` for numbers that are none, or out of range."""
    run = {name: given[name] for name in _RUN if given.get(name) is not None}
    for name in ("epsilon", "delta"):
        try:
            if name in run:
                run[name] = float(run[name])  # 1e-6, without a point, is text in YAML
        except ValueError:
            raise InputError(f"{name} must be a number, got {run[name]!r}.") from None
    PrivacySettings(**{name: run[name] for name in ("epsilon", "delta", "adjacency") if name in run})
    return run


def _check_kinds(given: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Raise `InputError` for a value that is not of the kind that its key has in `kinds`."""
    for name, value in given.items():
        kind = kinds.get(name, "")
        if value is not None and kind and not _IS[kind](value):
            raise InputError(f"{name} must be {kind}, got {value!r}.")


def _refuse_unknown(given: Mapping[Any, Any], known: tuple[str, ...], where: str) -> None:
    """Raise `InputError` for a key that is not `known`."""
    for key in given:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(known)}."
            if key == "prior":
                meant = " A prior is for dplda fit alone: fit with it, then use dplda tabulate, count and words."
            raise InputError(f"{where} has a key {str(key)!r} that dplda does not know.{meant}")
