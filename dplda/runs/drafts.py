"""Invented text for a prior: a language model writes it from a description of a collection, and from nothing else.

This module imports nothing that could read a corpus or the ledger.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from dplda.base.characters import one_line
from dplda.base.chat_server import ChatServer
from dplda.base.errors import InputError
from dplda.base.progress import Progress

LEAST_TEXTS = 50  # of which two prior topics can be learned
_MOST_SUBJECTS, _TEXTS_PER_SUBJECT = 80, 25  # the most prior topics, and the texts for each (`dplda.runs.priors`)
_TEXTS_PER_ANSWER = 5
_DESCRIPTIONS = frozenset({"", ".txt", ".md"})  # the endings of files that may hold a description
_LONGEST_ABOUT, _LONGEST_SUBJECT, _LONGEST_TEXT = 4_000, 100, 4_000  # characters
_LISTS = 5  # the most requests for subjects
_FAILURES, _FRUITLESS = 3, 10  # answers in a row that fail, or hold no new text, before the model is given up
_TEMPERATURE = 1.0  # so that answers differ
_TASK = (
    "You invent example texts for a topic model. You are given a description of a collection of texts. Write in the "
    "language of the description. Invent everything: do not repeat a text that you know, and name no real person. "
    "Answer with one JSON array of strings and nothing else."
)
_MANNERS = (  # each time that it is asked for texts on the same subject
    "Write them as different people would, in their own words.",
    "Write about common cases, some of them briefly.",
    "Write about unusual cases, with many details.",
    "Use the terms of people who know the subject well.",
    "Write about causes, consequences and what was done about it.",
)
_THOUGHTS = "</think>"  # the end of what a model writes before its answer
_BETWEEN = re.compile(r"[\s,]*")


@dataclass(frozen=True)
class Draft:
    """An invented text, and the subject that the model was asked to write about."""

    subject: str
    text: str


def read_description(path: Path) -> str:
    """Read the description of a collection. Raises `InputError` unless it is text of 1 to 4,000 characters.

    A file that is named like a table or a collection is refused, because it would be sent.
    """
    if path.suffix.lower() not in _DESCRIPTIONS:
        raise InputError(
            f"{path} is not named like a description, which is sent to the language model. Write one into a file "
            f"that ends in {' or '.join(sorted(filter(None, _DESCRIPTIONS)))}."
        )
    try:
        with open(path, encoding="utf-8-sig") as file:
            about = file.read(_LONGEST_ABOUT + 1).strip()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8.") from None
    if not 1 <= len(about) <= _LONGEST_ABOUT:
        found = f"more than {_LONGEST_ABOUT:,}" if about else "no"
        raise InputError(
            f"{path} has {found} characters. Describe the texts in your own words, in at most {_LONGEST_ABOUT:,} "
            "characters: what they are, who writes them, what they may be about. Quote none of them."
        )
    return about


def draft_texts(server: ChatServer, about: str, n_texts: int, progress: Progress) -> list[Draft]:
    """Have `server` invent `n_texts` different texts of the collection that `about` describes.

    The server is sent `about`, and the subjects that it listed for it. There are fewer texts, but at least 50, if it
    has nothing new to say. Raises `InputError` if it does not answer, or gives fewer.
    """
    progress.start("list subjects")
    n_subjects = max(2, min(_MOST_SUBJECTS, n_texts // _TEXTS_PER_SUBJECT))
    subjects = _list_subjects(server, about, n_subjects)
    progress.start("write texts", n_texts)
    drafts: dict[str, Draft] = {}
    failures = fruitless = 0
    for turn in count():
        if len(drafts) == n_texts or fruitless == _FRUITLESS:
            break
        subject = subjects[turn % len(subjects)]
        question = (
            f"{about}\n\n---\nWrite {_TEXTS_PER_ANSWER} different texts of this collection, of the usual length, about "
            f"this subject: {subject}. {_MANNERS[turn // len(subjects) % len(_MANNERS)]}"
        )
        try:
            answer = server.ask(_TASK, question, temperature=_TEMPERATURE)
        except InputError:
            failures += 1
            if failures == _FAILURES:
                raise
            continue
        known, failures = len(drafts), 0
        for text in _strings(answer, _LONGEST_TEXT):
            if len(drafts) < n_texts:
                drafts.setdefault(_letters(text), Draft(subject, text))
        fruitless = 0 if len(drafts) > known else fruitless + 1
        progress.advance(len(drafts) - known)
    if len(drafts) < LEAST_TEXTS:
        raise InputError(
            f"{server.model} wrote {len(drafts)} different texts in the form that was asked for, and a prior needs "
            f"{LEAST_TEXTS}. Try another model, or describe more in the file of --about."
        )
    return list(drafts.values())


def _list_subjects(server: ChatServer, about: str, n_subjects: int) -> list[str]:
    """Return up to `n_subjects` different subjects of the collection. Raises `InputError` if the model lists none."""
    found: dict[str, str] = {}
    for _ in range(_LISTS):
        question = (
            f"{about}\n\n---\nList {n_subjects - len(found)} different subjects that texts of this collection may be "
            "about, common ones and rare ones, each in a few words."
        )
        if found:
            question += f" Leave out these: {'; '.join(found.values())}."
        for subject in _strings(server.ask(_TASK, question, temperature=_TEMPERATURE), _LONGEST_SUBJECT):
            found.setdefault(_letters(subject), subject)
        if len(found) >= n_subjects:
            break
    if not found:
        raise InputError(f"{server.model} did not list subjects in the form that was asked for. Try another model.")
    return list(found.values())[:n_subjects]


def _strings(answer: str, longest: int) -> list[str]:
    """Return the strings of the JSON array in `answer` as lines without unsafe characters.

    Of an object, its longest string counts. If the array breaks off, its strings before the break are returned.
    """
    text, found, decoder = answer.rpartition(_THOUGHTS)[2], list[str](), json.JSONDecoder(strict=False)
    begin = re.search(r"\[\s*", text)
    at = len(text) if begin is None else begin.end()
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values = value.values() if isinstance(value, dict) else [value]
        line = one_line(max((each for each in values if isinstance(each, str)), key=len, default=""), longest)
        if _letters(line):
            found.append(line)
        at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
    return found


def _letters(text: str) -> str:
    """Return the letters and digits of `text`, which are the same in texts that differ in nothing else."""
    return "".join(filter(str.isalnum, text.casefold()))
