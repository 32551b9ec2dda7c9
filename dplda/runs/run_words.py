"""The first part of a run: its size, its words (public, of the prior, or private), and the test of a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplda.base.errors import UnsupportedByData
from dplda.budget.events import Event
from dplda.learning.placements.prior_start import explains
from dplda.learning.settings import FitSettings
from dplda.learning.vocabulary_size import frequency_limit, modelled_words
from dplda.private.gate import Gate, WordFrequencies
from dplda.runs.required_budget import require_documents

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
        """Whether the run has a prior that explains the documents (the test `prior_start.explains`)."""
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
