"""The public words of a run that its documents can contain: of a word list, of seed words, and of a prior.

A word that the tokenizer of the documents never finds adds noise and no topic. Such words follow from public settings
alone, so they are left out before anything is reserved or read. Without a tokenization, as for counts, nothing is
known, and all words stay as they are.


The first part of a run: its size, its words (public, of the prior, or private), and the test of a prior.

A requested run: its settings, checked, with the plan of its events and the place where it is recorded.

What a planned run would cost, before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dplda.base.config import ExecutionSettings, PrivacySettings
from dplda.base.errors import DpldaWarning, InputError, UnsupportedByData
from dplda.budget import Ledger, Quote
from dplda.budget.accountant import calibrate, exact_events
from dplda.budget.events import Event
from dplda.learning.model_size import frequency_limit, modelled_words, most_topics
from dplda.learning.placements import registry
from dplda.learning.placements.default import PRIOR_STATISTICS, explains
from dplda.learning.placements.registry import NO_NOISE
from dplda.learning.settings import FitSettings, ModelSettings, VocabularySettings
from dplda.model.prior_topics import PriorTopics
from dplda.model.topic_model import TopicModel
from dplda.private.gate import Gate, WordFrequencies
from dplda.private.statistics import Statistic
from dplda.runs.corpus import Corpus
from dplda.runs.forecast import require_documents
from dplda.runs.recording import Planned
from dplda.runs.series import find_place
from dplda.text.reading_options import Tokenization
from dplda.text.tokenizers import ListedWords, match_words

_SHOWN, _LONGEST_SHOWN = 5, 40  # words of a message, and characters of each
_MOST_OF_PRIOR = 0.9  # a prior with a smaller share of usable words was probably read with other settings


def usable_words(tokenization: Tokenization | None, listed: Sequence[str], needed: int) -> tuple[str, ...]:
    """The words of the public list `listed` that documents can contain, as they are spelled there.

    Warns of the others, and raises `InputError` if fewer than `needed` are left.
    """
    matched = _matched(tokenization, listed)
    if matched is None:
        return tuple(listed)
    told = _told(matched, "words of the word list")
    if len(matched.words) < needed:
        raise InputError(
            f"{told} At least {needed:,} are needed, two for each topic: give other words, or ask for fewer topics."
        )
    if matched.reasons:
        _warn(f"{told} They are left out.")
    return matched.words


def usable_seed_words(
    tokenization: Tokenization | None, seed_words: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The seed words that documents can contain, as they are spelled there.

    Warns of the others, and raises `InputError` if a topic has no other words.
    """
    usable = dict[str, tuple[str, ...]]()
    for topic, words in seed_words.items():
        matched = _matched(tokenization, words)
        usable[topic] = tuple(words) if matched is None else matched.words
        if matched is None or not matched.reasons:
            continue
        told = _told(matched, f"seed words of topic {topic!r}")
        if not matched.found:
            raise InputError(f"{told} Give others, or leave the topic out.")
        _warn(f"{told} They are left out.")
    return usable


def warn_of_prior_words(tokenization: Tokenization | None, prior: PriorTopics) -> None:
    """Warn if documents cannot contain many of the words of `prior`."""
    matched = _matched(tokenization, prior.words)
    if matched is not None and len(matched.found) < _MOST_OF_PRIOR * len(prior.words):
        _warn(f"{_told(matched, 'words of the prior')} Was the text of the prior read with other settings?")


def _matched(tokenization: Tokenization | None, words: Sequence[str]) -> ListedWords | None:
    """Which of `words` the tokenizer finds; None if that is unknown, or if a store's tokenizer is not installed."""
    try:
        return None if tokenization is None else match_words(words, tokenization)
    except InputError:
        return None


def _told(matched: ListedWords, words: str) -> str:
    """How many of these `words` documents can contain, and some of the others, each with its reason."""
    n_found, n_others = len(matched.found), len(matched.reasons)
    told = f"{n_found:,} of the {n_found + n_others:,} {words} can occur in the documents as they are read."
    if len(matched.words) < n_found:
        told += f" They are {len(matched.words):,} different words, because capital letters are read as small ones."
    shown = list(matched.reasons.items())[:_SHOWN]
    examples = ", ".join(f"{word[:_LONGEST_SHOWN]!r} ({reason[:_LONGEST_SHOWN]})" for word, reason in shown)
    more = f" and {n_others - len(shown):,} more" if n_others > len(shown) else ""
    return f"{told} The others: {examples}{more}." if shown else told


def _warn(message: str) -> None:
    warnings.warn(message, DpldaWarning, stacklevel=5)  # where `fit` was called


_COMMON = 0.5  # share of the documents from which on a word indicates their language


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """Public facts of a run before its first query: its `settings` and its planned `events`.

    `reading` says how text became words, and `unit` is the privacy unit. `private` says whether the run protects
    anybody: then it ends if its documents are too few.
    """

    settings: FitSettings
    events: Sequence[Event]
    reading: Mapping[str, Any]
    unit: str
    private: bool


@dataclass(frozen=True)
class RunWords:
    """The noisy number of units, the words, and released facts about them and about the prior."""

    documents: float
    words: WordFrequencies
    facts: Mapping[str, Any]

    @property
    def from_prior(self) -> bool:
        """Whether the run has a prior that explains the documents (the test `default.explains`)."""
        return bool(self.facts.get("prior_used", False))


def find_words(gate: Gate, run: PublicFacts) -> RunWords:
    """Release the size and the words of `run`, and test its prior.

    The prior is tested before any words are chosen, on its own words if no words are public.

    Raises `UnsupportedByData` if the noisy size is too small to tell anything (`require_documents`; only for a private
    run that does not continue a series), if too few words are found, or if most documents are in another language.
    """
    settings = run.settings
    prior, public = None if settings.continues_series else settings.prior, settings.vocabulary.words
    if public is not None:
        gate.use_words(public)
    documents = gate.size()
    if prior is None:
        _require_documents(run, documents)
        found = _chosen_words(gate, run) if public is None else (gate.word_frequencies(), {})
        return RunWords(documents, *found)
    _require_documents(run, documents, of_prior=True)
    if public is None:
        gate.use_words(prior.words)
    words = gate.word_frequencies()
    facts = {"prior_used": explains(gate, words, prior, settings)}
    if public is not None:
        gate.use_words(public)
    if facts["prior_used"]:
        return RunWords(documents, words, facts)
    try:
        _require_documents(run, documents)
        if public is not None:
            return RunWords(documents, words, facts)
        chosen, more = _chosen_words(gate, run)
    except UnsupportedByData as error:
        raise UnsupportedByData(f"the prior does not explain the documents, and without it {error}") from None
    return RunWords(documents, chosen, facts | more)


def _require_documents(run: PublicFacts, documents: float, *, of_prior: bool = False) -> None:
    if run.private and not run.settings.continues_series:
        require_documents(run.settings, run.events, documents, run.unit, of_prior=of_prior)


def _chosen_words(gate: Gate, run: PublicFacts) -> tuple[WordFrequencies, dict[str, Any]]:
    """Words that are chosen privately, and released facts: the limit on document frequency, and the words above it."""
    settings = run.settings
    released = gate.choose_words()
    _refuse_other_language(released, run.reading)
    modelled = _with_seed_words(modelled_words(released, settings), released, settings)
    gate.use_words(modelled.words)
    limit = frequency_limit(released.frequencies, settings)
    frequent = [word for word, share in zip(released.words, released.frequencies, strict=True) if share > limit]
    return modelled, {"frequency_limit": limit, "frequent_words": frequent}


def _with_seed_words(modelled: WordFrequencies, released: WordFrequencies, settings: FitSettings) -> WordFrequencies:
    """The `modelled` words, and the public seed words that were not released.

    The frequency of such a seed word is set to the standard deviation of the noise of a frequency.
    """
    chosen = set(released.words)
    more = [word for word in settings.model.guiding_words if word not in chosen]
    frequencies = np.concatenate([modelled.frequencies, np.full(len(more), released.std)])
    return WordFrequencies((*modelled.words, *more), frequencies, modelled.std)


def _refuse_other_language(released: WordFrequencies, reading: Mapping[str, Any]) -> None:
    """Raise `UnsupportedByData` if the chosen words show that most documents are in another language."""
    language = reading.get("language")
    if language is None:
        return
    from dplda.text.language_guess import mistaken_language

    common = [word for word, share in zip(released.words, released.frequencies, strict=True) if share > _COMMON]
    other = mistaken_language(common, language)
    if other is not None:
        raise UnsupportedByData(
            f"the words in most documents seem to be stop words of language {other!r}, and the documents were read as "
            f"{language!r}. Read them with --language {other} (`dplda check` guesses the language without charge)."
        )


def requested(
    corpus: Corpus,
    ledger: Ledger | Literal[False],
    *,
    dataset: str | None,
    series: str | None,
    batch: str | None,
    prior: PriorTopics | None,
    topics: int | Literal["auto"],
    words: Sequence[str] | None,
    **named: Any,
) -> Request:
    """The run that `fit` is asked for; `named` are the other settings, as in `FitSettings.of`.

    Public words that the documents cannot contain are left out, with a warning (`dplda.runs.request`). Raises
    `InputError` for settings that are out of range or contradict each other.
    """
    public = words if words is not None else corpus.public_vocabulary
    seed_words = named.pop("seed_words", None)
    private = named.get("simulate_seed") is None and named.get("placement") != NO_NOISE
    place = find_place(corpus, ledger, dataset=dataset, series=series, batch=batch, prior=prior, private=private)
    n_topics = place.topics(topics)
    if public is not None:
        listed = VocabularySettings(words=tuple(public)).words or ()
        needed = 0 if named.get("placement") == NO_NOISE else ModelSettings(topics=n_topics).words_needed
        public = usable_words(corpus.tokenization, listed, needed)
    if place.prior is not None:
        warn_of_prior_words(corpus.tokenization, place.prior)
    settings = FitSettings.of(
        **named,
        topics=n_topics,
        words=public,
        seed_words=None if seed_words is None else usable_seed_words(corpus.tokenization, seed_words),
        prior=place.prior,
        series=place.series,
        batch=place.batch,
    )
    return Request(corpus, settings, place.dataset, place.earlier)


@dataclass(frozen=True)
class Request:
    """A requested run: its settings, its `placement` and its planned `events`. All of it is public.

    `earlier` is the model of the previous batch, if the run is on a batch of a series.
    """

    corpus: Corpus
    settings: FitSettings
    dataset: str
    earlier: TopicModel | None = None
    placement: registry.Placement = field(init=False)
    events: tuple[Event, ...] = field(init=False)

    def __post_init__(self) -> None:
        model, privacy = self.settings.model, self.settings.privacy
        if self.settings.prior is not None and self.settings.prior.places & self.corpus.places:
            raise InputError(
                "the prior was learned without noise from files of CORPUS: its topics would give them away. Give other "
                "text that is public as the prior."
            )
        placement = registry.find(model.placement, model.calibration)
        shares = placement.plan(self.settings)
        planned = exact_events(shares) if placement.reason else calibrate(shares, privacy.epsilon, privacy.delta)
        object.__setattr__(self, "placement", placement)
        object.__setattr__(self, "events", planned)

    @property
    def privacy(self) -> PrivacySettings:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.privacy

    @property
    def execution(self) -> ExecutionSettings:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.execution

    @property
    def batch(self) -> str | None:
        """See `dplda.runs.recording.Planned`."""
        return self.settings.batch

    @property
    def id_field(self) -> str | None:
        """See `dplda.runs.recording.Planned`."""
        return self.corpus.id_field

    @property
    def reason(self) -> str:
        """Why the run is not private; empty if it is private."""
        return self.placement.reason or self.privacy.reason

    @property
    def public_facts(self) -> PublicFacts:
        """The public facts of the run before its first query."""
        return PublicFacts(
            settings=self.settings,
            events=self.events,
            reading=self.corpus.reading,
            unit=self.corpus.unit,
            private=not self.placement.reason,
        )

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The statistics that the run may release."""
        return self.placement.statistics + (() if self.settings.prior is None else PRIOR_STATISTICS)

    @property
    def model_bytes(self) -> int:
        """An upper estimate of the model's size on disk."""
        vocabulary = self.settings.vocabulary
        words = vocabulary.max_vocabulary if vocabulary.words is None else len(vocabulary.words)
        return (1 << 20) + 16 * most_topics(self.settings) * (words + 1) + 400 * words

    def parameters(self) -> dict[str, Any]:
        """Public settings, for the ledger and the model."""
        return self.corpus.reading | self.settings.to_json() | {"dataset": self.dataset}


def quote(plan: Planned, ledger: Ledger) -> Quote:
    """The cost of the run of this `plan`. Raises `BudgetRefused` if the budget does not allow it."""
    return ledger.quote(
        dataset=plan.dataset,
        unit=plan.corpus.unit,
        adjacency=plan.privacy.adjacency,
        delta=plan.privacy.delta,
        plans=[plan.events],
        sound=not plan.reason,
        batch=plan.batch,
        id_field=plan.id_field,
        parameters=plan.parameters(),
    )
