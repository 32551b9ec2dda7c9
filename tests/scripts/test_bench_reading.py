from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import reading


@pytest.mark.full
def test_all_read_the_same_records(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(reading.__file__).parents[2]
    reading.measure(megabytes=0.3, repeats=1, before=root)
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()
    ]
    assert all(len(row) == len(header) for row in rows)
    assert [row[1] for row in rows] == ["dplda", "csv.DictReader", "pandas.read_csv", "dplda, before"] * 2
    assert len({row[-1] for row in rows[:4]}) == len({row[-1] for row in rows[4:]}) == 1
