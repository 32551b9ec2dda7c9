from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dplda.budget import Status
from dplda.budget.comparisons import Cell, Outcome

NUMBERS = st.none() | st.floats(-1e6, 1e6)
CELLS = st.builds(Cell, st.text(), st.text(), st.floats(0.001, 100), st.integers(0, 99))
OUTCOMES = st.builds(
    Outcome,
    cell=CELLS,
    status=st.sampled_from([Status.DONE, Status.UNSUPPORTED]),
    run=st.text(),
    message=st.text(),
    sound=st.booleans(),
    error=NUMBERS,
    coherence=NUMBERS,
    diversity=NUMBERS,
    bound=NUMBERS,
    seconds=st.dictionaries(st.text(), st.floats(0, 1e6)),
    model=st.none() | st.text(),
)


@given(OUTCOMES)
def test_an_outcome_survives_json(outcome):
    assert Outcome.from_json(outcome.cell, json.loads(json.dumps(outcome.to_json()))) == outcome


def test_a_cell_says_what_it_is():
    assert str(Cell("default", "sound", 0.5, 2)) == "default, sound, epsilon 0.5, repeat 2"
