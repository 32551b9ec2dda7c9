"""Which tokens count as words, by public lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

MIN_LETTERS = 2
MAX_LETTERS = 1000  # nothing longer is a word


@dataclass(frozen=True)
class WordRule:
    """The word that a token counts as: lower case or its lemma, if that is of letters alone and no stop word."""

    stop_words: Collection[str]
    lemmas: Mapping[str, str]

    def __call__(self, token: str) -> str:
        """The word, or the empty string."""
        lower = token.lower()
        if not token.isalpha() or lower in self.stop_words:
            return ""
        word = str(self.lemmas.get(lower, lower)).lower()
        fine = MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isalpha() and word not in self.stop_words
        return word if fine else ""
