"""The first part of a run: its size, its words (public, the prior's, or chosen privately), and the test of a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplda.accounting.events import Event
from dplda.config import FitSettings
from dplda.errors import UnsupportedByData
from dplda.lda.recovery import frequency_limit, modelled_words
from dplda.mechanisms.gate import Gate, WordFrequencies
from dplda.placements.prior_start import explains
from dplda.planning.forecast import require_documents

_COMMON = 0.5  # share of the documents from which on a word tells their language


@dataclass(frozen=True)
class RunWords:
    """The noisy number of units, the words, released facts about them, and whether the prior explains the documents."""

    documents: float
    words: WordFrequencies
    facts: Mapping[str, Any]
    from_prior: bool = False


def find_words(
    gate: Gate, settings: FitSettings, events: Sequence[Event], reading: Mapping[str, Any], *, unit: str, private: bool
) -> RunWords:
    """Release the size and the words of a run of `events`; with a prior, test it first on its own words.

    `reading` says how text became words, and `unit` names the privacy unit. Raises `UnsupportedByData` if the run is
    hopeless, unless it is not `private`.
    """
    prior, public = settings.prior, settings.vocabulary.words
    if public is not None:
        gate.use_words(public)
    documents = gate.size()
    if prior is not None and public is None:
        gate.use_words(prior.words)
    words = None if prior is None and public is None else gate.word_frequencies()
    from_prior = prior is not None and words is not None and explains(gate, words, prior, settings)
    facts = {} if prior is None else {"prior_used": from_prior}
    if from_prior and words is not None:
        return RunWords(documents, words, facts, from_prior=True)
    if public is not None and words is not None:
        gate.use_words(public)
        return RunWords(documents, words, facts)
    try:
        return RunWords(documents, *_choose_words(gate, settings, events, reading, documents, facts, unit, private))
    except UnsupportedByData as error:
        if prior is None:
            raise
        raise UnsupportedByData(f"the prior does not explain the documents, and without it {error}") from None


def _choose_words(
    gate: Gate,
    settings: FitSettings,
    events: Sequence[Event],
    reading: Mapping[str, Any],
    documents: float,
    facts: Mapping[str, Any],
    unit: str,
    private: bool,
) -> tuple[WordFrequencies, dict[str, Any]]:
    """Words that are chosen privately, and released facts about them with the earlier `facts`."""
    if private:
        require_documents(settings, events, documents, unit)
    released = gate.choose_words()
    _refuse_other_language(released, reading)
    modelled = _with_seed_words(modelled_words(released, settings), released, settings)
    gate.use_words(modelled.words)
    limit = frequency_limit(released.frequencies, settings)
    frequent = [word for word, share in zip(released.words, released.frequencies, strict=True) if share > limit]
    return modelled, {**facts, "frequency_limit": limit, "frequent_words": frequent}


def _with_seed_words(modelled: WordFrequencies, released: WordFrequencies, settings: FitSettings) -> WordFrequencies:
    """The `modelled` words and the public seed words that were not released; their frequency is taken as the noise."""
    more = [word for word in settings.model.guiding_words if word not in set(released.words)]
    frequencies = np.concatenate([modelled.frequencies, np.full(len(more), released.std)])
    return WordFrequencies((*modelled.words, *more), frequencies, modelled.std)


def _refuse_other_language(released: WordFrequencies, reading: Mapping[str, Any]) -> None:
    """Raise `UnsupportedByData` if the chosen words show that most documents are in another language."""
    language = reading.get("language")
    if language is None:
        return
    from dplda.tokenize.language_guess import mistaken_language

    common = [word for word, share in zip(released.words, released.frequencies, strict=True) if share > _COMMON]
    other = mistaken_language(common, language)
    if other is not None:
        raise UnsupportedByData(
            f"the words in most documents seem to be stop words of language {other!r}, and the documents were read as "
            f"{language!r}. Read them with --language {other} (`dplda check` guesses the language without charge)."
        )
