"""The facts of a run that its model holds: public settings and released numbers, each with a type.

`model.json` holds them as its ``parameters``, under the names of the fields. Types are checked when facts are made,
so that a file which somebody else wrote is refused when it is loaded, and nobody has to check them later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from dplda.base.errors import InputError
from dplda.text.reading_options import READING_FACTS

Verdict = Literal["clear", "weak", "noise"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
CLEAR_FROM, NOISE_UNTIL = 0.6, 0.05  # probabilities that decide on a verdict
_LIMITS = f"clear from {CLEAR_FROM:.0%}, noise up to {NOISE_UNTIL:.0%}, before rounding"
_ABOUT_GIVEN = (
    "A topic marked as given was made of seed words and prior topics, and is there whatever the texts contain. Its "
    "verdict says only whether its share stands out from the noise, and a small share may be of other subjects that "
    "use some of its words."
)
USEFUL = 1 / 3  # least share of clear topics, of those of the run, from which on its topics are called useful
PER_TOPIC = ("verdicts", "topic_names", "topic_sentences", "topic_probabilities", "word_probabilities", "given")
"""The facts that list a value for each topic, and that not every run has."""


@dataclass(frozen=True, kw_only=True)
class PriorFacts:
    """What a run records about its prior topics (`PriorTopics.to_json`)."""

    source: str
    """Where the topics come from: a public corpus, or the run that released them."""
    topics: int
    """The number of prior topics."""
    words: int
    """The number of their words."""
    declared_public: bool
    """Whether the topics, or those they were chosen from, are public only because the user declared so."""
    digest: str
    """A hash of the topics and their words."""
    guarantee: Mapping[str, Any] | None = None
    """The privacy statement, without events, of the run that released the topics."""

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, kw_only=True)
class GroupLabel:
    """A name given to a group of topics, and a sentence about it, which may be empty."""

    topics: tuple[int, ...]
    name: str
    sentence: str = ""

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """The public settings of a run, and what it released besides its topics. A field that is None was not recorded.

    Lists become tuples. Raises `InputError` for a value of another type, and for numbers that are not finite.
    """

    alpha: tuple[float, ...] = ()
    """The LDA prior of topic proportions: for each topic a nonnegative number, not all 0."""

    # What was run.
    run: str | None = None
    """The id of the run."""
    dataset: str | None = None
    """The name of the dataset whose budget was charged."""
    series: str | None = None
    """The series of batches that the documents belong to."""
    batch: str | None = None
    """The batch of the series."""
    software: Mapping[str, Any] | None = None
    """Versions and digests of what made the run (`dplda.base.software`)."""

    # How documents were read (`Tokenization.facts`); nothing for counts.
    language: str | None = None
    """The code of the language, such as ``en``."""
    lemmas: bool | None = None
    """Whether words are replaced by their lemmas."""
    tokenizer: str | None = None
    """What splits text into words, ``fast`` or ``spacy``."""
    stopwords: str | None = None
    """The number of further stop words, and a digest of them."""
    ngrams: int | None = None
    """The most words of a phrase, if phrases count as words."""

    # Settings (`FitSettings`).
    epsilon: float | None = None
    """The requested guarantee of the whole run, in nats."""
    delta: float | None = None
    """The requested guarantee's failure probability."""
    budget_share: float | None = None
    """The share of the run's mu^2 that its topics had, if it was asked other questions, too."""
    other_answers: tuple[str, ...] | None = None
    """What the run was asked besides topics, in words."""
    adjacency: str | None = None
    """How neighbouring corpora differ, ``add-remove`` or ``replace``."""
    simulate_seed: int | None = None
    """The seed of simulated noise, for a run that is not private."""
    topics: int | Literal["auto"] | None = None
    """The number of topics that was asked for."""
    alpha0: float | None = None
    """The sum of the LDA prior's parameters."""
    placement: str | None = None
    """Where noise was added."""
    calibration: str | None = None
    """``sound``, or ``published`` (the noise that DeCarolis et al. 2020 print)."""
    split: Mapping[str, float] | None = None
    """The share of the budget of each edge, where it was given."""
    seed_words: Mapping[str, tuple[str, ...]] | None = None
    """The words that guided topics, by the topics' names."""
    unseen_seeds: tuple[str, ...] | None = None
    """Those of these names that guided none, since their words did not stand out from the noise."""
    vocabulary: Literal["private", "public"] | None = None
    """Whether the words were chosen privately, or given as a public list."""
    words: Literal["listed", "private"] | None = None
    """How they were chosen: compared with a public list of the language, or above a threshold alone."""
    max_vocabulary: int | None = None
    """The most words that are chosen privately."""
    max_document_frequency: float | None = None
    """The largest share of the documents that may contain a word that is chosen privately, where it was given."""
    prior: PriorFacts | None = None
    """The topics that the run could start from."""
    prior_cache: str | None = None
    """The name under which prior topics of a public corpus are kept."""

    # Released numbers.
    documents: int | None = None
    """The noisy number of units, or a lower bound on it."""
    frequency_limit: float | None = None
    """The document frequency above which released words were left out."""
    frequent_words: tuple[str, ...] | None = None
    """The released words above this limit."""
    supported_topics: int | None = None
    """The number of eigenvalues above the noise."""
    core_eigenvalues: tuple[float, ...] | None = None
    """The eigenvalues of the noisy second moment."""
    core_noise_level: float | None = None
    """The expected spectral norm of its noise."""
    published: Mapping[str, Mapping[str, float]] | None = None
    """The noise on each edge, for the published calibration."""
    learned_from: str | None = None
    """What topics were learned from, if not from moments: ``pairs of words``."""
    prior_used: bool | None = None
    """Whether the prior explains the documents, so that the topics are some of its topics."""
    prior_share: float | None = None
    """Which part of the words that the documents share with the prior falls to the topics that were chosen."""
    share_std: float | None = None
    """The standard deviation of the noise of a topic's prevalence, for a batch of a series."""
    new_topics: tuple[int, ...] | None = None
    """The topics of a batch that the batch before it did not have."""
    faded_topics: tuple[int, ...] | None = None
    """The topics of the series about which too little of the batch is to tell from noise."""

    # For each topic (`PER_TOPIC`).
    verdicts: tuple[Verdict, ...] | None = None
    """How probable it is that the topic is real (`dplda.learning.verdicts`)."""
    topic_probabilities: tuple[float | None, ...] | None = None
    """The probability that an ordinary fit, without noise and with the 2,000 most frequent words, has the topic."""
    given: tuple[bool, ...] | None = None
    """Whether the topic is guided, so that it was not chosen, of a run that chose the others among prior topics."""
    word_probabilities: tuple[Mapping[str, float], ...] | None = None
    """The first ten words, each with the probability that it would be among them without noise."""
    topic_names: tuple[str, ...] | None = None
    """The name of the topic, from seed words or `dplda label`; may be empty."""
    topic_sentences: tuple[str, ...] | None = None
    """A sentence about the topic; may be empty."""

    # What was done with the topics later.
    merged: tuple[tuple[int, ...], ...] | None = None
    """The topics of the run that each topic contains, if some were merged by hand."""
    group_labels: tuple[GroupLabel, ...] | None = None
    """Names of groups of topics."""
    made_names: tuple[tuple[int, ...], ...] | None = None
    """The topics, (3,), and groups of topics, (3, 7), whose names are made of words or come from a server. A person
    gave the other names."""

    def __post_init__(self) -> None:
        _check_types(self)
        words = (chance for chances in self.word_probabilities or () for chance in chances.values())
        topics = (chance for chance in self.topic_probabilities or () if chance is not None)
        if not all(0 <= chance <= 1 for chance in (*topics, *words)):
            raise InputError("the probabilities of topics and their words must be from 0 to 1.")

    @property
    def about_verdicts(self) -> str:
        """What is to be said of verdicts besides their meaning: of percentages, and of given and merged topics."""
        told = []
        if any(chance is not None for chance in self.topic_probabilities or ()):
            told.append(f"A percentage is the probability that it would: {_LIMITS}.")
        if self.n_given:
            told.append(_ABOUT_GIVEN)
        else:
            told += self._about_seeds()
        judged = zip(self.merged or (), self.verdicts or (), strict=False)
        if any(len(part) > 1 and verdict == "weak" for part, verdict in judged):
            told.append(
                "Topics merged by hand count as weak: nothing tells whether an ordinary fit would find the mixture."
            )
        return " ".join(told)

    def _about_seeds(self) -> list[str]:
        """Say what the names of topics that seed words guided mean, and which of these words guided none."""
        unseen = self.unseen_seeds or ()
        used, told = [name for name in self.seed_words or {} if name not in unseen], []
        if used:
            told.append(
                f"Seed words drew topics to names that were given ({', '.join(used)}): such a topic may be of a wider "
                "subject than its name, of a part of it while other topics have the rest, or of another subject that "
                "uses some of its words, and its verdict does not say otherwise. Look at its other words, and count "
                "documents with words of the subject to learn how common it is."
            )
        return [*told, self.about_unseen_seeds] if unseen else told

    @property
    def about_unseen_seeds(self) -> str:
        """Say which seed words guided no topic, and why."""
        return (
            f"The seed words of {', '.join(self.unseen_seeds or ())} guided no topic: in these texts, they are too "
            "rare to be told from the noise, if they occur at all."
        )

    @property
    def n_given(self) -> int:
        """The number of guided topics, which were `given` and not chosen."""
        return sum(self.given or ())

    @property
    def reading(self) -> dict[str, Any]:
        """How documents were read, as the recorded facts among `READING_FACTS`; empty for counts."""
        return {name: value for name in READING_FACTS if (value := getattr(self, name)) is not None}

    def check_topics(self, n_topics: int) -> None:
        """Raise `InputError` unless `alpha` and the facts of `PER_TOPIC` have a value for each of `n_topics` topics."""
        if len(self.alpha) != n_topics:
            raise InputError(f"alpha must be a list of {n_topics} numbers.")
        if not all(a >= 0 for a in self.alpha) or not sum(self.alpha) > 0:
            raise InputError("alpha must hold nonnegative, finite numbers, not all 0.")
        for name in (*PER_TOPIC, "merged"):
            values = getattr(self, name)
            if values is not None and len(values) != n_topics:
                raise InputError(f"{name} must have a value for each of the {n_topics} topics.")

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read the ``parameters`` of a `model.json`. Raises `InputError` for unknown names and wrong types."""
        known = {field.name for field in fields(cls)}
        if not known.issuperset(record):
            raise InputError("the parameters of the run have an unknown name.")
        return cls(**record)

    @property
    def has_words_of_series(self) -> bool:
        """Whether words that earlier batches of a series chose privately may be among its words."""
        return self.faded_topics is not None and self.vocabulary != "public"

    def to_json(self) -> dict[str, Any]:
        """Return the facts that were recorded, as plain JSON."""
        recorded: dict[str, Any] = _plain(self)
        return recorded


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {name: _plain(each) for name, each in found.items() if each is not None}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _check_types(record: Any) -> None:
    """Give each field of `record` a value of its declared type. Raises `InputError` if one has another type."""
    for name, kind in _TYPES[type(record)].items():
        try:
            value = _typed(getattr(record, name), kind)
        except (TypeError, OverflowError):
            raise InputError(f"{name} is of the wrong type.") from None
        object.__setattr__(record, name, value)


_TYPES = {record: get_type_hints(record) for record in (PriorFacts, GroupLabel, RunFacts)}


def _typed(value: Any, kind: Any) -> Any:
    """Convert `value`, as JSON holds it, to the type `kind`. Raises `TypeError` if it is of another type."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        for part in parts:
            with suppress(TypeError):
                return _typed(value, part)
    elif origin is Literal and value in parts:
        return value
    elif origin is tuple and isinstance(value, list | tuple):
        return tuple(_typed(each, parts[0]) for each in value)
    elif origin is Mapping and isinstance(value, Mapping):
        return {_typed(key, parts[0]): _typed(each, parts[1]) for key, each in value.items()}
    elif is_dataclass(kind):
        if isinstance(value, Mapping):
            return kind(**value)  # type: ignore[operator]
        if isinstance(value, kind):  # type: ignore[arg-type]
            return value
    elif origin is None and not (isinstance(value, bool) and kind is not bool):
        if kind is float and isinstance(value, int | float) and math.isfinite(value):
            return value
        if kind is not float and isinstance(value, kind):
            return value
    raise TypeError
