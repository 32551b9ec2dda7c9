from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_helpers import documents_of, written

from dplda.corpus.fingerprint import fingerprint
from dplda.corpus.matrix import store_from_matrix

KEY = b"k" * 32
COUNTS = np.array([[1, 2, 0], [0, 0, 3], [1, 1, 1], [0, 0, 0]])
WORDS = ["a", "b", "c"]


def of(counts: np.ndarray, words: list[str] = WORDS, key: bytes = KEY) -> str:
    return fingerprint(store_from_matrix(counts, words, None), key)


@given(st.permutations(range(4)), st.permutations(range(3)))
def test_neither_order_of_documents_nor_numbers_of_words_matter(rows: list[int], columns: list[int]) -> None:
    assert of(COUNTS[rows][:, columns], [WORDS[column] for column in columns]) == of(COUNTS)


def test_stores_and_block_sizes_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dplda.corpus.writer.BLOCK_DOCUMENTS", 2)
    documents = documents_of(store_from_matrix(COUNTS, WORDS, None))
    assert fingerprint(written(tmp_path / "s", documents), KEY) == of(COUNTS)


@pytest.mark.parametrize(("row", "column"), [(0, 0), (2, 1), (3, 2)])
def test_one_occurrence_more_changes_it(row: int, column: int) -> None:
    other = COUNTS.copy()
    other[row, column] += 1
    assert of(other) != of(COUNTS)


def test_other_words_documents_or_keys_change_it() -> None:
    assert of(COUNTS, ["a", "b", "d"]) != of(COUNTS)
    assert of(np.vstack([COUNTS, COUNTS[:1]])) != of(COUNTS)
    assert of(COUNTS[:3]) != of(COUNTS)
    assert of(COUNTS, key=b"other") != of(COUNTS)


def test_moving_a_word_between_documents_changes_it() -> None:
    assert of(np.array([[1, 1, 0], [0, 0, 1]])) != of(np.array([[1, 0, 0], [0, 1, 1]]))


def test_words_no_document_uses_do_not_matter() -> None:
    assert of(np.hstack([COUNTS, np.zeros((4, 1), int)]), [*WORDS, "unused"]) == of(COUNTS)
