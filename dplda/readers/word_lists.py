"""Word lists: the vocabulary beside a count file, or a public list of the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dplda.errors import InputError
from dplda.readers.files import text_lines
from dplda.readers.records import Defect


def read_word_list(path: Path) -> list[str]:
    """Words of `path`, one a line, surrounding space removed, blank lines left out. Raises `InputError`."""
    words = []
    for _, line in text_lines(path):
        if isinstance(line, Defect):
            raise InputError(f"{path} is not a text file with one word a line.")
        words.append(line.strip())
    if not words:
        raise InputError(f"{path} holds no words. Write one word a line.")
    return words


def find_word_list(path: Path) -> Path | None:
    """The vocabulary beside a count file, or None.

    Looks where gensim does (``X.vocab``, ``X/vocab.txt``, ``base.vocab``, ``dir/vocab.txt``), then for
    UCI's ``vocab.X.txt`` beside ``docword.X.txt`` and for ``X.vocab.txt``.
    """
    return next((candidate for candidate in _candidates(path) if os.path.isfile(candidate)), None)


def required_word_list(path: Path) -> Path:
    """The vocabulary beside `path`. Raises `InputError` that says where it was expected."""
    found = find_word_list(path)
    if found is None:
        likely = next(_candidates(path))
        raise InputError(f"{path} needs its vocabulary, one word a line, beside it, for example in {likely}.")
    return found


def _candidates(path: Path) -> Iterator[Path]:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if plain.name.startswith("docword."):
        vocabulary = plain.name.replace("docword.", "vocab.", 1)
        yield plain.with_name(vocabulary)
        yield plain.with_name(vocabulary + ".gz")
    base = plain.with_suffix("")
    for stem in (path, plain, base):
        yield stem.with_name(stem.name + ".vocab")
        yield stem.with_name(stem.name + ".vocab.txt")
        yield stem / "vocab.txt"
    yield path.parent / "vocab.txt"
