from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from text_helpers import counts_of

from dplda.base.errors import InputError


def save(tmp_path: Path, matrix: np.ndarray, words: str = "a\nb\nc\n") -> Path:
    scipy.sparse.save_npz(tmp_path / "x.npz", scipy.sparse.csr_matrix(matrix))
    (tmp_path / "x.vocab.txt").write_text(words)
    return tmp_path / "x.npz"


def test_rows_are_documents(tmp_path: Path) -> None:
    assert counts_of(save(tmp_path, np.array([[1, 0, 2], [0, 0, 0]]))) == {"0": {"a": 1, "c": 2}, "1": {}}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 0.5, 2.0**31])
def test_a_row_with_a_bad_count_contributes_nothing_and_stops_nothing(tmp_path: Path, bad: float) -> None:
    assert counts_of(save(tmp_path, np.array([[1, 0, 2], [1, bad, 0], [0, 3, 0]]))) == {
        "0": {"a": 1, "c": 2},
        "2": {"b": 3},
    }


def test_shape_and_vocabulary_must_agree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has 3 columns but .* lists 2 words"):
        counts_of(save(tmp_path, np.eye(3), "a\nb\n"))


def test_a_file_that_is_no_sparse_matrix_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path, np.eye(3))
    path.write_bytes(b"PK nothing")
    with pytest.raises(InputError, match="not a matrix saved by"):
        counts_of(path)
    np.savez(path, other=np.eye(2))
    with pytest.raises(InputError, match="not a matrix saved by"):
        counts_of(path)
