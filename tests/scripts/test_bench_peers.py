from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks import recovery, scale
from benchmarks.corpora import write_store
from benchmarks.kernels import clipped_sum, units_of
from benchmarks.systems import tensorly_topics, whitened_third
from dplda.private import statistics
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.lda_moments import unpack
from dplda.runs.corpus import synthetic
from dplda.runs.grid import matched_error


def test_peer_has_the_same_third_moment() -> None:
    random, clip = np.random.default_rng(0), 100.0
    W, counts = random.standard_normal((7, 3)), sparse.csr_matrix(random.poisson(1.0, (9, 7)) + np.eye(9, 7) * 3)
    units = units_of(counts.astype(np.int32))
    total = clipped_sum(units, statistics.third_moment(W), clip)[0] * (clip / BOUND)
    found = whitened_third(counts, np.asarray(counts.sum(axis=1)).ravel(), W)
    assert found == pytest.approx(unpack(total, 3) / 9, abs=1e-3)


def test_peer_finds_planted_topics() -> None:
    pytest.importorskip("tensorly")
    counts, topics, _ = synthetic(5000, 60, 4, mean_length=60)
    assert matched_error(tensorly_topics(counts, 4, 0), topics).mean() < 0.1


def test_levels_where_nothing_later_is_lower() -> None:
    sweeps = [25, 50, 75, 100]
    assert recovery.levelled(sweeps, [0.9, 0.5, 0.4, 0.399]) == 75
    assert recovery.levelled(sweeps, [0.9, 0.5, 0.4, 0.3]) is None
    assert recovery.levelled(sweeps, [0.30, 0.31, 0.30, 0.31]) == 25


def test_peers_are_told_side_by_side(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorly")
    write_store(tmp_path / "store", 600, 60, 3)
    recovery.measure(tmp_path / "store", 3, 60, 0, [500, 600], ["tomotopy", "tensorly"], sweeps=50, limit=240)
    rows = [line.split(" | ") for line in capfd.readouterr().out.splitlines() if line.startswith("| ")][2:]
    assert [row[0] + " " + row[2] for row in rows] == [
        f"| {n} {system}" for n in (500, 600) for system in ("tomotopy, 50 sweeps", "TensorLy on whitened moments")
    ]
    assert all(0 <= float(row[-1].strip("| ")) <= 2 for row in rows)


@pytest.mark.full
def test_a_stopped_peer_is_said_to_be(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_store(tmp_path / "store", 20, 10, 2)
    recovery.measure(tmp_path / "store", 30, 10, 0, [20], ["tensorly"], 50, 240)  # more topics than words
    assert "| TensorLy on whitened moments | ended with status 1 |" in capfd.readouterr().out


@pytest.mark.parametrize(("weak", "expected"), [(True, 0.8), (False, 0.4)])
def test_efficiency_is_speed_for_each_worker(weak: bool, expected: float) -> None:
    assert scale.efficiency((1, 8.0), (2, 10.0), weak) == pytest.approx(expected)
