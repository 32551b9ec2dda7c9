"""The commands of docs/benchmarks.md can be run again, one or all."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from benchmarks import page

TEXT = """# Benchmarks

## How to read

```sh
python scripts/benchmarks --help
```

## How good?

```sh
echo prepared > corpus.txt
python scripts/benchmarks {command}
```

## How fast?

```sh
python scripts/benchmarks speed nowhere
```
"""


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "page.md"
    path.write_text(TEXT.format(command="plan --help"))
    monkeypatch.setattr(page, "PAGE", path)
    folder = tmp_path / "corpora"
    folder.mkdir()
    (folder / "news.txt").write_text("news")
    return folder


def test_a_block_is_found_by_its_last_command_and_how_to_read_has_none() -> None:
    assert list(page.blocks(TEXT.format(command="plan"))) == ["plan", "speed"]


def test_every_section_with_a_table_names_one_command() -> None:
    sections = re.split(r"^###? ", page.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[2:]
    without = [section.splitlines()[0] for section in sections if "\n|" in section and page.PROGRAM not in section]
    assert without == []


def test_a_chosen_command_runs_in_the_folder_and_tells_where_and_when(tmp_path: Path, corpora: Path) -> None:
    page.run(tmp_path / "out", corpora, ["plan"])
    told = (tmp_path / "out" / "plan.md").read_text()
    assert told.startswith("Usage: python scripts/benchmarks plan")
    assert re.search(r"\n\d+ \w+ \d{4}, .*, \d+ cores.*, \d+ s\n$", told)
    assert (tmp_path / "out" / "corpus.txt").read_text() == "prepared\n"
    assert (tmp_path / "out" / "news.txt").read_text() == "news"
    assert not (tmp_path / "out" / "speed.md").exists()


def test_a_failure_is_told_and_does_not_end_the_rest(tmp_path: Path, corpora: Path) -> None:
    for _ in range(2):  # the folder may be there
        page.run(tmp_path / "out", corpora, [])
    assert (tmp_path / "out" / "speed.md").read_text().endswith("ended with status 2\n")
    assert (tmp_path / "out" / "plan.md").exists()


def test_an_unknown_table_is_refused(tmp_path: Path, corpora: Path) -> None:
    with pytest.raises(click.UsageError, match="no table of nothing"):
        page.run(tmp_path / "out", corpora, ["nothing"])
