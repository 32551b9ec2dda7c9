"""The words of a run: which public words its documents can contain, and how a run finds its words.

A word that the tokenizer of the documents never finds adds noise and no topic. Such words of a word list, of seed words
or of a prior follow from public settings alone, so they are left out before anything is reserved or read. Without a
tokenization, as for counts, nothing is known, and all words stay as they are.

`find_words` is the first part of every run: it releases the number of units and the words, and tests the prior.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dplda.base.errors import InputError, UnsupportedByData, warn
from dplda.budget.events import Event
from dplda.learning.model_size import USUAL_LIMIT, frequency_limit, modelled_words
from dplda.learning.placements import registry
from dplda.learning.placements.from_prior import explains
from dplda.learning.settings import LISTED, PRIVATE, FitSettings
from dplda.learning.word_choice import posterior_means
from dplda.model.prior_topics import PriorTopics
from dplda.private import Gate, WordFrequencies
from dplda.runs.corpus import Corpus
from dplda.runs.enough import require_documents
from dplda.text.reading_options import Tokenization
from dplda.text.tokenizers import ListedWords, match_words
from dplda.text.word_vectors import nearest_words
from dplda.text.wordlists import general_frequencies, has_list

_SHOWN, _LONGEST_SHOWN = 5, 40  # words of a message, and characters of each
_COMMON = 0.5  # least share of the documents at which a word indicates their language
_SURE = 5.0  # standard deviations of the noise at which a frequency is no noise
_MOST_LEFT_OUT = 0.5  # part of a document's words; if more are too frequent, no word is
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
        least = f"At least {needed:,} are needed, two for each topic: give other words, or ask for fewer topics."
        raise InputError(f"{found} {least if needed > 1 else 'Give other words.'}")
    if matched.reasons:
        warn(f"{found} They are left out.")
    return matched.words


def find_seed_words(
    tokenization: Tokenization | None,
    guided: Mapping[str, Sequence[str]],
    vectors: str | Path | None,
    among: Collection[str] | None,
) -> dict[str, tuple[str, ...]]:
    """Return the seed words of each topic that documents can contain, as they are spelled there.

    A topic of `guided` without words gets those nearest to its name in the file `vectors` that are `among` the words
    that the run can have (None: any). No document is read. Warns of given words that cannot be used, and raises
    `InputError` if a topic has no other words.
    """
    usable = dict[str, tuple[str, ...]]()
    for topic, words in guided.items():
        matched = _match(tokenization, words)
        usable[topic] = tuple(words) if matched is None else matched.words
        if matched is None or not matched.reasons:
            continue
        found = _describe(matched, f"seed words of topic {topic!r}")
        if not matched.found:
            raise InputError(f"{found} Give others, or leave the topic out.")
        warn(f"{found} They are left out.")

    def spellings(words: Sequence[str]) -> Mapping[str, str]:
        matched = _match(tokenization, words)
        return {word: word for word in words} if matched is None else matched.found

    names = [topic for topic, words in guided.items() if not words]
    if names and vectors is not None:
        given = [word for words in usable.values() for word in words]
        usable |= nearest_words(names, vectors, among=among, without=given, spellings=spellings)
    return usable


def warn_of_prior_words(tokenization: Tokenization | None, prior: PriorTopics) -> None:
    """Warn if documents cannot contain many of the words of `prior`."""
    matched = _match(tokenization, prior.words)
    if matched is not None and len(matched.found) < _MOST_OF_PRIOR * len(prior.words):
        warn(f"{_describe(matched, 'words of the prior')} Was the text of the prior read with other settings?")


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


def choose_way_of_words(corpus: Corpus, settings: FitSettings) -> FitSettings:
    """Return the `settings` with words chosen privately above a threshold, where no list of general text can help.

    There must be such a list for the language and the tokenizer of `corpus`, and the placement must be the default one,
    whose number of words follows from the documents. The batches of a series keep words above a threshold, which later
    batches find again. All of this is public.
    """
    if settings.vocabulary.words == PRIVATE:
        return settings
    helps = registry.find(settings.model.placement).compares_words and settings.series is None
    if helps and corpus.tokenization is not None and has_list(corpus.tokenization.language):
        with suppress(InputError):  # the tokenizer of a store is not installed
            general_frequencies(corpus.tokenization)
            return settings
    return replace(settings, vocabulary=replace(settings.vocabulary, words=PRIVATE))


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
        """Whether the run has a prior that explains the documents (the test `from_prior.explains`)."""
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
    prior, public = None if settings.continues_series else settings.prior, settings.vocabulary.public

    def require(*, of_prior: bool = False) -> None:
        if private and not settings.continues_series:
            require_documents(settings, events, documents, corpus.unit, of_prior=of_prior)

    def choose() -> tuple[WordFrequencies, dict[str, Any]]:
        if settings.vocabulary.words == LISTED:
            assert corpus.tokenization is not None  # `choose_way_of_words`
            return _choose_listed_words(gate, settings, corpus.tokenization)
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

    Public seed words that were not released are added, with frequency 0: they are below the threshold. Raises
    `UnsupportedByData` if the words in most documents are stop words of another language than `language`.
    """
    released = gate.choose_words()
    shares = dict(zip(released.words, released.frequencies, strict=True))
    if language is not None:
        _check_language(released, language)
    kept = modelled_words(released, settings)
    seeds = [word for word in settings.model.guiding_words if word not in shares]
    frequencies = np.concatenate([kept.frequencies, np.zeros(len(seeds))])
    modelled = WordFrequencies((*kept.words, *seeds), frequencies, kept.std)
    gate.use_words(modelled.words)
    limit = frequency_limit(released.frequencies, settings)
    frequent = [word for word, share in shares.items() if share > limit]
    return modelled, {"frequency_limit": limit, "frequent_words": frequent}


def _choose_listed_words(
    gate: Gate, settings: FitSettings, tokenization: Tokenization
) -> tuple[WordFrequencies, dict[str, Any]]:
    """Release the frequencies of the words of general text, of the seed words, and of other words that are frequent.

    Returns those below the limit on document frequencies, and the facts of `_choose_words`; the placement keeps the
    words that characterise the documents. Raises `UnsupportedByData` as `_choose_words` does.
    """
    general = general_frequencies(tokenization)
    rarest = min(general.values())
    seeds = [word for word in settings.model.guiding_words if word not in general]
    released = gate.choose_words([*general, *seeds])
    _check_language(released, tokenization.language)
    language = np.array([general.get(word, rarest) for word in released.words])
    released = replace(released, language=language)
    limit = _limit_of_listed(released, settings)
    above = (posterior_means(released)[0] > limit) & ~np.isin(released.words, settings.model.guiding_words)
    kept = released.at(np.flatnonzero(~above))
    needed = settings.model.words_needed
    if len(kept.words) < needed:
        raise UnsupportedByData(
            f"only {len(kept.words)} words are in at most {limit:.2%} of the documents, and {needed} are needed. Raise "
            "--max-document-frequency, or ask for fewer topics."
        )
    gate.use_words(kept.words)
    frequent = list(released.at(np.flatnonzero(above)).words)
    return kept, {"frequency_limit": limit, "frequent_words": frequent}


def _limit_of_listed(released: WordFrequencies, settings: FitSettings) -> float:
    """Return the limit on the document frequencies of the modelled words.

    It is the user's limit, or `USUAL_LIMIT`. Texts that consist of few words, such as forms, have no limit of their own
    accord: those whose words are, for more than `_MOST_LEFT_OUT`, surely above the usual one.
    """
    asked, noisy = settings.vocabulary.max_document_frequency, released.frequencies
    limit = USUAL_LIMIT if asked is None else asked
    above = (noisy > max(limit, _SURE * released.std)) & ~np.isin(released.words, settings.model.guiding_words)
    return 1.0 if asked is None and noisy[above].sum() > _MOST_LEFT_OUT * noisy.sum() else limit


def _check_language(released: WordFrequencies, language: str) -> None:
    """Raise `UnsupportedByData` if the words in most documents are stop words of another language than `language`."""
    from dplda.text.language_guess import mistaken_language

    common = released.frequencies > max(_COMMON, _SURE * released.std)
    other = mistaken_language([released.words[index] for index in np.flatnonzero(common)], language)
    if other is not None:
        raise UnsupportedByData(
            f"the words in most documents seem to be stop words of language {other!r}, and the documents were read "
            f"as {language!r}. Read them with --language {other} (`dplda check` guesses the language without "
            "charge)."
        )
