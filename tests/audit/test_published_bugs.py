"""Bugs that libraries for differential privacy had: a variant of each, in the product, is found by a replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from full_helpers import full_after

from benchmarks.audit.broken import BROKEN, noise_halved
from benchmarks.audit.published_bugs import OTHERS, PAPER
from dplda.audit.replay import replay

PAGE = Path(__file__).resolve().parents[2] / "docs" / "published-bugs.md"
BUGS = [*PAPER, *OTHERS]


@pytest.mark.parametrize("bug", full_after(10, BUGS), ids=[f"{bug.library}: {bug.bug}" for bug in BUGS])
def test_the_variant_of_a_published_bug_is_found_and_without_it_there_is_none(bug):
    with bug.broken():
        found = replay(bug.game())
    assert bug.check in {violation.check for violation in found.violations}
    assert not replay(bug.game()).violations


def test_the_thirteen_and_the_others_are_on_the_page_with_their_sources():
    assert len(PAPER) == 13
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text("utf-8").splitlines()]
    for bug in BUGS:
        (row,) = [row for row in rows if row[:2] == [bug.library, bug.bug]]
        assert row[3:] == [bug.variant, bug.check]
        assert all(source in row[2] for source in bug.source.split("; "))


@pytest.mark.parametrize(("what", "broken", "make"), BROKEN)
def test_a_replay_finds_what_the_attack_finds_unless_the_source_of_noise_itself_is_broken(what, broken, make):
    with broken():
        found = replay(make(8.0))
    assert bool(found.violations) == (broken is not noise_halved)
