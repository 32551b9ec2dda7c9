"""Names of topics and of groups of them: from a file, from a server, or made of their most distinctive words.

Names are made of released words alone, so they cost no budget. They are text: whatever a server answers is never markup
or an instruction.

No name is lost: the folder of a model keeps all versions of its names (`save_names`), in a file beside the model, which
nobody else needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from dplda.base.characters import one_line
from dplda.base.chat_server import ChatServer
from dplda.base.errors import InputError
from dplda.model import topic_model
from dplda.model.run_facts import GroupLabel
from dplda.model.topic_groups import words_of_group
from dplda.model.topic_model import TopicModel
from dplda.text.word_files import read_mapping

_LONGEST_NAME, _LONGEST_SENTENCE = 60, 240  # characters
_NAMES = {"topic_names", "topic_sentences", "group_labels", "made_names"}  # the facts that are a version of the names
_SINCE = "since"  # the day on which a version of the names was set, as a version records it
_VERSIONS = "names.json"  # the other versions, in the folder of the model
SENT_WORDS = 15  # words of a topic that a label server is sent
_DISTINCTIVE_WORDS, _DISTINCTIVE_WEIGHT = 2, 0.3  # words of a name, and the weight of their probability in relevance
_HINT = "Write a line for each topic, such as 3: Heating, or 3: {name: Heating, sentence: Broken boilers.}"
_TASK = (
    "You name topics of a topic model. You are given the words of a topic or of a group of topics, most characteristic "
    "first. Answer with "
    'one JSON object and nothing else: {"name": "one to four words", "sentence": "one short sentence about the topic"}.'
)


@dataclass(frozen=True)
class Label:
    """The name of a topic or of a group of topics."""

    name: str
    sentence: str = ""
    """A sentence about it; may be empty."""


Labels = Mapping[tuple[int, ...], Label]  # of topics, (3,), and of groups of topics, (3, 7)


def add_labels(model: TopicModel, labels: Labels, *, by_person: bool = True) -> TopicModel:
    """Return `model` with the `labels` of some topics and groups of topics; its other labels stay.

    `by_person` tells whether a person gave them, so that later labels of another kind do not take their place.
    """
    names, sentences = dict(model.topic_names), dict(model.topic_sentences)
    groups = dict(group_labels(model))
    made = {*(model.facts.made_names or ())}
    made = made - labels.keys() if by_person else made | labels.keys()
    for topics, label in labels.items():
        if len(topics) == 1:
            names[topics[0]], sentences[topics[0]] = label.name, label.sentence
        else:
            groups[topics] = label
    every = range(len(model.topics))
    facts = replace(
        model.facts,
        topic_names=tuple(names.get(topic, "") for topic in every),
        topic_sentences=tuple(sentences.get(topic, "") for topic in every),
        group_labels=tuple(
            GroupLabel(topics=group, name=label.name, sentence=label.sentence)
            for group, label in sorted(groups.items())
        ),
        made_names=tuple(sorted(made)),
    )
    return replace(model, facts=facts)


def given_by_person(model: TopicModel) -> list[tuple[int, ...]]:
    """List the topics and groups of topics of `model` whose names a person gave, by seed words or in a file."""
    named = [*((topic,) for topic in model.topic_names), *group_labels(model)]
    return sorted(topics for topics in named if topics not in (model.facts.made_names or ()))


def save_names(model: TopicModel, folder: Path) -> None:
    """Save the names of `model` in its `folder`, and keep those that the folder has now, for `earlier_names`.

    Raises `InputError` if that fails.
    """
    before = topic_model.load(folder)
    _write(folder, model, [*_versions(folder), _names_of(before, folder)])


def earlier_names(folder: Path) -> TopicModel:
    """Return the model in `folder` with the names that it had before the present ones, and save these names.

    No names are lost: the present names become the oldest version, so that calls in a row go through all versions and
    return to these. Raises `InputError` if there is no earlier version.
    """
    model, versions = topic_model.load(folder), _versions(folder)
    if not versions:
        raise InputError("The topics of this run have had no other names. Name them: dplda label RUN --labels FILE")
    restored = replace(model, facts=replace(model.facts, **{fact: versions[-1][fact] for fact in _NAMES}))
    restored.facts.check_topics(len(model.topics))
    _write(folder, restored, [_names_of(model, folder), *versions[:-1]])
    return restored


def earlier_day(folder: Path) -> date | None:
    """Return the day on which the names to which `earlier_names` returns were set; None if unknown."""
    versions = _versions(folder)
    try:
        return date.fromisoformat(versions[-1][_SINCE])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _names_of(model: TopicModel, folder: Path) -> dict[str, Any]:
    """Return the facts of the `model` in `folder` that are names, as plain JSON, and the day when they were set."""
    recorded = model.facts.to_json()
    day = date.fromtimestamp((folder / topic_model.TEXT_FILE).stat().st_mtime).isoformat()
    return {_SINCE: day, **{fact: recorded.get(fact) for fact in _NAMES}}


def _versions(folder: Path) -> list[dict[str, Any]]:
    """Read the other versions of the names of the model in `folder`, latest last."""
    path = folder / _VERSIONS
    try:
        versions = json.loads(path.read_bytes()) if path.exists() else []
        if all(version.keys() - {_SINCE} == _NAMES for version in versions):
            return list(versions)
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        pass
    raise InputError(f"{path}, the earlier names of these topics, cannot be read. Restore it, or remove it.")


def _write(folder: Path, model: TopicModel, versions: list[dict[str, Any]]) -> None:
    """Save the names of `model`, after the other `versions` of its names, so that a failure loses none."""
    path = folder / _VERSIONS
    try:
        topic_model.write_atomically(path, json.dumps(versions, indent=1).encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
    topic_model.save_facts(model, folder)


def group_labels(model: TopicModel) -> Labels:
    """Return the labels given to groups of topics of `model`; each group is in ascending order."""
    found: dict[tuple[int, ...], Label] = {}
    for each in model.facts.group_labels or ():
        # Somebody else may have written the file: make it one line without unsafe characters.
        label = _label({"name": each.name, "sentence": each.sentence})
        if label is not None:
            found[tuple(sorted(each.topics))] = label
    return found


def from_words(model: TopicModel, groups: Sequence[tuple[int, ...]] = ()) -> dict[tuple[int, ...], Label]:
    """Name topics and `groups` by their most distinctive words.

    A word is in the name of one topic only; names of groups may repeat it.
    """
    taken, labels = set[str](), dict[tuple[int, ...], Label]()
    for topic, ranked in enumerate(model.relevant_words(4 * SENT_WORDS, weight=_DISTINCTIVE_WEIGHT)):
        words = [word for word, _ in ranked if word not in taken][:_DISTINCTIVE_WORDS]
        taken.update(words)
        if words:
            labels[(topic,)] = Label(", ".join(words))
    for group in groups:
        labels[group] = Label(", ".join(words_of_group(model, group, _DISTINCTIVE_WORDS)))
    return labels


def from_file(path: Path, n_topics: int) -> dict[tuple[int, ...], Label]:
    """Read labels from a YAML or JSON file that maps numbers of topics to names, or to a ``name`` and ``sentence``.

    Numbers with commas, ``3,7``, are a group of topics. Raises `InputError` for anything else, and for numbers that are
    not below `n_topics`.
    """
    labels = {}
    for numbers, given in read_mapping(path, _HINT).items():
        parts = [part.strip() for part in str(numbers).split(",")]
        topics = tuple(sorted({int(part) if part.isdecimal() else -1 for part in parts}))
        if not 0 <= topics[0] <= topics[-1] < n_topics:
            raise InputError(f"{path}: {str(numbers)!r} is no topic; they are 0 to {n_topics - 1}. {_HINT}")
        label = _label(given)
        if label is None:
            raise InputError(f"{path}: topic {numbers!s} has no name. {_HINT}")
        labels[topics] = label
    return labels


def from_server(server: ChatServer, words: Sequence[str]) -> Label | None:
    """Ask `server` for a label of a topic of released `words`; None if its answer contains no name.

    Raises `InputError` if the server does not answer.
    """
    try:
        answer = server.ask(_TASK, ", ".join(words[:SENT_WORDS]))
    except InputError as error:
        raise InputError(f"{error} Labels can also come from a file: --labels FILE.") from None
    found = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        return None if found is None else _label(json.loads(found[0]))
    except (ValueError, RecursionError):
        return None


def _label(given: Any) -> Label | None:
    """Read the label in `given`, a name or a mapping, as lines of printable characters; None without a name."""
    fields = given if isinstance(given, Mapping) else {"name": given}
    name, sentence = (
        one_line(text, longest) if isinstance(text := fields.get(field), str) else ""
        for field, longest in (("name", _LONGEST_NAME), ("sentence", _LONGEST_SENTENCE))
    )
    return Label(name, sentence) if name else None
