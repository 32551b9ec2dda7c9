"""Word lists: the vocabulary of a count file, or the user's public list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dplda.errors import InputError
from dplda.readers.files import COMPRESSIONS, text_lines, without_compression
from dplda.readers.records import Defect


def read_word_list(path: Path) -> list[str]:
    """The words of `path`, one per line; blank lines and surrounding space are ignored. Raises `InputError`."""
    words = []
    for _, line in text_lines(path):
        if isinstance(line, Defect):
            raise InputError(f"{path} is not a text file with one word a line.")
        words.append(line.strip())
    if not words:
        raise InputError(f"{path} holds no words. Write one word a line.")
    return words


def find_word_list(path: Path) -> Path | None:
    """The vocabulary of a count file, or None.

    Its name is UCI's (``vocab.X.txt`` for ``docword.X.txt``), gensim's (``X.vocab``, ``X/vocab.txt``, ``base.vocab``,
    ``dir/vocab.txt``) or ``X.vocab.txt``.
    """
    return next((candidate for candidate in _candidates(path) if os.path.isfile(candidate)), None)


def required_word_list(path: Path) -> Path:
    """The vocabulary of a count file. Raises `InputError` with the expected name if there is none."""
    vocabulary = find_word_list(path)
    if vocabulary is None:
        likely = next(_candidates(path))
        raise InputError(f"{path} needs its vocabulary, one word a line, beside it, for example in {likely}.")
    return vocabulary


def _candidates(path: Path) -> Iterator[Path]:
    plain = without_compression(path)
    if plain.name.startswith("docword."):
        vocabulary = plain.name.replace("docword.", "vocab.", 1)
        for ending in ("", *COMPRESSIONS):
            yield plain.with_name(vocabulary + ending)
    base = plain.with_suffix("")
    for stem in (path, plain, base):
        yield stem.with_name(stem.name + ".vocab")
        yield stem.with_name(stem.name + ".vocab.txt")
        yield stem / "vocab.txt"
    yield path.parent / "vocab.txt"
