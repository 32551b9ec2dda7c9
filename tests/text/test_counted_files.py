from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from text_helpers import counts_of

from dplda.base.errors import InputError
from dplda.text import counted_files
from dplda.text.counted_files import _parse_block, _parse_line

VOCAB = "apple\nbanana\ncherry\n"


def test_uci_triples_are_grouped_by_document_in_any_order(read_counts: Any) -> None:
    body = "3\n3\n5\n2 1 4\n1 3 1\n2 2 1\n1 1 2\n2 1 1\n"
    found = read_counts(docword__x__txt=body, vocab__x__txt=VOCAB)
    assert found == {"1": {"apple": 2, "cherry": 1}, "2": {"apple": 5, "banana": 1}}


@pytest.mark.parametrize(
    "line", ["1 2 -1", "1 2 1.5", "1 2 3000000000", "1 2 nan", "1 2 x", "1 9 1", "1 0 1", "1 2", "1 2 3 4"]
)
def test_a_bad_line_empties_its_document_and_no_other(read_counts: Any, line: str) -> None:
    body = f"2\n3\n4\n1 1 1\n{line}\n2 2 7\n"
    assert read_counts(docword__x__txt=body, vocab__x__txt=VOCAB) == {"2": {"banana": 7}}


@pytest.mark.parametrize("line", ["x 1 1", "3 1 1", "0 1 1", "-1 1 1", "1.5 1 1", "\0", ""])
def test_a_line_of_no_document_is_dropped(read_counts: Any, line: str) -> None:
    body = f"2\n3\n4\n1 1 1\n{line}\n2 2 7\n"
    found = read_counts(docword__x__txt=body, vocab__x__txt=VOCAB)
    assert found == {"1": {"apple": 1}, "2": {"banana": 7}}


FIELD = st.text(alphabet="0123456789.eE+-x_ ", max_size=6)


@given(st.lists(st.lists(FIELD, max_size=4).map(" ".join), max_size=6))
def test_fast_and_line_by_line_parsing_agree(lines: list[str]) -> None:
    block = "\n".join(lines).encode()
    expected = [row for line in block.split(b"\n") if (row := _parse_line(line)) is not None]
    assert np.array_equal(_parse_block(block), np.array(expected, dtype=float).reshape(-1, 3), equal_nan=True)


@given(st.lists(st.tuples(*[st.integers(0, 2**31)] * 3), min_size=1))
def test_regular_blocks_take_the_fast_path(rows: list[tuple[int, int, int]]) -> None:
    block = "".join(f"{a} {b} {c}\n" for a, b, c in rows).encode()
    fast = counted_files._parse_regular(block)
    assert fast is not None
    assert fast.tolist() == [[float(number) for number in row] for row in rows]


def test_blocks_end_at_line_ends(read_counts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_files, "_BLOCK_BYTES", 7)
    body = "9\n3\n9\n" + "".join(f"{document} 1 {document}\n" for document in range(1, 10))
    found = read_counts(docword__x__txt=body, vocab__x__txt=VOCAB)
    assert found == {str(document): {"apple": document} for document in range(1, 10)}


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_matrix_market_as_scipy_writes_it(tmp_path: Path, dtype: type, read_counts: Any) -> None:
    matrix = scipy.sparse.csr_matrix(np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], dtype=dtype))
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, comment="made by scipy")
    found = read_counts(x__mtx=(tmp_path / "m.mtx").read_bytes())
    assert found == {"1": {"word1": 1, "word3": 2}, "3": {"word2": 3}}


def test_matrix_market_takes_the_words_beside_it(read_counts: Any) -> None:
    body = "%%MatrixMarket matrix coordinate integer general\n%\n2 3 1\n2 2 5\n"
    assert read_counts(x__mtx=body, x__mtx__vocab=VOCAB) == {} | read_counts(x__mtx=body, vocab__txt=VOCAB)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n",
        "%%MatrixMarket matrix coordinate real general\n2 2\n",
    ],
)
def test_a_file_that_is_no_coordinate_matrix_is_refused(read_counts: Any, body: str) -> None:
    with pytest.raises(InputError, match="not a Matrix Market file of the kind that is read"):
        read_counts(x__mtx=body)


def test_uci_needs_its_header_and_its_vocabulary(read_counts: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs its vocabulary.*vocab\.x\.txt"):
        read_counts(docword__x__txt="1\n3\n0\n")
    with pytest.raises(InputError, match=r"declares 4 words but .* lists 3"):
        read_counts(docword__x__txt="1\n4\n0\n", vocab__x__txt=VOCAB)
    with pytest.raises(InputError, match="does not begin with UCI's three lines"):
        read_counts(docword__x__txt="one\n", vocab__x__txt=VOCAB)


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
