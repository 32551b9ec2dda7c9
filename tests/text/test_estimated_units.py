"""How many privacy units a corpus has: counted, or estimated from its first records if it is large."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from dplda.text.records import ReadOptions
from dplda.text.sampling import find_units, read_sample

PEOPLE = 700


def units_of(path: Path, people: Iterable[int], unit: str | None = "u") -> int | None:
    lines = "".join(json.dumps({"text": "the one and only", "u": person}) + "\n" for person in people)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        path.write_text(lines)
    found = find_units(read_sample(path, ReadOptions()), unit)
    assert found is None or found.least <= found.number <= found.most
    return None if found is None else found.number


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every corpus is too large for counting its units."""
    monkeypatch.setattr("dplda.text.sampling._COUNTED_BYTES", 0)


def of_many() -> list[int]:
    """The person of each of about 14,000 records, in the order of persons."""
    rng = random.Random(0)
    return [person for person in range(PEOPLE) for _ in range(rng.randint(1, 40))]


def test_a_small_corpus_is_counted(tmp_path: Path) -> None:
    assert units_of(tmp_path / "x.jsonl", [1, 2, 2, 3, 1]) == 3
    assert units_of(tmp_path / "x.jsonl", [1, 2, 2, 3, 1], None) == 5


@pytest.mark.parametrize("limit", ["_COUNTED_BYTES", "_COUNTED_RECORDS"])
def test_people_are_counted_unless_the_corpus_is_large(tmp_path: Path, monkeypatch, limit: str) -> None:
    """As in an archive in which the first records are of few: an estimate from these would be far off."""
    people = [*random.Random(3).choices(range(900), k=1500), *range(2000)]
    assert units_of(tmp_path / "x.jsonl", people) == 2000
    sample = read_sample(tmp_path / "x.jsonl", ReadOptions())
    assert find_units(sample, "u") == (2000, 2000, 2000)
    monkeypatch.setattr(f"dplda.text.sampling.{limit}", 1000)
    found = find_units(sample, "u")
    assert found is not None
    number, least, most = found
    assert least == len({row["u"] for row in sample.rows}) <= number < 2000 < most


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_people_are_estimated_in_any_order(tmp_path: Path, ending: str, *, shuffled: bool) -> None:
    people = of_many()
    if shuffled:
        random.Random(1).shuffle(people)
    assert units_of(tmp_path / f"x.{ending}", people) == pytest.approx(PEOPLE, rel=0.2)


@pytest.mark.usefixtures("large")
def test_people_with_few_records_each_are_estimated(tmp_path: Path) -> None:
    rng = random.Random(2)
    people = [person for person in range(3300) for _ in range(rng.randint(1, 4))]
    assert units_of(tmp_path / "x.jsonl", people) == pytest.approx(3300, rel=0.2)
    rng.shuffle(people)
    assert units_of(tmp_path / "x.jsonl", people) == pytest.approx(3300, rel=0.2)


@pytest.mark.usefixtures("large")
def test_a_unit_for_each_record_is_not_overestimated(tmp_path: Path) -> None:
    assert units_of(tmp_path / "x.jsonl", range(3000)) == pytest.approx(3000, rel=0.05)


def test_records_of_a_compressed_file_are_counted_up_to_a_limit(tmp_path: Path, monkeypatch) -> None:
    assert units_of(tmp_path / "x.jsonl.gz", range(3000), None) == 3000
    monkeypatch.setattr("dplda.text.sampling._MOST_COUNTED", 1000)
    assert units_of(tmp_path / "x.jsonl.gz", range(3000), None) is None


def test_subfolders_are_counted_by_the_names_of_files(tmp_path):
    for place in ("a/1.txt", "a/2.txt", "b/deep/1.txt", "top.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("some words")
    assert find_units(read_sample(tmp_path, ReadOptions()), "folder") == (2, 2, 2)
