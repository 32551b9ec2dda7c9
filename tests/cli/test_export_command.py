from __future__ import annotations

import ast
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


def test_the_line_that_opens_a_pyldavis_export_works(dplda, saved: str, home: Path) -> None:
    pyldavis = pytest.importorskip("pyLDAvis")
    line = dplda("export", saved, "--to", "pyldavis", "--out", home / "m.json").out
    written = {}
    pyldavis.save_html = lambda prepared, path: written.update({path: prepared})
    exec(line.rpartition("Open it with: ")[2])
    assert list(written) == [str(home / "m.html")]


def test_people_are_told_how_to_open_a_pyldavis_export(dplda, saved: str, home: Path) -> None:
    line = dplda("export", saved, "--to", "pyldavis", "--out", home / "m.json").out.rpartition("Open it with: ")[2]
    assert ast.unparse(ast.parse(line)).endswith(f"{str(home / 'm.html')!r})")
    assert "pyLDAvis.prepare(**json.load(open(" in line


def test_people_are_told_how_to_open_a_gensim_model(dplda, saved: str, home: Path) -> None:
    assert "LdaModel.load" in dplda("export", saved, "--to", "gensim", "--out", home / "g").out
