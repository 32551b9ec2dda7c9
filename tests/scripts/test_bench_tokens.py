from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import tokens


def test_all_count_the_same_words_of_plain_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "talk.jsonl"
    lines = [{"body": "Stars and planets, stars!"}, {"body": "hockey goal x"}, {"body": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    tokens.measure(path, text_field="body", language="en", repeats=2)
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()
    ]
    assert [row[0].split(",")[0] for row in rows] == ["spaCy `nlp.pipe`", "spaCy `nlp.pipe`", "dplda", "dplda"]
    assert all(len(row) == len(header) for row in rows)
    assert [row[-1] for row in rows] == ["9", "4", "4", "4"]
