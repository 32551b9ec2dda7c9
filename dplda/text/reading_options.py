"""The options of reading a corpus. Imports nothing heavy, because the command line needs their names at start."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from dplda.base.config import plain_number
from dplda.base.errors import InputError


class ListName(str):
    """The name of a public list of words, as it is typed: a file, or a list such as ``names:german``."""


class Reading(TypedDict, total=False):
    """Options of reading a corpus, all public. None means the default, which is in parentheses if there is one.

    - `format`: the format of the path, instead of the guess from its name.
    - `text_field`, `id_field`, `unit_field`: the columns of the text, the document's id and the privacy unit. The text
      may be in several columns, such as ``["subject", "body"]``. In a series, the id tells documents apart.
    - `group_fields`: the columns that tables may be grouped by (`dplda.tabulate`), such as a product or a date.
    - `language`: a spaCy code (``"en"``); `lemmas`: count lemmas instead of words (False); `tokenizer`: ``"fast"``
      (where white space separates words) or ``"spacy"`` (elsewhere).
    - `stopwords`: public words that do not count, besides those of the language. A string is the path of a file with
      one word a line, or ``"names"`` for the names of persons in the language of the text, or ``"names:german"`` for
      those in another language.
    - `ngrams`: the largest number of adjacent words that also count as a phrase; ``climate_change`` needs 2 (1).
    - `one_line`: each line of a CSV or TSV file is one record, whatever it holds (False).
    - `sheet`: the name of the sheet to read in a workbook, which must be given if several are not hidden.
    - `encoding`: the text encoding, a Python codec name.
    - `pattern`: read only the files of a folder whose names match, such as ``"*.csv"`` or ``"*.pdf|*.eml"``.
    """

    format: str | None
    text_field: str | Sequence[str] | None
    id_field: str | None
    unit_field: str | None
    group_fields: Sequence[str] | None
    language: str | None
    lemmas: bool | None
    tokenizer: str | None
    stopwords: Collection[str | Path] | Path | None
    ngrams: int | None
    one_line: bool | None
    sheet: str | None
    encoding: str | None
    pattern: str | None


class Fields(TypedDict, total=False):
    """The options of `Reading` for documents in memory."""

    text_field: str | Sequence[str] | None
    id_field: str | None
    unit_field: str | None
    group_fields: Sequence[str] | None
    language: str | None
    lemmas: bool | None
    tokenizer: str | None
    stopwords: Collection[str | Path] | Path | None
    ngrams: int | None


TOKENIZERS = ("fast", "spacy")
READING_FACTS = ("language", "lemmas", "tokenizer", "stopwords", "ngrams")  # the names in `Tokenization.facts`
NO_WHITE_SPACE = frozenset({"ja", "ko", "th", "vi", "zh"})  # languages whose words it does not separate
JOINER = "_"  # of the words of a phrase: neither a letter nor a digit, so that no word looks like a phrase
LONGEST_PHRASE = 5  # longer phrases are seldom in two documents


@dataclass(frozen=True)
class Tokenization:
    """How text is split into words; the options are as in `Reading`, with stop words in lower case.

    An empty `tokenizer` stands for the default of the language. Raises `InputError` for a tokenizer or a length of
    phrases that does not exist.
    """

    language: str = "en"
    lemmas: bool = False
    tokenizer: str = ""
    stopwords: tuple[str, ...] = ()
    ngrams: int = 1

    def __post_init__(self) -> None:
        if not self.tokenizer:
            object.__setattr__(self, "tokenizer", "spacy" if self.language in NO_WHITE_SPACE else "fast")
        if self.tokenizer not in TOKENIZERS:
            raise InputError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, got {self.tokenizer!r}.")
        object.__setattr__(self, "ngrams", plain_number(self.ngrams))
        if not isinstance(self.ngrams, int) or not 1 <= self.ngrams <= LONGEST_PHRASE:
            raise InputError(f"ngrams must be a whole number from 1 to {LONGEST_PHRASE} (words), got {self.ngrams!r}.")

    def facts(self) -> dict[str, Any]:
        """Return what stores, ledgers and models record: public and short, with a digest of the stop words."""
        facts: dict[str, Any] = {"language": self.language, "lemmas": self.lemmas, "tokenizer": self.tokenizer}
        if self.stopwords:
            digest = hashlib.sha256("\n".join(self.stopwords).encode("utf-8", "surrogatepass")).hexdigest()
            facts["stopwords"] = f"{len(self.stopwords)} words, sha256 {digest[:32]}"
        if self.ngrams > 1:
            facts["ngrams"] = self.ngrams
        return facts
