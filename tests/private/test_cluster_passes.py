"""Passes on a real Dask cluster: the same integers, one worker lost or not, and clear refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from contextlib import contextmanager

import numpy as np
import pytest
from small_store import COUNTS, WORDS, everything

import dplda
from dplda.base.errors import ClusterError, InputError
from dplda.private.passes import cluster_passes as cluster
from dplda.private.passes.cluster_passes import ClusterPasses, _Hidden, connected
from dplda.private.passes.local_passes import LocalPasses

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'dplda[dask]'")
pytestmark = pytest.mark.filterwarnings("ignore")
QUIET = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5", "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "10"}


def started(*arguments):
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    return subprocess.Popen(command, env=os.environ | QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scheduling(folder):
    file = folder / "scheduler.json"
    process = started("dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    deadline = time.monotonic() + 60
    while not file.exists() or not file.read_text():
        assert time.monotonic() < deadline, "no scheduler"
        time.sleep(0.1)
    return process, json.loads(file.read_text())["address"]


def worker(address, folder):
    return started(
        "dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)
    )


@contextmanager
def workers(number, address, folder):
    """Start workers, so that the cluster has `number` of them, and stop them again."""
    with distributed.Client(address, set_as_default=False) as client:
        processes = [worker(address, folder) for _ in range(number - len(client.scheduler_info()["workers"]))]
        client.wait_for_workers(number, timeout=60)
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def cluster_address(tmp_path_factory):
    """The address of a scheduler with two workers, which tests leave alive; both are seen to be missing at first."""
    folder = tmp_path_factory.mktemp("cluster")
    process, address = scheduling(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "_TIMEOUT_SECONDS", 1.0)
        with pytest.raises(InputError, match="has no workers"), connected(address):
            pass
    with workers(2, address, folder):
        yield address
    process.kill()
    process.wait()


def test_sums_on_a_cluster_are_those_of_one_process(store, cluster_address, monkeypatch):
    monkeypatch.setattr(cluster, "_FAN_IN", 2)
    monkeypatch.setattr(cluster, "_RANGES_PER_THREAD", 5)
    with connected(cluster_address) as client:
        for here, there in zip(everything(LocalPasses(store)), everything(ClusterPasses(store, client)), strict=True):
            np.testing.assert_array_equal(here, there)


@pytest.mark.full
def test_tables_on_a_cluster_are_those_of_one_process(tmp_path, any_size, cluster_address):
    people = [f"p{row % 9}" for row in range(COUNTS.shape[0])]
    days = [f"2024-0{row % 3 + 1}-05T23:30:00+00:00" for row in range(COUNTS.shape[0])]
    made = dplda.Corpus.from_counts(COUNTS, WORDS, people, groups={"who": people, "day": days})
    made.write(tmp_path / "store")
    corpus = dplda.read_corpus(tmp_path / "store")
    model = dplda.fit(corpus, n_topics=2, vocabulary=WORDS, epsilon=8, ledger=False, simulate_seed=1)

    def table(**where):
        options = {"zone": "Europe/Berlin", "ledger": False, "simulate_seed": 2}
        return dplda.tabulate(model, corpus, ["who,month(day)"], 50.0, **options, **where)[0]

    here, there = table(), table(engine="dask", scheduler=cluster_address)
    assert here.groups == there.groups
    np.testing.assert_array_equal(here.totals, there.totals)


@pytest.mark.full
def test_a_worker_killed_in_mid_run_changes_nothing(tmp_path, cluster_address, monkeypatch):
    store = dplda.Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "store")
    corpus = dplda.read_corpus(store.path)

    def fit(**where):
        return dplda.fit(corpus, n_topics=2, vocabulary=WORDS, epsilon=8, ledger=False, simulate_seed=1, **where)

    expected, asked, added = fit(), [], ClusterPasses._sum_ranges

    def with_a_death(self, *arguments, **own):
        asked.append(arguments)
        if len(asked) == 4:  # it holds ranges, and tasks are on their way
            threading.Timer(0.02, os.kill, (third.pid, signal.SIGKILL)).start()
        return added(self, *arguments, **own)

    monkeypatch.setattr(ClusterPasses, "_sum_ranges", with_a_death)
    with workers(3, cluster_address, tmp_path) as (third,):
        found = fit(engine="dask", scheduler=cluster_address)
        assert third.wait() == -signal.SIGKILL
    np.testing.assert_array_equal(found.topics, expected.topics)


@pytest.mark.full
def test_the_command_line_runs_on_a_cluster(tmp_path, cluster_address):
    dplda.Corpus.from_counts(COUNTS, WORDS, name="c").write(tmp_path / "store")
    (tmp_path / "words").write_text("\n".join(WORDS))
    arguments = ["fit", str(tmp_path / "store"), "--topics", "2", "--vocabulary", str(tmp_path / "words"), "--json"]
    arguments += ["--ledger", str(tmp_path / "l.db"), "--out", str(tmp_path / "m"), "--engine", "dask"]
    command = [
        sys.executable,
        "-c",
        "from dplda.cli.main import main; raise SystemExit(main())",
        *arguments,
        "--scheduler",
        cluster_address,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["privacy"]["sound"]


def test_what_cannot_work_is_refused_before_anything_is_spent(tmp_path, cluster_address, monkeypatch):
    ledger = dplda.Ledger(tmp_path / "l.db")
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, name="c", public_vocabulary=True)
    where = {"engine": "dask", "scheduler": cluster_address, "ledger": ledger, "n_topics": 2}
    with pytest.raises(InputError, match="in memory only"):
        dplda.fit(corpus, **where)
    written = corpus.write(tmp_path / "store")
    monkeypatch.setattr(cluster, "_arithmetic", lambda: "another processor")
    with pytest.raises(InputError, match="same version"):
        dplda.fit(corpus, **where)
    monkeypatch.undo()
    monkeypatch.setattr(type(written.path), "resolve", lambda self: tmp_path / "elsewhere")
    with pytest.raises(InputError, match="Not every worker can read"):
        dplda.fit(corpus, **where)
    assert all(run.cost.mu_squared == 0 for run in ledger.runs())


def test_config4_and_missing_addresses_are_refused(tmp_path):
    corpus = dplda.Corpus.from_counts(COUNTS, WORDS, public_vocabulary=True)
    with pytest.raises(InputError, match="config4"):
        dplda.fit(corpus, n_topics=2, placement="config4", engine="dask", scheduler="tcp://127.0.0.1:1", ledger=False)
    with pytest.raises(InputError, match="needs the address"), connected(None):
        pass


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr(cluster, "_TIMEOUT_SECONDS", 1.0)
    with pytest.raises(InputError, match="No Dask scheduler answers"), connected("tcp://127.0.0.1:1"):
        pass
    with pytest.raises(InputError, match="No Dask scheduler answers"), connected("nothing://at all"):
        pass
    with pytest.raises(InputError, match="needs the keys"), connected("tls://127.0.0.1:1"):
        pass


def test_a_worker_of_another_kind_that_joins_late_computes_nothing():
    with pytest.raises(ClusterError, match="joined"):
        cluster._load(
            _Hidden("another processor"), _Hidden(("nowhere", "")), _Hidden(None), _Hidden(cluster.UnitRange())
        )


def test_adding_leaves_the_parts_as_they_are_since_they_may_be_added_again_or_shared():
    parts = [_Hidden((np.full(3, i), i)) for i in (1, 2, 3)]
    for part in parts:
        part.value[0].flags.writeable = False
    total, mass = cluster._sum(*parts).value
    assert (total.tolist(), mass) == ([6, 6, 6], 6)


def test_another_store_in_the_place_of_the_first_is_never_read(tmp_path):
    first = dplda.Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "store")
    where = _Hidden((str(first.path), first.identity))
    task = _Hidden(cluster._arithmetic()), where, _Hidden(None), _Hidden(cluster.UnitRange())
    assert cluster._load(*task).value.n_units == COUNTS.shape[0]
    shutil.rmtree(first.path)
    second = dplda.Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "store")
    assert second.identity != first.identity
    with pytest.raises(ClusterError, match="taken the place"):
        cluster._load(*task)


@pytest.mark.full
def test_workers_that_see_another_store_are_refused(tmp_path, cluster_address):
    store = dplda.Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "store")
    store.identity = "of the same path on this machine"
    with connected(cluster_address) as client, pytest.raises(InputError, match="the same corpus store"):
        ClusterPasses(store, client)


@pytest.mark.slow  # Dask gives up after a quarter of a minute
@pytest.mark.full
def test_a_scheduler_that_dies_ends_the_run_with_one_line(tmp_path, caplog):
    store = dplda.Corpus.from_counts(COUNTS, WORDS).write(tmp_path / "store")
    boss, address = scheduling(tmp_path)
    labour = worker(address, tmp_path)
    try:
        with connected(address) as client:
            passes = ClusterPasses(store, client)
            passes.n_units()
            boss.kill()
            boss.wait()
            with pytest.raises(ClusterError, match="connection to the cluster is lost"):
                passes.count_units()
    finally:
        for process in (boss, labour):
            process.kill()
            process.wait()
    assert not [record for record in caplog.records if record.name == "distributed.client"]


def secretive(counts, threads, *given):
    raise ValueError("canary")


def test_a_failing_task_shows_nothing_of_what_it_holds(tmp_path):
    """Dask writes a failing task's arguments, message and traceback into the worker's log."""
    held = _Hidden(np.array([271828])), _Hidden(("canary",))
    assert not any(word in repr(held) for word in ("271828", "canary"))
    task = _Hidden(cluster._arithmetic()), _Hidden(secretive), _Hidden(None), _Hidden(("canary",)), _Hidden(())
    with pytest.raises(ClusterError) as caught:
        cluster._work(*task)
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_dask_is_told_how_large_what_a_worker_keeps_is(tmp_path):
    counts = cluster.read_range(dplda.Corpus.from_counts(COUNTS, WORDS).open(), None, cluster.UnitRange())
    held = counts.indptr.nbytes + counts.words.nbytes + counts.counts.nbytes + counts.unit_ptr.nbytes
    assert 1 <= sys.getsizeof(_Hidden(counts)) / held < 1.1
    assert sys.getsizeof(_Hidden((np.zeros(10**6), 1))) >= 8 * 10**6


@pytest.mark.full
def test_task_names_and_errors_say_nothing_of_what_is_summed(store, cluster_address, monkeypatch):
    with connected(cluster_address) as client:
        passes = ClusterPasses(store, client)
        names = []
        submit = passes._client.submit
        monkeypatch.setattr(passes._client, "submit", lambda *a, **k: names.append(k["key"]) or submit(*a, **k))
        everything(passes)
    assert {name.split("-")[0] for name in names} == {"same", "load", "work", "sum"}
