"""The fast tokenizer: one regular expression and two word lists.

In lower-case text, runs of letters, digits and underscores, with the combining marks behind them, are found by one
regular expression; an apostrophe between two runs joins them. A run that the language's table of exceptions lists
becomes the parts listed there ("don't": "do", "n't"), any other is cut at its apostrophes. Of the parts, those count
that consist of two to 1000 letters and are no stop word. The answer is a function of the document only.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from functools import cache

from dplda.text.words import WordRule

MOST_JOINED = 10_000  # parts of one run: an unbounded repetition takes memory for each
_APART = {code: " " for code in range(128) if not re.match(r"[\w']", chr(code))}


class FastTokens:
    """The rule above, with a language's `exceptions` (runs and their parts) and its rule for words.

    Needs nothing of spaCy once it is made, so that other processes need not load it.
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
    return re.compile(rf"\w+(?:[{marks}]+\w*|'\w+){{0,{MOST_JOINED}}}")
