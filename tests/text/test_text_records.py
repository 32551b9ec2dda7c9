import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dplda.text.records import UNIT_BYTES, document_key, unit_key


def test_a_number_and_its_digits_name_the_same_unit() -> None:
    for seven in (7, 7.0, np.int64(7), np.float32(7), np.uint8(7)):
        assert unit_key(seven) == unit_key("7")
    assert unit_key(10**400) == unit_key(f"1{400 * '0'}")
    assert unit_key(np.float64(0.5)) == unit_key(0.5) != unit_key(0)


def test_values_that_name_nobody_have_no_key() -> None:
    for nothing in (None, "", float("nan"), np.float32("nan"), [], {}, b"x"):
        assert unit_key(nothing) is None


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_names_get_different_keys(one: str, other: str) -> None:
    assert (unit_key(one) == unit_key(other)) == (one == other)


def test_a_document_never_shares_its_key_with_a_column_value() -> None:
    assert document_key(7) != unit_key("7")
    assert len(document_key(7)) == UNIT_BYTES
