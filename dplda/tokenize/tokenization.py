"""The declared tokenization: tokenizer, language and lemmas; public, and light to import."""

from __future__ import annotations

from dataclasses import dataclass

from dplda.errors import InputError

TOKENIZERS = ("spacy", "fast")


@dataclass(frozen=True)
class Tokenization:
    """`language` is a spaCy code such as ``"en"``; `lemmas` asks for lemmas instead of words.

    `tokenizer` is ``"spacy"`` or ``"fast"``. Raises `InputError` for another one.
    """

    language: str = "en"
    lemmas: bool = False
    tokenizer: str = "spacy"

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise InputError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, got {self.tokenizer!r}.")
