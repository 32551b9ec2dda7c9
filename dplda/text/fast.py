"""The fast tokenizer: a rule that fits in a paragraph.

Text is made lower case and split at white space, and a piece of more than 1000 characters is left out. In a piece,
runs of letters, digits and underscores, with the combining marks behind them, are found by one regular expression; an
apostrophe between two runs joins them. A run that spaCy's table of exceptions of the language lists becomes the parts
listed there ("don't": "do", "n't"), any other is cut at its apostrophes. Of the parts, those count that consist of two
or more letters and are no stop word. The answer is a function of the document only.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

from spacy.symbols import ORTH

from dplda.errors import InputError
from dplda.text.tokens import MAX_PIECE, WordRule, language_class

_PLAIN = "spacy.Tokenizer.v1"  # the tokenizer of the languages that spaCy splits at white space


class FastTokens:
    """The rule above for `language`, a spaCy code, with its stop words, and its lemmas if `lemmas`.

    Raises `InputError` if spaCy has no such language, needs more than white space to find its words, or has no
    table of its lemmas.
    """

    def __init__(self, language: str = "en", lemmas: bool = False) -> None:
        found = language_class(language)
        if found.default_config["nlp"]["tokenizer"]["@tokenizers"] != _PLAIN:
            raise InputError(
                f"tokenizer 'fast' cannot find the words of language {language!r}, which are not separated by "
                f"white space. Use tokenizer 'spacy'."
            )
        exceptions = found.Defaults.tokenizer_exceptions
        self._exceptions = {run: tuple(part[ORTH] for part in parts) for run, parts in exceptions.items()}
        self._word = WordRule(language, lemmas)
        self._runs = _run_pattern().findall

    def pieces(self, text: str) -> list[str]:
        """What white space separates in `text`, in lower case."""
        return text.lower().split()

    def words(self, piece: str) -> tuple[str, ...]:
        """The words of one piece."""
        if len(piece) > MAX_PIECE:
            return ()
        runs = self._runs(piece.replace("\u2019", "'"))
        parts = (part for run in runs for part in self._exceptions.get(run) or run.split("'"))
        return tuple(word for part in parts if (word := self._word(part)))


@lru_cache(maxsize=1)
def _run_pattern() -> re.Pattern[str]:
    """Runs joined by apostrophes; a word is not cut at a mark."""
    marks = "".join(letter for letter in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(letter)[0] == "M")
    return re.compile(rf"\w+(?:[{marks}]+\w*|'\w+)*")
