"""Bytes of the two files changed or cut off: `verify` says so, or what is told is the same to the last digit."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from ledger_helpers import gaussian, reserve, sample, spend

from dplda.base.errors import LedgerError
from dplda.budget import Ledger
from dplda.budget.sketches import Fingerprint

FLIPS = 80


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a ledger with two datasets that share documents, and of its key."""
    ledger = Ledger(tmp_path_factory.mktemp("whole") / "ledger.db")
    ledger.grant("reviews", 9.0, 1e-5)
    spend(ledger, "reviews", Fingerprint("all", sample(range(100))), events=[gaussian(mu_squared=0.5)])
    spend(ledger, "copy", Fingerprint("half", sample(range(50))), events=[gaussian(mu_squared=0.5)])
    reserve(ledger, "copy", events=[gaussian(mu_squared=0.1)])
    return ledger.path.read_bytes(), ledger.key


def told(folder: Path, content: bytes, key: bytes) -> object:
    """All that a ledger of these bytes tells; None if it is refused, or not intact."""
    path = folder / "ledger.db"
    path.write_bytes(content)
    path.with_name("ledger.db.key").write_bytes(key)
    try:
        ledger = Ledger(path)
        if not ledger.verify().ok:
            with pytest.raises(LedgerError):
                reserve(ledger, events=[gaussian(mu_squared=0.01)])
            return None
        return ledger.runs(), ledger.datasets(), [ledger.history(name) for name in ("copy", "reviews")]
    except LedgerError:
        return None


@pytest.mark.full
def test_a_changed_byte_is_found_or_means_nothing(files, tmp_path):
    content, key = files
    whole, dice, found = told(tmp_path, content, key), random.Random(7), 0
    assert whole is not None
    for _ in range(FLIPS):
        changed = bytearray(content)
        changed[dice.randrange(len(content))] ^= dice.randrange(1, 256)
        outcome = told(tmp_path, bytes(changed), key)
        assert outcome is None or outcome == whole
        found += outcome is None
    assert found > FLIPS / 20  # the rest lies where pages are empty


def test_every_byte_of_a_number_in_the_record_matters(files, tmp_path):
    """It is in the table of events and, escaped, in the journal: a change in either is found."""
    content, key = files
    places = [i for i in range(len(content)) if content.startswith(b'"noise_multiplier":1.4142', i)]
    assert len(places) == 2
    for place in places:
        changed = bytearray(content)
        changed[place + len(b'"noise_multiplier":')] = ord("9")
        assert told(tmp_path, bytes(changed), key) is None


def test_a_ledger_cut_off_anywhere_is_refused(files, tmp_path):
    content, key = files
    page = 4096
    lengths = [*range(0, len(content), page), *range(1, len(content), 7 * page // 2), len(content) - 1]
    for length in lengths:
        assert told(tmp_path, content[:length], key) is None, length


def test_pages_put_in_each_others_place_are_found(files, tmp_path):
    content, key = files
    pages = [content[first : first + 4096] for first in range(0, len(content), 4096)]
    whole = told(tmp_path, content, key)
    for first in range(1, len(pages) - 1):
        swapped = [*pages]
        swapped[first], swapped[first + 1] = pages[first + 1], pages[first]
        assert told(tmp_path, b"".join(swapped), key) in (None, whole)


@pytest.mark.parametrize("place", range(0, 32, 5))
def test_a_changed_byte_of_the_key_is_refused(files, tmp_path, place):
    content, key = files
    changed = bytearray(key)
    changed[place] ^= 1
    assert told(tmp_path, content, bytes(changed)) is None


def test_a_copy_with_its_key_is_a_ledger_and_an_old_one_tells_fewer_changes(files, tmp_path, monkeypatch):
    """The one thing that no code in the file can tell: only a witness can, and here it is off."""
    monkeypatch.setenv("DPLDA_WITNESS", "off")
    content, key = files
    assert told(tmp_path, content, key) is not None
    ledger = Ledger(tmp_path / "ledger.db")
    before = ledger.verify().length
    reserve(ledger, "copy", events=[gaussian(mu_squared=0.1)])
    assert ledger.verify().length > before
    assert told(tmp_path, content, key) is not None
    assert Ledger(tmp_path / "ledger.db").verify().length == before
