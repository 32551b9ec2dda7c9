"""Fixtures shared by the test folders; its place here also puts `tests` on the path, for `handmade`."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from chat_stand_in import StandIn, stand_in
from handmade import make_model
from hypothesis import settings
from markupsafe import Markup

from dplda.model import TopicModel

# How long one example takes says nothing on machines that others use, too. The same examples in every run: a change is
# not refused for what it did not touch. scripts/prove looks for new ones.
settings.register_profile("quick", deadline=None, max_examples=6, derandomize=True)
settings.register_profile("usual", deadline=None, max_examples=15, derandomize=True)  # of .ci/run
settings.register_profile("thorough", deadline=None, max_examples=400)
settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what was imported, which it would look at again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


SHARED = {"ran", "killed", "full", "show", "cluster_address"}  # fixtures of a module that take seconds


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Put tests that share a slow fixture first: workers take each other's last tests, and would make it again."""
    items.sort(key=lambda item: SHARED.isdisjoint(item.fixturenames))


@pytest.fixture
def model() -> TopicModel:
    return make_model()


@pytest.fixture
def server() -> Iterator[StandIn]:
    """A stand-in for the server of a language model."""
    with stand_in() as answer:
        yield answer


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts this process, which a shell that runs it in the background would prevent."""
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on few documents go on to their end."""
    monkeypatch.setattr("dplda.runs.words.require_documents", lambda *_, **__: None)


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with an empty picture for each chart, for tests of sentences. Most of a page's time is that of charts."""
    monkeypatch.setattr("dplda.report.pictures.Chart.svg", lambda chart, name: Markup("<svg></svg>"))


@pytest.fixture(scope="session", autouse=True)
def witnesses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the witnesses of all ledgers: none is written to the user's own state folder."""
    folder = tmp_path_factory.mktemp("witnesses")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPLDA_WITNESS", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def witness(witnesses: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A witness for the ledgers of this test alone, since ledgers of several tests may have the same key."""
    folder = Path(mkdtemp(dir=witnesses))
    monkeypatch.setenv("DPLDA_WITNESS", str(folder))
    return folder


@pytest.fixture(autouse=True)
def default_ledger(witnesses: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default ledger for this test alone, in place of the user's own."""
    monkeypatch.setenv("DPLDA_LEDGER", f"{mkdtemp(dir=witnesses)}/ledger.db")
