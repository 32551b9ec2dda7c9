"""Phrases of adjacent words, which count as words besides the words themselves.

The phrases of a document depend on that document alone. No phrase is chosen here, by its frequency or otherwise: all of
them are counted, and the vocabulary of a run is chosen from words and phrases alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from dplda.text.counting import Tokens

JOINER = "_"  # is neither a letter nor a digit, so that no word looks like a phrase
_PARAGRAPH = re.compile(r"(?>\r\n?|\n)[^\S\r\n]*(?>\r\n?|\n)")  # an empty line
_REMEMBERED, _LONGEST_REMEMBERED = 500_000, 200  # limits of the cache: parts, and characters of a part
_LONGEST_RUN = 10_000  # maximum words of one run; longer ones are cut
_MOST_PIECES = 4_000_000  # maximum words and phrases of a document, which bounds memory


class OrderedTokens(Tokens, Protocol):
    """A tokenizer that also tells the order of words, and where other tokens stand between them."""

    def split(self, text: str) -> Iterable[str]:
        """The parts of a text, which are read one by one."""

    def sequence(self, part: str) -> Sequence[str]:
        """The words of a part in their order; an empty string stands for a stop word, a number or punctuation."""


class PhraseTokens:
    """The words that `tokens` finds, and the phrases of two to `longest` words in a row.

    A phrase lies within a paragraph, and nothing but white space is between its words.
    """

    def __init__(self, tokens: OrderedTokens, longest: int) -> None:
        self._tokens, self._longest = tokens, longest
        self._seen: dict[str, Sequence[str]] = {}

    def __reduce__(self) -> tuple[type[PhraseTokens], tuple[OrderedTokens, int]]:
        """Pickle the arguments only, without the cache."""
        return PhraseTokens, (self._tokens, self._longest)

    def pieces(self, text: str) -> list[str]:
        """The words and phrases of `text`. Raises `ValueError` if there are more than four million."""
        found: list[str] = []
        for run in self._runs(text):
            found += phrases(run, self._longest)
            if len(found) > _MOST_PIECES:
                raise ValueError("too many phrases")
        return found

    def _runs(self, text: str) -> Iterator[list[str]]:
        """The words of `text` in runs of adjacent words; no phrase reaches from one run into the next."""
        for paragraph in _PARAGRAPH.split(text):
            run: list[str] = []
            for word in chain.from_iterable(map(self._sequence, self._tokens.split(paragraph))):
                if word and len(run) < _LONGEST_RUN:
                    run.append(word)
                else:
                    yield run
                    run = [word] if word else []
            yield run

    def words(self, piece: str) -> list[str]:
        """The words of a piece: the piece itself, which is one word or phrase."""
        return [piece]

    def _sequence(self, part: str) -> Sequence[str]:
        if len(part) > _LONGEST_REMEMBERED:
            return self._tokens.sequence(part)
        if len(self._seen) >= _REMEMBERED:
            self._seen = {}
        if part not in self._seen:
            self._seen[part] = self._tokens.sequence(part)
        return self._seen[part]


def phrases(run: Sequence[str], longest: int) -> list[str]:
    """The words of `run`, and its phrases of up to `longest` words, joined by an underscore."""
    sizes = range(1, min(longest, len(run)) + 1)
    return [JOINER.join(run[first : first + size]) for size in sizes for first in range(len(run) - size + 1)]
