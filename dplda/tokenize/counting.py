"""Count the words of many documents in vectorised steps, with the fast tokenizer or any other.

A tokenizer cuts a document into pieces and knows the words of a piece. Each distinct piece is asked for its words
once and gets a number, so that a document is a row of piece numbers, a piece a row of word numbers, and the counts
are the product of two sparse matrices. What is remembered of other documents never changes an answer.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

_MIN_LETTERS = 2
_MAX_LETTERS = 1000  # nothing longer is a word


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
        fine = _MIN_LETTERS <= len(word) <= _MAX_LETTERS and word.isalpha() and word not in self.stop_words
        return word if fine else ""


_REMEMBERED_PIECES, _REMEMBERED_CHARACTERS = 500_000, 1 << 26  # then the memory starts afresh at the next call


class Tokens(Protocol):
    """A tokenizer: a function of its argument alone."""

    def pieces(self, text: str) -> list[str]:
        """The pieces of a document whose words are those of the document."""

    def words(self, piece: str) -> Sequence[str]:
        """The words of one piece, repeated as often as they occur."""


class Counts(NamedTuple):
    """Words (n_words,) and CSR counts (n_documents, n_words) of the texts but those at the places `failed`."""

    words: list[str]
    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    counts: NDArray[np.int32]
    failed: list[int]


class WordCounter:
    """Counts words as `tokens` finds them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._seen = _Pieces(tokens)

    def count(self, texts: Sequence[str]) -> Counts:
        """Words of `texts` (n_documents,). Order and numbers of words depend on nothing but `texts`."""
        if len(self._seen) >= _REMEMBERED_PIECES or self._seen.n_characters >= _REMEMBERED_CHARACTERS:
            self._seen = _Pieces(self._tokens)
        pieces, ends, failed = self._pieces(texts)
        words = self._seen.matrix()
        ones = np.ones(len(pieces), np.int32)
        documents = csr_array(
            (ones, np.fromiter(pieces, np.int32, len(pieces)), ends), shape=(len(ends) - 1, words.shape[0])
        )
        counts = documents @ words
        used, indices = _renumbered(counts.indices, words.shape[1])
        names = list(self._seen.words)
        return Counts([names[number] for number in used], counts.indptr, indices, counts.data, failed)

    def _pieces(self, texts: Sequence[str]) -> tuple[list[int], NDArray[np.int32], list[int]]:
        """Numbers of the pieces of all documents, where each document ends, and the places of those that failed."""
        found: list[int] = []
        ends, failed = [0], []
        number = self._seen.__getitem__
        for place, text in enumerate(texts):
            try:
                found += list(map(number, self._tokens.pieces(text)))  # a list: all of a document or nothing
            except Exception:  # whatever goes wrong inside the tokenizer stays with this document
                failed.append(place)
            else:
                ends.append(len(found))
        return found, np.array(ends, np.int32), failed


def _renumbered(numbers: NDArray[np.int32], size: int) -> tuple[list[int], NDArray[np.int32]]:
    """The distinct `numbers` (nnz,) below `size` in the order of their last places, and each one's place among them.

    The numbers themselves tell in which order words were met in earlier texts, and must not be handed on.
    """
    places = np.arange(len(numbers), dtype=np.int32)
    place = np.empty(size, np.int32)
    place[numbers] = places
    used = numbers[place[numbers] == places]
    place[used] = places[: len(used)]
    return used.tolist(), place[numbers]


class _Numbers(dict[str, int]):
    """Numbers names in the order of their first appearance."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


class _Pieces(dict[str, int]):
    """Numbers of pieces, and for each the numbers of its words as a row of a CSR matrix."""

    def __init__(self, tokens: Tokens) -> None:
        self.words = _Numbers()
        self.n_characters = 0
        self._tokens = tokens
        self._indptr, self._indices = array("i", [0]), array("i")

    def __missing__(self, piece: str) -> int:
        self._indices.extend([self.words[word] for word in self._tokens.words(piece)])
        self._indptr.append(len(self._indices))
        self.n_characters += len(piece)
        self[piece] = number = len(self)
        return number

    def matrix(self) -> csr_array:
        """How often each word occurs in each piece, (n_pieces, n_words)."""
        ones = np.ones(len(self._indices), np.int32)
        rows = (ones, np.array(self._indices), np.array(self._indptr))
        return csr_array(rows, shape=(len(self), len(self.words)))


_MOST_JOINED = 10_000  # parts of one run: an unbounded repetition takes memory for each
_APART = {code: " " for code in range(128) if not re.match(r"[\w']", chr(code))}


class FastTokens:
    """The fast tokenizer: one regular expression, with a language's `exceptions` (runs and their parts) and word rule.

    In lower-case text, runs of letters, digits and underscores, with the combining marks behind them, are found by the
    expression; an apostrophe between two runs joins them. A run that is an exception becomes the parts listed for it
    ("don't": "do", "n't"); any other is cut at its apostrophes. Of the parts, those count that consist of two to 1000
    letters and are no stop word. Needs nothing of spaCy once it is made, so that other processes need not load it.
    """

    def __init__(self, exceptions: Mapping[str, tuple[str, ...]], word: WordRule) -> None:
        self._exceptions = exceptions
        self._word = word

    def pieces(self, text: str) -> list[str]:
        """Parts of `text` in lower case, none of which ends inside a run."""
        lower = text.lower()
        if lower.isascii():  # most runs are then bare, and few pieces distinct; other text has too many separators
            lower = lower.translate(_APART)
        return lower.split()

    def words(self, piece: str) -> tuple[str, ...]:
        """The words of one piece."""
        runs = _runs().findall(piece.replace("\u2019", "'"))
        parts = (part for run in runs for part in self._exceptions.get(run) or run.split("'"))
        return tuple(word for part in parts if (word := self._word(part)))


@cache
def _runs() -> re.Pattern[str]:
    """Runs joined by apostrophes; a word is not cut at a mark."""
    letters = map(chr, range(sys.maxunicode + 1))
    marks = "".join(letter for letter in letters if unicodedata.category(letter).startswith("M"))
    return re.compile(rf"\w+(?:[{marks}]+\w*|'\w+){{0,{_MOST_JOINED}}}")
