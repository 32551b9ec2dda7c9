"""Kernels are compiled in other processes, before they are needed, and once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace

import pytest
from placement_lists import CALIBRATED

import dplda
from dplda.base.errors import UnsupportedByData
from dplda.learning.placements import registry
from dplda.private.passes import engines, local_passes
from dplda.private.passes.engines import _STAGE, compiling
from dplda.private.passes.local_passes import compile_passes
from dplda.private.statistics.moments import FIRST_MOMENT
from dplda.private.statistics.unit_sums import _loop_over_units, count_eligible
from dplda.private.statistics.word_votes import _votes
from dplda.runs.corpus import synthetic

WORDS = [f"w{number}" for number in range(30)]


class Recorded:
    """A reporter that keeps what it is told."""

    def __init__(self):
        self.stages, self.amount = [], 0

    def start(self, stage, total=None):
        self.stages.append((stage, total))

    def advance(self, amount=1):
        self.amount += amount

    def estimate(self, share):
        pass


@pytest.fixture(scope="module")
def corpus():
    return dplda.Corpus.from_counts(synthetic(2000, len(WORDS), 2, mean_length=40, seed=1)[0], WORDS)


@pytest.mark.parametrize(("name", "calibration"), CALIBRATED)
def test_a_placement_states_the_statistics_that_it_releases(corpus, name, calibration, monkeypatch):
    used, prepare = set(), local_passes._sums_of
    monkeypatch.setattr(
        local_passes,
        "_sums_of",
        lambda contribution, *gpu: used.add(contribution.statistic) or prepare(contribution, *gpu),
    )
    for epsilon in (50, 1):  # the default placement learns from moments or pairs
        with suppress(UnsupportedByData):  # a stability test of config4, after all of its statistics
            dplda.fit(
                corpus,
                n_topics=2,
                epsilon=epsilon,
                placement=name,
                calibration=calibration,
                vocabulary=WORDS,
                simulate_seed=1,
                ledger=False,
            )
    assert used == set(registry.find(name, calibration).statistics)


def test_what_is_compiled_beforehand_is_what_a_fit_calls(corpus):
    statistics = registry.find("default").statistics
    for statistic in (None, *statistics):
        compile_passes(statistic)
    kernels = [_votes, count_eligible, *map(_loop_over_units, statistics)]
    before = [len(kernel.signatures) for kernel in kernels]
    dplda.fit(corpus, n_topics=2, epsilon=50, vocabulary=WORDS, simulate_seed=1, ledger=False)
    dplda.fit(corpus, n_topics=2, epsilon=50, max_document_frequency=1.0, simulate_seed=1, ledger=False)
    assert [len(kernel.signatures) for kernel in kernels] == before


COLD = """
from dplda.private.passes import engines
from dplda.private.passes.local_passes import compile_passes
from dplda.private.statistics.moments import FIRST_MOMENT
from dplda.private.statistics.unit_sums import _loop_over_units

class Bar:
    def start(self, stage, total=None): print(stage, total)
    def advance(self, amount=1): print("+", amount)

with engines.compiling((FIRST_MOMENT,)) as wait:
    wait(Bar())
with engines.compiling((FIRST_MOMENT,)) as wait:
    wait(Bar())
compile_passes(FIRST_MOMENT)
print(sum(_loop_over_units(FIRST_MOMENT).stats.cache_misses.values()), "missed")
"""


@pytest.mark.full
def test_a_cold_cache_is_filled_by_other_processes_once(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{_STAGE} 2", "+ 1", "+ 1", "0 missed"]
    assert not done.stderr


def test_without_a_cache_folder_this_process_compiles(monkeypatch):
    here, bar = [], Recorded()
    monkeypatch.setattr(engines, "cache_folder", lambda: None)
    monkeypatch.setattr(engines, "_compile", here.append)
    with compiling((FIRST_MOMENT,)) as wait:
        assert not here
        wait(bar)
    assert here == [FIRST_MOMENT, None]
    assert (bar.stages, bar.amount) == ([(_STAGE, 2)], 2)


def test_nothing_is_compiled_where_sums_are_computed_elsewhere(monkeypatch):
    monkeypatch.setattr(engines, "_is_compiled", lambda name: False)
    monkeypatch.setattr(engines, "ProcessPoolExecutor", None)
    with compiling((FIRST_MOMENT,), here=False) as wait:
        wait(Recorded())


def test_a_process_that_dies_leaves_the_kernel_to_its_first_use():
    failed: Future[None] = Future()
    failed.set_exception(RuntimeError("killed"))
    bar = Recorded()
    engines._wait([failed], bar)
    assert bar.amount == 1


def test_a_statistic_from_outside_is_compiled_when_it_is_used(monkeypatch):
    monkeypatch.setattr(engines, "_is_compiled", lambda kernel: kernel is None)
    bar = Recorded()
    with compiling((replace(FIRST_MOMENT, replace_factor=3.0),)) as wait:
        wait(bar)
    assert not bar.stages
