"""A few inputs for each target; `python tests/fuzz` tries thousands."""

from __future__ import annotations

import pytest
from full_helpers import full_after

from dplda.base.errors import InputError
from dplda.text.formats import FORMATS
from fuzz.attack import attack
from fuzz.malformed import SAMPLES
from fuzz.targets import TARGETS, Target

FEW = {"command line": 12, "ledger calls": 10, "prepared stores": 15}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """No attack reaches the user's own ledger or cache."""
    for name in ("DPLDA_LEDGER", "DPLDA_CACHE", "HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.mark.parametrize("name", full_after(4, TARGETS))
def test_malformed_input_ends_in_a_result_or_one_line(name):
    tally = attack(TARGETS[name], FEW.get(name, 40), 7)
    assert tally.escaped == {}
    assert tally.outcomes["accepted"] + tally.outcomes["refused"] == tally.outcomes.total() > 0


def test_every_format_is_attacked():
    assert set(SAMPLES) == {*FORMATS, "text"} - {"folder"}


def escaping(error):
    def attempt(given, folder):
        raise error

    return Target(TARGETS["word lists"].inputs, attempt)


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), InputError("two\nlines")])
def test_what_escapes_is_counted_and_shown(error):
    tally = attack(escaping(error), 5, 0)
    assert tally.outcomes == {"ESCAPED": tally.outcomes.total()}
    assert len(tally.escaped) == 1


def test_one_line_is_not_an_escape():
    tally = attack(escaping(InputError("one line")), 5, 0)
    assert tally.outcomes == {"refused": tally.outcomes.total()}
