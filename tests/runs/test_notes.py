"""The generated notes are readable, come from many patients on eight areas, and are the same on every machine."""

from __future__ import annotations

import collections
import csv
import hashlib
import re
from pathlib import Path

import pytest

from dplda.base.errors import InputError
from dplda.runs import sample as notes
from dplda.runs.sample import _PHRASES, _SHARES, _WARDS

NOTES = list(notes.notes(4_000, 0))


def test_same_seed_same_notes_and_another_seed_others() -> None:
    first, again, other = (list(notes.notes(50, seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_notes_are_the_same_on_every_machine() -> None:
    assert hashlib.sha256(repr(NOTES).encode()).hexdigest()[:16] == "3bfc42d173652c2f"


def test_every_area_has_a_share_a_ward_and_phrases_of_its_own() -> None:
    assert len(_PHRASES) == len(_SHARES) == 8
    assert sum(_SHARES) == pytest.approx(1)
    assert sorted(area for areas in _WARDS.values() for area in areas) == sorted(_PHRASES)
    phrases = [phrase for slots in _PHRASES.values() for choices in slots.values() for phrase in choices]
    assert all(re.fullmatch("[a-z-]+( [a-z-]+)*", phrase) for phrase in phrases)
    assert len(set(phrases)) == len(phrases)


def test_patients_are_many_and_some_have_several_notes() -> None:
    per_patient = collections.Counter(note["patient"] for note in NOTES)
    assert 1_400 <= len(per_patient) <= 2_000
    assert 5 <= max(per_patient.values()) <= 40


def test_text_reads_as_sentences() -> None:
    for note in NOTES[:200]:
        assert re.fullmatch(r"([A-Z][a-z ,;:-]+\. ?)+", note["text"]), note
        assert 25 <= len(note["text"].split()) <= 70


def test_notes_on_breathing_are_frequent_in_winter() -> None:
    inhaler = [note["date"] for note in NOTES if "inhaler" in note["text"]]
    assert sum(day < "2024-03" for day in inhaler) > len(inhaler) / 3


def test_the_file_holds_the_notes(tmp_path: Path) -> None:
    path = notes.write_notes(tmp_path / "new" / "folder", 30, seed=3)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == list(notes.notes(30, 3))
    with pytest.raises(InputError, match="already there"):
        notes.write_notes(path.parent)


def test_what_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the notes into"):
        notes.write_notes(tmp_path / "file" / "folder")
    for arguments in ({"n_notes": 0}, {"seed": -1}):
        with pytest.raises(InputError, match="must be"):
            notes.write_notes(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()
