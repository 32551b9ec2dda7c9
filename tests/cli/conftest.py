"""Running commands in this process against a ledger of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dplda.base.config import PrivacySettings
from dplda.budget import Ledger
from dplda.budget.events import Event
from dplda.budget.sketches import Fingerprint
from dplda.cli.main import main
from dplda.model import TopicModel

EVENTS = (Event(stage="size", noise_multiplier=10.0), Event(stage="M1 clip", mechanism="pure", epsilon=0.1))


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        return json.loads(self.out)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with the default ledger in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    return tmp_path


def sample_lines(folder: Path, documents: int) -> list[str]:
    """The lines of JSON of `dplda corpus sample`."""
    assert main(["corpus", "sample", str(folder / "s"), "--documents", str(documents)]) == 0
    with gzip.open(folder / "s" / "sample.jsonl.gz", "rt") as file:
        return file.readlines()


@pytest.fixture(scope="session")
def sample_1500(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return sample_lines(tmp_path_factory.mktemp("sample"), 1500)


@pytest.fixture(scope="session")
def sample_3000(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return sample_lines(tmp_path_factory.mktemp("sample"), 3000)


@pytest.fixture
def dplda(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command in `home`."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Answer(status, *capsys.readouterr())

    return run


@pytest.fixture
def saved(home: Path, model: TopicModel) -> str:
    """A finished run of dataset `reviews` with its model; returns its id."""
    reservation = Ledger().reserve(
        dataset="reviews",
        unit="document",
        privacy=PrivacySettings(epsilon=1.25),
        events=EVENTS,
        parameters={"placement": "default"},
        sound=True,
    )
    reservation.bind(Fingerprint("fingerprint"))
    for event in EVENTS:
        reservation.charge(event)
    model.save(home / "models" / "saved")
    reservation.finish(model=str(home / "models" / "saved"), seconds={"read": 1.234})
    return reservation.run
