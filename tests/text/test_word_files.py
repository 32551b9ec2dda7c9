from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.text.word_files import find_vocabulary, read_word_list


def test_words_are_read_one_a_line(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes("\ufeffapple \n\n  café\n".encode())
    assert read_word_list(tmp_path / "v.txt") == ["apple", "café"]


def test_a_list_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("\ufeff\n \n")
    with pytest.raises(InputError, match="contains no words"):
        read_word_list(tmp_path / "v.txt")
    (tmp_path / "v.txt").write_bytes(b"a\0b\n")
    with pytest.raises(InputError, match="not a text file"):
        read_word_list(tmp_path / "v.txt")


@pytest.mark.parametrize(
    ("file", "vocabulary"),
    [
        ("docword.x.txt", "vocab.x.txt"),
        ("docword.x.txt.gz", "vocab.x.txt"),
        ("docword.x.txt.gz", "vocab.x.txt.gz"),
        ("c.mtx", "c.mtx.vocab"),
        ("c.mtx.gz", "c.mtx.vocab"),
        ("c.mm", "c.vocab"),
        ("c.npz", "c.vocab.txt"),
        ("c.npz", "vocab.txt"),
    ],
)
def test_the_vocabulary_is_found_where_other_tools_put_it(tmp_path: Path, file: str, vocabulary: str) -> None:
    assert find_vocabulary(tmp_path / file) is None
    words = b"a\nb\n"
    (tmp_path / vocabulary).write_bytes(gzip.compress(words) if vocabulary.endswith(".gz") else words)
    found = find_vocabulary(tmp_path / file)
    assert found == tmp_path / vocabulary
    assert read_word_list(found) == ["a", "b"]
