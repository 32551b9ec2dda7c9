"""Text to words: spaCy's tokenizer of one language, lower case, alphabetic, stop words out.

spaCy's rule tokenizer splits at white space first and treats every piece alone, so a document's words are those of
its pieces. The answer is a function of the document only: renewing what spaCy remembers cannot change it, and what
it remembers of other documents is checked, because it knows strings by a 64-bit hash for which anyone can make up
collisions.
"""

from __future__ import annotations

from typing import Any

import spacy
from spacy.lookups import load_lookups
from spacy.tokenizer import Tokenizer

from dplda.errors import InputError

ANALYSED_PIECES = 500_000  # then spaCy's vocabulary starts afresh, which bounds memory
MAX_PIECE = 1000  # characters; affix rules take quadratic time, and nothing longer is a word
MIN_LETTERS = 2


class SpacyTokens:
    """spaCy's tokens of `language`, a spaCy code such as ``"en"``, or their lemmas if `lemmas`.

    Raises `InputError` if spaCy has no such language or no table of its lemmas.
    """

    def __init__(self, language: str = "en", lemmas: bool = False) -> None:
        self._language = language
        self._tokenizer = _tokenizer(language)
        self._word = WordRule(language, lemmas)
        self._whole = type(self._tokenizer) is not Tokenizer  # may join across white space
        self._analysed = 0

    def pieces(self, text: str) -> list[str]:
        """What white space separates in `text`; its words where a language joins across white space."""
        return self._analyse(text) if self._whole else text.split()

    def words(self, piece: str) -> list[str]:
        """The words of one piece."""
        if self._whole:
            return [piece]
        return self._analyse(piece) if len(piece) <= MAX_PIECE else []

    def _analyse(self, text: str) -> list[str]:
        if self._analysed >= ANALYSED_PIECES:
            self._tokenizer, self._analysed = _tokenizer(self._language), 0
        tokens = self._tokenizer(text)
        spelled = [token.text for token in tokens]
        if not _faithful(tokens, spelled, text):  # answer as if nothing was read before, and forget what was
            spelled = [token.text for token in _tokenizer(self._language)(text)]
            self._tokenizer, self._analysed = _tokenizer(self._language), 0
        self._analysed += max(1, len(spelled)) if self._whole else 1
        return [word for token in spelled if (word := self._word(token))]


class WordRule:
    """The word that a token counts as in `language`, by public lists: stop words, and lemmas if `lemmas`.

    Raises `InputError` if spaCy has no such language or no table of its lemmas.
    """

    def __init__(self, language: str, lemmas: bool) -> None:
        self._stop_words = language_class(language).Defaults.stop_words
        self._lemmas = _lemma_table(language) if lemmas else {}

    def __call__(self, token: str) -> str:
        """The word, or the empty string."""
        lower = token.lower()
        if not token.isalpha() or lower in self._stop_words:
            return ""
        word = str(self._lemmas.get(lower, lower)).lower()
        fine = len(word) >= MIN_LETTERS and word.isalpha() and word not in self._stop_words
        return word if fine else ""


def language_class(language: str) -> Any:
    """spaCy's rules of `language`. Raises `InputError` if there are none."""
    try:
        return spacy.util.get_lang_class(language)
    except Exception:
        raise _no_language(language) from None


def _faithful(tokens: Any, spelled: list[str], text: str) -> bool:
    """Whether the tokens spell `text`, each of the length it was made with: no other string stood in for one."""
    return bool(tokens.text == text) and list(map(len, tokens)) == list(map(len, spelled))


def _tokenizer(language: str) -> Any:
    try:
        pipeline = spacy.blank(language)
    except Exception:  # whatever a language's optional packages raise when they are missing
        raise _no_language(language) from None
    pipeline.vocab.lex_attr_getters = {}  # a third of the time goes into attributes that no word depends on
    return pipeline.tokenizer


def _no_language(language: str) -> InputError:
    return InputError(
        f"language {language!r} is not available in spaCy, or needs a package that is not installed. "
        f"See spacy.io/usage/models#languages."
    )


def _lemma_table(language: str) -> Any:
    try:
        return load_lookups(language, tables=["lemma_lookup"]).get_table("lemma_lookup")
    except (ValueError, KeyError):
        raise InputError(f"There is no table of lemmas for language {language!r}. Leave lemmas out.") from None
