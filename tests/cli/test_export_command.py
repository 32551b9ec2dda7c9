from __future__ import annotations

from pathlib import Path

import pytest

from dplda.model import EXPORTERS


@pytest.mark.parametrize("kind", EXPORTERS)
def test_each_kind_is_written_and_named(dplda, saved: str, home: Path, kind: str) -> None:
    record = dplda("export", saved, "--to", kind, "--out", home / "out", "--json").json
    assert record["to"] == kind
    assert record["files"]
    assert all(Path(file).is_file() for file in record["files"])
    again = dplda("export", saved, "--to", kind, "--out", home / "out")
    assert again.status == 2
    assert "exists already" in again.err


def test_people_are_told_how_to_open_a_gensim_model(dplda, saved: str, home: Path) -> None:
    assert "LdaModel.load" in dplda("export", saved, "--to", "gensim", "--out", home / "g").out
