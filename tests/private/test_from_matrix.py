import numpy as np
import pytest
import scipy.sparse
from store_helpers import documents_of

from dplda.base.errors import InputError
from dplda.private.store.preparation import store_from_matrix

WORDS = ["a", "b"]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 0.5, 2.0**31])
def test_a_row_with_a_bad_count_is_empty_and_the_others_are_whole(bad: float) -> None:
    store = store_from_matrix(np.array([[1, 2], [3, bad], [0, 5]]), WORDS, None)
    assert documents_of(store) == [{"a": 1, "b": 2}, {}, {"b": 5}]
    assert store.defects == {"BAD_COUNT": 1}


def test_fractions_that_add_up_to_a_whole_are_still_fractions() -> None:
    csr = scipy.sparse.csr_matrix((np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert documents_of(store_from_matrix(csr, WORDS, None)) == [{}, {"b": 1}]


def test_repeated_entries_are_merged_and_the_argument_is_left_alone() -> None:
    csr = scipy.sparse.csr_matrix((np.array([1, 2, 4]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    assert documents_of(store_from_matrix(csr, WORDS, None)) == [{"a": 3, "b": 4}]
    assert csr.nnz == 3


@pytest.mark.parametrize("kind", [scipy.sparse.coo_matrix, scipy.sparse.csc_array, np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint64, np.int32, np.float32])
def test_any_real_matrix_will_do(kind: type, dtype: type) -> None:
    store = store_from_matrix(kind(np.array([[1, 0], [1, 1]], dtype=dtype)), WORDS, None)
    assert documents_of(store) == [{"a": 1}, {"a": 1, "b": 1}]


def test_an_unsigned_overflow_does_not_wrap() -> None:
    store = store_from_matrix(np.array([[2**64 - 1, 1], [1, 0]], dtype=np.uint64), WORDS, None)
    assert documents_of(store) == [{}, {"a": 1}]


def test_rows_of_one_unit_share_a_key_and_rows_without_stand_alone_and_empty() -> None:
    store = store_from_matrix(np.ones((4, 2), int), WORDS, ["u", "v", "u", None])
    [block] = store.blocks()
    assert store.unit == "unit"
    assert np.array_equal(block.units[0], block.units[2])
    assert len(np.unique(block.units, axis=0)) == 3
    assert documents_of(store)[3] == {}
    assert store.defects == {"NO_UNIT": 1}


def test_without_units_each_row_is_its_own() -> None:
    [block] = store_from_matrix(np.ones((4, 2), int), WORDS, None).blocks()
    assert len(np.unique(block.units, axis=0)) == 4


def test_numpy_units_are_taken() -> None:
    [block] = store_from_matrix(np.ones((2, 2), int), WORDS, np.array([5, 5])).blocks()
    assert np.array_equal(block.units[0], block.units[1])


def test_no_rows_make_an_empty_store() -> None:
    assert documents_of(store_from_matrix(np.zeros((0, 2)), WORDS, None)) == []


def test_shapes_and_words_are_checked() -> None:
    with pytest.raises(InputError, match=r"^vocabulary .* 2 .* 3 "):
        store_from_matrix(np.ones((1, 3)), WORDS, None)
    with pytest.raises(InputError, match=r"^vocabulary must not repeat") as caught:
        store_from_matrix(np.ones((1, 2)), ["secret", "secret"], None)
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match=r"^units .* 1 .* 2 "):
        store_from_matrix(np.ones((2, 2)), WORDS, ["u"])
    with pytest.raises(InputError, match=r"^counts .* complex128"):
        store_from_matrix(np.ones((2, 2), dtype=complex), WORDS, None)
