"""Text to words: spaCy's tokenizer of one language, lower case, alphabetic, stop words out.

spaCy's rule tokenizer splits at white space first and treats every piece alone, so the words of a piece are
looked up in a cache and the tokenizer runs once per distinct piece, not per occurrence. The answer is a
function of the document only: neither cache nor its renewal can change it, and what spaCy remembers of other
documents is checked, because it knows strings by a 64-bit hash for which anyone can make up collisions.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import spacy
from spacy.lookups import load_lookups
from spacy.tokenizer import Tokenizer

from dplda.errors import InputError

CACHED_PIECES = 300_000  # then cache and vocabulary start afresh, which bounds memory
MAX_PIECE = 1000  # characters; affix rules take quadratic time, and nothing longer is a word
MIN_LETTERS = 2


class WordCounter:
    """Counts the words of one document at a time.

    `language` is a spaCy code such as ``"en"``; `lemmas` replaces words by their lemma from spaCy's lookup
    tables. Raises `InputError` if spaCy has no such language or no such table.
    """

    def __init__(self, language: str = "en", lemmas: bool = False) -> None:
        self._language = language
        self._nlp = _pipeline(language)
        self._lemmas = _lemma_table(language) if lemmas else {}
        self._stop_words = self._nlp.Defaults.stop_words
        self._whole = type(self._nlp.tokenizer) is not Tokenizer  # may join across white space
        self._cache: dict[str, tuple[str, ...]] = {}
        self._analysed = 0

    def count(self, text: str) -> Counter[str]:
        """Words of `text` and how often each occurs."""
        if self._whole:
            return Counter(self._analyse(text))
        cache = self._cache
        words: list[str] = []
        for piece in text.split():
            known = cache.get(piece)
            if known is None:
                known = self._remember(piece)
            words += known
        return Counter(words)

    def _remember(self, piece: str) -> tuple[str, ...]:
        words = self._analyse(piece) if len(piece) <= MAX_PIECE else ()
        self._cache[piece] = words
        return words

    def _analyse(self, text: str) -> tuple[str, ...]:
        if self._analysed >= CACHED_PIECES:
            self._nlp, self._analysed = _pipeline(self._language), 0
            self._cache.clear()
        tokens = self._nlp.tokenizer(text)
        if not _faithful(tokens, text):  # answer as if nothing was read before, and forget what was
            tokens = _pipeline(self._language).tokenizer(text)
            self._nlp, self._analysed = _pipeline(self._language), 0
        self._analysed += max(1, len(tokens)) if self._whole else 1
        return tuple(word for token in tokens if (word := self._word(token.text)))

    def _word(self, text: str) -> str:
        """The word that a token counts as, or the empty string."""
        lower = text.lower()
        if lower in self._stop_words or not text.isalpha():
            return ""
        word = str(self._lemmas.get(lower, lower)).lower()
        fine = len(word) >= MIN_LETTERS and word.isalpha() and word not in self._stop_words
        return word if fine else ""


def _faithful(tokens: Any, text: str) -> bool:
    """Whether the tokens spell `text`, each of the length it was made with: no other string stood in for one."""
    return bool(tokens.text == text) and all(len(token) == len(token.text) for token in tokens)


def _pipeline(language: str) -> Any:
    try:
        pipeline = spacy.blank(language)
    except Exception:  # whatever a language's optional packages raise when they are missing
        raise InputError(
            f"language {language!r} is not available in spaCy, or needs a package that is not installed. "
            f"See spacy.io/usage/models#languages."
        ) from None
    pipeline.vocab.lex_attr_getters = {}  # a third of the time goes into attributes that `_word` does without
    return pipeline


def _lemma_table(language: str) -> Any:
    try:
        return load_lookups(language, tables=["lemma_lookup"]).get_table("lemma_lookup")
    except (ValueError, KeyError):
        raise InputError(f"There is no table of lemmas for language {language!r}. Leave lemmas out.") from None
