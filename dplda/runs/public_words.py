"""The public words of a run that its documents can contain: of a word list, of seed words, and of a prior.

A word that the tokenizer of the documents never finds adds noise and no topic. Such words follow from public settings
alone, so they are left out before anything is reserved or read. Without a tokenization, as for counts, nothing is
known, and all words stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from dplda.base.errors import DpldaWarning, InputError
from dplda.model.prior_topics import PriorTopics
from dplda.text.listed_words import ListedWords, match_words
from dplda.text.reading_options import Tokenization

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
