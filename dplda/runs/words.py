"""The words of a run: which public words its documents can contain, and how a run finds its words.

A word that the tokenizer of the documents never finds adds noise and no topic. Such words of a word list, of seed words
or of a prior follow from public settings alone, so they are left out before anything is reserved or read. Without a
tokenization, as for counts, nothing is known, and all words stay as they are.

`find_words` is the first part of every run: it releases the number of units and the words, and tests the prior.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplda.base.errors import DpldaWarning, InputError, UnsupportedByData
from dplda.budget.events import Event
from dplda.learning.model_size import frequency_limit, modelled_words
from dplda.learning.placements.default import explains
from dplda.learning.settings import FitSettings
from dplda.model.prior_topics import PriorTopics
from dplda.private import Gate, WordFrequencies
from dplda.runs.corpus import Corpus
from dplda.runs.enough import require_documents
from dplda.text.reading_options import Tokenization
from dplda.text.tokenizers import ListedWords, match_words

_SHOWN, _LONGEST_SHOWN = 5, 40  # words of a message, and characters of each
_COMMON = 0.5  # least share of the documents at which a word indicates their language
_MOST_OF_PRIOR = 0.9  # a prior with a smaller share of usable words was probably read with other settings


def usable_words(tokenization: Tokenization | None, listed: Sequence[str], needed: int) -> tuple[str, ...]:
    """Return the words of the public list `listed` that documents can contain, as they are spelled there.

    Warns of the others, and raises `InputError` if fewer than `needed` are left.
    """
    matched = _match(tokenization, listed)
    if matched is None:
        return tuple(listed)
    found = _describe(matched, "words of the word list")
    if len(matched.words) < needed:
        raise InputError(
            f"{found} At least {needed:,} are needed, two for each topic: give other words, or ask for fewer topics."
        )
    if matched.reasons:
        _warn(f"{found} They are left out.")
    return matched.words


def usable_seed_words(
    tokenization: Tokenization | None, seed_words: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the seed words that documents can contain, as they are spelled there.

    Warns of the others, and raises `InputError` if a topic has no other words.
    """
    usable = dict[str, tuple[str, ...]]()
    for topic, words in seed_words.items():
        matched = _match(tokenization, words)
        usable[topic] = tuple(words) if matched is None else matched.words
        if matched is None or not matched.reasons:
            continue
        found = _describe(matched, f"seed words of topic {topic!r}")
        if not matched.found:
            raise InputError(f"{found} Give others, or leave the topic out.")
        _warn(f"{found} They are left out.")
    return usable


def warn_of_prior_words(tokenization: Tokenization | None, prior: PriorTopics) -> None:
    """Warn if documents cannot contain many of the words of `prior`."""
    matched = _match(tokenization, prior.words)
    if matched is not None and len(matched.found) < _MOST_OF_PRIOR * len(prior.words):
        _warn(f"{_describe(matched, 'words of the prior')} Was the text of the prior read with other settings?")


def _match(tokenization: Tokenization | None, words: Sequence[str]) -> ListedWords | None:
    """Find which of `words` the tokenizer finds; None if unknown, or if a store's tokenizer is not installed."""
    try:
        return None if tokenization is None else match_words(words, tokenization)
    except InputError:
        return None


def _describe(matched: ListedWords, words: str) -> str:
    """Return how many of these `words` documents can contain, and some of the others, each with its reason."""
    n_found, n_others = len(matched.found), len(matched.reasons)
    told = f"{n_found:,} of the {n_found + n_others:,} {words} can occur in the documents as they are read."
    if len(matched.words) < n_found:
        told += f" They are {len(matched.words):,} different words, because capital letters are read as small ones."
    shown = list(matched.reasons.items())[:_SHOWN]
    examples = ", ".join(f"{word[:_LONGEST_SHOWN]!r} ({reason[:_LONGEST_SHOWN]})" for word, reason in shown)
    more = f" and {n_others - len(shown):,} more" if n_others > len(shown) else ""
    return f"{told} The others: {examples}{more}." if shown else told


def _warn(message: str) -> None:
    warnings.warn(message, DpldaWarning, stacklevel=6)  # where `fit` was called


@dataclass(frozen=True)
class RunWords:
    """What `find_words` released."""

    documents: float
    """The noisy number of units."""
    words: WordFrequencies
    """The words of the run, with their noisy document frequencies."""
    facts: Mapping[str, Any]
    """Released facts about the words and the prior, for the model."""

    @property
    def from_prior(self) -> bool:
        """Whether the run has a prior that explains the documents (the test `default.explains`)."""
        return bool(self.facts.get("prior_used", False))


def find_words(
    gate: Gate, settings: FitSettings, events: Sequence[Event], corpus: Corpus, *, private: bool
) -> RunWords:
    """Release the size and the words of a run of `events` on `corpus`, and test its prior.

    The prior is tested before any words are chosen, on its own words if no words are public. Of `corpus`, only public
    facts are used. `private` says whether the run protects anybody: then it ends if its documents are too few.

    Raises `UnsupportedByData` if the noisy size is too small to tell anything (`require_documents`; only for a private
    run that does not continue a series), if too few words are found, or if most documents are in another language.
    """
    prior, public = None if settings.continues_series else settings.prior, settings.vocabulary.words

    def require(*, of_prior: bool = False) -> None:
        if private and not settings.continues_series:
            require_documents(settings, events, documents, corpus.unit, of_prior=of_prior)

    def choose() -> tuple[WordFrequencies, dict[str, Any]]:
        return _choose_words(gate, settings, corpus.reading.get("language"))

    if public is not None:
        gate.use_words(public)
    documents = gate.size()
    if prior is None:
        require()
        found = choose() if public is None else (gate.word_frequencies(), {})
        return RunWords(documents, *found)

    require(of_prior=True)
    if public is None:
        gate.use_words(prior.words)
    words = gate.word_frequencies()
    facts = {"prior_used": explains(gate, words, prior, settings)}
    if public is not None:
        gate.use_words(public)
    if facts["prior_used"]:
        return RunWords(documents, words, facts)

    try:
        require()
        if public is not None:
            return RunWords(documents, words, facts)
        chosen, more = choose()
    except UnsupportedByData as error:
        raise UnsupportedByData(f"the prior does not explain the documents, and without it {error}") from None
    return RunWords(documents, chosen, facts | more)


def _choose_words(gate: Gate, settings: FitSettings, language: str | None) -> tuple[WordFrequencies, dict[str, Any]]:
    """Choose words privately; return them with released facts: the limit on document frequency, and what is above it.

    Public seed words that were not released are added; their frequency is set to the standard deviation of the noise of
    a frequency. Raises `UnsupportedByData` if the words in most documents are stop words of another language than
    `language`.
    """
    released = gate.choose_words()
    shares = dict(zip(released.words, released.frequencies, strict=True))
    if language is not None:
        from dplda.text.language_guess import mistaken_language

        other = mistaken_language([word for word, share in shares.items() if share > _COMMON], language)
        if other is not None:
            raise UnsupportedByData(
                f"the words in most documents seem to be stop words of language {other!r}, and the documents were read "
                f"as {language!r}. Read them with --language {other} (`dplda check` guesses the language without "
                "charge)."
            )
    kept = modelled_words(released, settings)
    seeds = [word for word in settings.model.guiding_words if word not in shares]
    frequencies = np.concatenate([kept.frequencies, np.full(len(seeds), released.std)])
    modelled = WordFrequencies((*kept.words, *seeds), frequencies, kept.std)
    gate.use_words(modelled.words)
    limit = frequency_limit(released.frequencies, settings)
    frequent = [word for word, share in shares.items() if share > limit]
    return modelled, {"frequency_limit": limit, "frequent_words": frequent}
