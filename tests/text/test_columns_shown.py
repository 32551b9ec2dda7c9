"""A table without a header must not show its first document in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.runs.corpus import read_corpus


def test_a_first_line_that_is_no_header_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("alice@example.org,my secret diagnosis is long and sad\nbob@example.org,fine\n")
    with pytest.raises(InputError, match="2 columns have no plain names") as error:
        read_corpus(tmp_path / "x.csv", text_field="text")
    assert "secret" not in str(error.value)


def test_a_header_is_shown(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user id,review_text,Größe\n1,a,b\n")
    with pytest.raises(InputError, match="Its columns: user id, review_text, Größe"):
        read_corpus(tmp_path / "x.csv")
