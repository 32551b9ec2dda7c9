"""An author's wording of a report: title, names of topics and runs, hidden words. It changes the page only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dplda.base.errors import InputError
from dplda.model import TopicModel
from dplda.model.examples import Examples
from dplda.report.pictures import shown
from dplda.runs.released_table import ReleasedTable
from dplda.text.reading_options import JOINER

_CARD_WORDS = 10  # maximum number of words listed for a topic


DIVIDED = (
    "the known words of each document are divided among these topics, also those about something else, so that a share "
    "may be far larger than the part of the text that is about a topic"
)
"""What shares of prior topics are in tables, in words."""


def intervals_cover(tables: Iterable[ReleasedTable]) -> str:
    """Say what the intervals of `tables` cover."""
    if any(table.sampling for table in tables):
        return (
            "Intervals of shares, and of their differences, cover the noise and the error of a sample: they are about "
            "a larger population that these documents stand for. Intervals of numbers cover the noise alone: they are "
            "about these documents."
        )
    return "Intervals cover the noise, and not the error of a sample."


@dataclass(frozen=True)
class Wording:
    """The user's text for a report. It changes how released numbers are shown, not the numbers: it costs no budget.

    `title` replaces the page's title; `names` maps numbers of topics to names; `hidden` are words that the page leaves
    out, with the phrases that contain them; `runs` maps numbers of runs, from 1 in the order of the page, to names.
    """

    title: str = ""
    names: Mapping[int, str] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    runs: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `InputError` for wording of a wrong type."""
        if not isinstance(self.title, str):
            raise InputError(f"title must be text, got {type(self.title).__name__}.")
        for name, example in (("names", "{0: 'Heating'}"), ("runs", "{1: 'Spring'}")):
            given: object = getattr(self, name)
            if not isinstance(given, Mapping) or not all(
                isinstance(key, int) and isinstance(text, str) for key, text in given.items()
            ):
                raise InputError(f"{name} must map numbers to text, such as {name}={example}.")
        words: object = self.hidden
        if (
            isinstance(words, str)
            or not isinstance(words, Sequence)
            or not all(isinstance(word, str) and word.strip() for word in words)
        ):
            raise InputError("hidden must be a list of words, such as hidden=['smith', 'jones'].")


@dataclass(frozen=True)
class ShownTopics:
    """The topics of a run as its page shows them.

    `words` contains the `TopicModel.relevant_words` of each topic, shown or not, with their probabilities. `names`
    contains the names of guided topics and those that the user gave.
    """

    words: Sequence[Sequence[tuple[str, float]]]
    names: Mapping[int, str]
    examples: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Public texts about each topic, if `dplda examples` chose some."""
    examples_from: str = ""
    """The name of the public corpus that they are from."""
    hidden: Sequence[str] = ()
    """The words that the page leaves out."""

    def few(self, topic: int, n: int = 3) -> str:
        """Return the first `n` words of `topic`, separated by commas."""
        return ", ".join(word for word, _ in self.words[topic][:n])

    def title(self, topic: int, n: int = 3) -> str:
        """Return the name of `topic`, or its first `n` words if it has no name."""
        return self.names.get(topic) or self.few(topic, n)


def shown_topics(
    models: Sequence[TopicModel],
    wording: Wording,
    examples: Sequence[Examples | None] = (),
    others: Iterable[str] = (),
) -> list[ShownTopics]:
    """Return the topics of each of `models`, and their public `examples` if there are any, under `wording`.

    An example with a hidden word is left out. `others` are further words of the page. Raises `InputError` if the
    wording does not fit, and for examples of a private corpus.
    """
    given = list(examples) or [None] * len(models)
    if any(each is not None and each.private for each in given):
        raise InputError("examples of a private corpus are for its holder's eyes, and are on no page.")
    texts = [
        {} if each is None else {topic: [e.text for e in found] for topic, found in each.listed()} for each in given
    ]
    frequent = [word for model in models for word in model.facts.frequent_words or ()]
    in_examples = [text for each in texts for found in each.values() for text in found]
    _check_names(models, wording)
    _check_hidden(models, wording, [*others, *frequent], in_examples)
    return [
        ShownTopics(
            _words(model, wording.hidden),
            {**model.topic_names, **wording.names},
            {topic: [text for text in found if not _mentions(text, wording.hidden)] for topic, found in each.items()},
            "" if source is None else source.source,
            wording.hidden,
        )
        for model, each, source in zip(models, texts, given, strict=True)
    ]


def _mentions(text: str, hidden: Sequence[str]) -> bool:
    """Whether one of the `hidden` words is in `text`, also inside another word: *David* in *Davids*."""
    plain = " ".join(text.casefold().split())
    return any(word.casefold().replace(JOINER, " ") in plain for word in hidden)


def _words(model: TopicModel, hidden: Sequence[str]) -> list[list[tuple[str, float]]]:
    concealed = {word for word in model.vocabulary if hidden and is_hidden(word, hidden)}
    ranked = model.relevant_words(len(model.vocabulary))
    return [[pair for pair in words if pair[0] not in concealed][:_CARD_WORDS] for words in ranked]


def is_hidden(word: str, hidden: Sequence[str]) -> bool:
    """Whether `word` is one of those `hidden`, or is a phrase with such a word in it."""
    padded = f"{JOINER}{word.casefold()}{JOINER}"
    return any(f"{JOINER}{other.casefold()}{JOINER}" in padded for other in hidden)


def _check_names(models: Sequence[TopicModel], wording: Wording) -> None:
    if not wording.names:
        return
    if len(models) != 1:
        raise InputError("names of topics need a report of one run. Report each run by itself to name its topics.")
    listed = models[0].listed_topics
    for topic, name in wording.names.items():
        if not 0 <= topic < len(models[0].topics):
            last = len(models[0].topics) - 1
            raise InputError(f"there is no topic {topic} to name: the topics of this run are 0 to {last}.")
        if topic not in listed:
            raise InputError(f"topic {topic} cannot be named: it is called noise and not shown.")
        if not name.strip():
            raise InputError(f"the name of topic {topic} is empty.")


def _check_hidden(models: Sequence[TopicModel], wording: Wording, further: Sequence[str], texts: Sequence[str]) -> None:
    """Raise `InputError` for a hidden word that the page would not show anyway, which is probably a typo."""
    listed = [model.listed_topics for model in models]
    for word in wording.hidden:
        others = [other for other in wording.hidden if other.casefold() != word.casefold()]
        words = ((_words(model, others), topics) for model, topics in zip(models, listed, strict=True))
        left = [each for ranked, topics in words for topic in topics for each, _ in ranked[topic]]
        in_examples = any(_mentions(text, [word]) for text in texts)
        if not in_examples and not any(is_hidden(each, [word]) for each in (*left, *further)):
            raise InputError(
                f"{shown(word)!r} cannot be hidden: it is not on this page. Give a word as the page shows it."
            )
