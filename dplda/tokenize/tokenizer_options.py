"""The options that say how text is split into words; the tokenizers are in spacy_tokens.py and counting.py."""

from __future__ import annotations

from dataclasses import dataclass

from dplda.errors import InputError

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
