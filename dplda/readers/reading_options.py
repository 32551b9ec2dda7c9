"""The options of reading a corpus. Imports nothing heavy, because the command line needs their names at start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from dplda.errors import InputError


class Reading(TypedDict, total=False):
    """How to read a corpus. All options are public. None means the default, which is in parentheses if there is one.

    - `format`: the format of the path, instead of the guess from its name.
    - `text_field`, `id_field`, `unit_field`: the columns of the text, the document's name and the privacy unit.
    - `language`: a spaCy code (``"en"``); `lemmas`: count lemmas instead of words (False); `tokenizer`: ``"spacy"`` or
      ``"fast"`` (``"spacy"``).
    - `one_line`: each line of a CSV or TSV file is one record, whatever it holds (False).
    - `delimiter`: the character between the fields of a CSV file (a comma, or what its header shows), or ``tab``.
    - `multiline`: does nothing; line breaks inside quotation marks are read unless `one_line`.
    - `encoding`: the text encoding, a Python codec name.
    - `pattern`: read only the files of a folder whose names match, such as ``"*.csv"``.
    """

    format: str | None
    text_field: str | None
    id_field: str | None
    unit_field: str | None
    language: str | None
    lemmas: bool | None
    tokenizer: str | None
    one_line: bool | None
    delimiter: str | None
    multiline: bool | None
    encoding: str | None
    pattern: str | None


TOKENIZERS = ("spacy", "fast")


@dataclass(frozen=True)
class Tokenization:
    """How text is split into words; the options are those of `Reading`. Raises `InputError` for another tokenizer."""

    language: str = "en"
    lemmas: bool = False
    tokenizer: str = "spacy"

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise InputError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, got {self.tokenizer!r}.")
