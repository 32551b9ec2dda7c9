"""Public texts that show what released topics are about, and the file beside a model that keeps them for reports."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from dplda.base.characters import one_line
from dplda.base.errors import InputError
from dplda.model.topic_model import TopicModel, write_atomically

FILE = "examples.json"
LONGEST = 400  # characters of a text that are kept
_LONGEST_SOURCE, _MOST_BYTES = 200, 1 << 24
_FORMAT, _FORMAT_VERSION = "dplda-examples", 1


@dataclass(frozen=True)
class Example:
    """The beginning of a text, in one line, and the share of its words that belongs to the topic."""

    text: str
    share: float
    id: str


@dataclass(frozen=True, repr=False)  # no repr: a traceback or a notebook that prints variables shows no text
class Examples:
    """Texts for each topic, by its number, the most typical first. A topic that no text is about has none."""

    topics: Mapping[int, tuple[Example, ...]]
    source: str
    """The name of the corpus that they are from."""
    texts: int = 0
    """The number of its texts that could be read."""
    unknown: int = 0
    """The number of those that have too few words that the model knows to be about any topic."""
    private: bool = False
    """Whether the corpus is private, so that they are for its holder's eyes only and cannot be saved."""
    left_out: str = field(default="", compare=False)
    """How many records could not be read, and why, in a sentence; empty if all could. As private as the corpus."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Local diagnostics (exact, not private, not for publication)."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, without the notes and what was left out."""
        listed = [{"topic": topic, "examples": [asdict(each) for each in found]} for topic, found in self.listed()]
        read = {"texts": self.texts, "too_few_known_words": self.unknown}
        return {"source": self.source, "public": not self.private, **read, "topics": listed}

    def __repr__(self) -> str:
        kind = "PRIVATE, not for publication" if self.private else "public"
        return f"Examples({kind}, of {self.source}, for {len(self.topics)} topics)"

    def listed(self) -> list[tuple[int, tuple[Example, ...]]]:
        """Return the topics by their number, each with its examples."""
        return sorted(self.topics.items())

    @classmethod
    def from_json(cls, record: Any, n_topics: int) -> Self:
        """Read the JSON of examples for a model of `n_topics` topics; whoever wrote it, texts become single lines.

        Raises `InputError` for anything else.
        """
        try:
            topics = {}
            for each in record["topics"]:
                texts = [
                    Example(one_line(e["text"], LONGEST), float(e["share"]), one_line(e["id"], LONGEST))
                    for e in each["examples"]
                ]
                topics[int(each["topic"])] = tuple(texts)
            source, private = one_line(record["source"], _LONGEST_SOURCE), record.get("public", True) is not True
            read = int(record.get("texts", 0)), int(record.get("too_few_known_words", 0))
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
            raise InputError("examples must be texts with a share and an id, by topic.") from None
        shares = [each.share for found in topics.values() for each in found]
        if not all(0 <= topic < n_topics for topic in topics) or not all(map(math.isfinite, shares)):
            raise InputError(f"examples must be of the topics 0 to {n_topics - 1}, with finite shares.")
        return cls(topics, source, *read, private=private)


def save(examples: Examples, model: TopicModel, folder: Path) -> Path:
    """Write public `examples` of `model` into its `folder`, in place of earlier ones; return the file.

    Raises `InputError` for examples of a private corpus, and if the file cannot be written.
    """
    if examples.private:
        raise InputError("examples of a private corpus are for its holder's eyes, and are never saved.")
    record = {"format": _FORMAT, "format_version": _FORMAT_VERSION, "run": model.facts.run, **examples.to_json()}
    path = folder / FILE
    try:
        write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}.") from None
    return path


def load(model: TopicModel, folder: Path) -> Examples | None:
    """Read the examples that were saved beside `model` in `folder`; None if there are none.

    Raises `InputError` for a file that is damaged or of another model.
    """
    path = folder / FILE
    if not os.path.isfile(path):
        return None
    again = "Delete it, or choose examples again with `dplda examples`."
    try:
        with path.open("rb") as file:
            record = json.loads(file.read(_MOST_BYTES))
        known = isinstance(record, dict) and record.get("format") == _FORMAT
        if not known or record.get("format_version") != _FORMAT_VERSION or record.get("run") != model.facts.run:
            raise InputError("they are not of this model, or of another version.")
        examples = Examples.from_json(record, len(model.topics))
        if examples.private:
            raise InputError("they are of a private corpus.")
        return examples
    except InputError as error:
        raise InputError(f"the examples in {path} cannot be used: {error} {again}") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"the examples in {path} cannot be read. {again}") from None
