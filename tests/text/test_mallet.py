from typing import Any

import pytest

from dplda.base.errors import InputError
from dplda.text.records import Defect, TextRecord, document_key, unit_key


def test_mallet_lines_hold_id_label_and_text(read_text: Any) -> None:
    found = read_text("x.mallet", "d1 spam  buy now\nbroken\n\nd2\tham\thello there\n")
    assert found == [
        TextRecord("d1", document_key(1), "buy now"),
        Defect.MALFORMED,
        TextRecord("d2", document_key(3), "hello there"),
    ]


def test_a_spoilt_character_leaves_the_unit_alone(read_text: Any) -> None:
    found = read_text("x.mallet", b"d1 \xc3\xbc caf\xe9\n", unit_field="label")
    assert found == [TextRecord("d1", unit_key("ü"), "café")]


def test_what_is_not_in_the_declared_encoding_contributes_nothing(read_text: Any) -> None:
    assert read_text("x.mallet", b"d1 l caf\xe9\n", encoding="utf-8") == [Defect.UNDECODABLE]


def test_an_empty_file_is_refused(read_text: Any) -> None:
    with pytest.raises(InputError, match="is empty"):
        read_text("x.mallet", "\n")
