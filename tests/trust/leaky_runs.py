"""Run `dplda` on documents full of canaries, and let it fail wherever and however it can: started by
tests/trust/test_side_doors.py in a process of its own, since it forks.

Breaks some steps, or all with the further argument `everywhere`. Every case has a folder of its own with all that the
program wrote, standard output and error included. Prints one JSON line a case: its name and exit status (that of the
signal, negative, if one ended it).
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from canaries import SECRET, write_corpora

import dplda.cli.fit_command
import dplda.report
import dplda.runs.run
import dplda.text.counting
import dplda.text.json_lines
from dplda.budget import Ledger, Reservation
from dplda.cli.main import main
from dplda.model import EXPORTERS, TopicModel
from dplda.private.curator import Curator
from dplda.private.noise import ExactNoise, SimulatedNoise
from dplda.private.store.count_store import CountStore
from dplda.private.store.fingerprint import Fingerprinter
from dplda.private.store.writer import PartialStore, StoreWriter
from dplda.text.counting import WordCounter
from dplda.text.words import FastTokens

STEPS: tuple[tuple[Any, str], ...] = (
    (dplda.text.json_lines, "_parse"),
    (Ledger, "reserve"),
    (FastTokens, "words"),
    (WordCounter, "count"),
    (StoreWriter, "append"),
    (StoreWriter, "_flush"),
    (StoreWriter, "_finish"),
    (PartialStore, "add"),
    (Fingerprinter, "to_json"),
    (CountStore, "blocks"),
    (dplda.runs.run, "fingerprint"),
    (Reservation, "bind"),
    (Reservation, "charge"),
    (Curator, "choose_words"),
    (Curator, "use_words"),
    (Curator, "clip"),
    (Curator, "release_jointly"),
    (Curator, "_clipped_sum"),
    (TopicModel, "save"),
    (Reservation, "finish"),
    (dplda.cli.fit_command, "show_topics"),
)
KILLED = ("append", "to_json", "charge", "save")


def _interrupted() -> None:
    raise KeyboardInterrupt(SECRET)


def _failed() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise ValueError(SECRET, {"text": SECRET}) from error


def _undecodable() -> None:
    SECRET.encode().decode("utf-16")
    raise UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET)


def _full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), SECRET)


def _left() -> None:
    raise SystemExit(SECRET)


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


FAILURES: tuple[Callable[[], None], ...] = (_interrupted, _undecodable, _full, _left)
Case = tuple[str, list[list[str]], Callable[[], None]]


def cases(corpora: Path, everywhere: bool) -> Iterator[Case]:
    """Name, commands, and what to break before: every step in every way if `everywhere`, else some of them."""
    notes = str(corpora / "notes.jsonl")
    columns = ["--unit-field", "patient", "--id-field", "id"]
    fit = ["fit", notes, "--topics", "2", "--max-document-frequency", "1"]
    shown = [
        ["topics", "./model", "--csv", "topics.csv"],
        ["transform", "./model", notes, "--out", "p.csv", "--json"],
        ["report", "./model", "--output", "report.html"],
        *(["export", "./model", "--to", kind, "--out", f"out-{kind}"] for kind in EXPORTERS),
        ["runs", "show", "notes"],
        ["runs", "--json"],
        ["budget", "show"],
        ["budget", "verify"],
        ["corpus", "info", notes],
    ]
    yield "everything", [[*fit, *columns, "--out", "model"], *shown], _nothing
    yield "json", [[*fit, *columns, "--out", "model", "--json"]], _nothing
    yield "folder", [[*fit[:1], str(corpora / "files"), *fit[2:]]], _nothing
    yield "late", [["fit", str(corpora / "late.csv"), *fit[2:]]], _nothing
    yield "late lines", [["fit", str(corpora / "late.csv"), "--one-line", *fit[2:]]], _nothing
    yield "headless", [["fit", str(corpora / "headless.csv"), *fit[2:]]], _nothing
    yield "no such column", [[*fit, "--text-field", "body"]], _nothing
    yield "no words", [[*fit, "--epsilon", "0.01"]], _nothing
    yield "too many topics", [[*fit[:2], "--topics", "900", "--vocabulary", str(corpora / "words")]], _nothing
    grant = ["budget", "grant", "notes", "--epsilon", "1", "--delta", "1e-6"]
    yield "no budget", [grant, fit], _nothing
    yield "import", [["corpus", "import", notes, "store", *columns]], _nothing
    for owner, name in STEPS if everywhere else STEPS[::4]:
        yield f"fails at {name}", [fit], _breaking(owner, name, _failed)
    for failure in FAILURES:
        for owner, name in STEPS if everywhere else STEPS[3:4]:
            yield f"{failure.__name__[1:]} at {name}", [fit], _breaking(owner, name, failure)
    for owner, name in STEPS:
        if name in KILLED:
            yield f"killed at {name}", [fit], _breaking(owner, name, _killed)
    for size in (10_000, 100_000):
        yield f"disk full at {size}", [fit], _limiting(size)
    yield "disk full at import", [["corpus", "import", notes, "store"]], _limiting(100_000)
    yield "worker fails", [[*fit, "--tokenizer", "spacy"]], _small_chunks


def _nothing() -> None:
    """Break nothing."""


def _breaking(owner: Any, name: str, failure: Callable[[], None]) -> Callable[[], None]:
    assert hasattr(owner, name), f"{owner.__name__} has no {name} to break"

    def broken(*_: Any, **__: Any) -> None:
        document = SECRET  # a local variable, which a traceback with values would show
        failure()
        raise RuntimeError(document)

    return lambda: setattr(owner, name, broken)


def _limiting(size: int) -> Callable[[], None]:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing more then fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def _small_chunks() -> None:
    """Count words in processes of their own, one of which dies over a document."""
    dplda.text.counting._CHUNK_DOCUMENTS = 40
    dplda.text.counting._count_here = _dying  # type: ignore[assignment]


def _dying(texts: list[str]) -> None:
    raise ValueError(texts[0])


def run(case: Case, folder: Path) -> int:
    """Fork, break, run the commands there with pipes for the output; the exit status of the last."""
    _, commands, breaking = case
    folder.mkdir()
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        status = 99
        try:
            for number, (_, writing) in enumerate(pipes, 1):
                os.dup2(writing, number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            _settle(folder)
            breaking()
            for command in commands:
                status = main(command)
        finally:
            sys.stdout.flush()
            os._exit(status)
    for name, (reading, writing) in zip(("stdout", "stderr"), pipes, strict=True):
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            (folder / name).write_bytes(pipe.read())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _settle(folder: Path) -> None:
    """Give the process a home in `folder` and rights that hide nothing by themselves."""
    for name in ("tmp", "home", "work"):
        (folder / name).mkdir()
    os.umask(0)
    os.environ |= {"TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home")}
    os.environ |= {f"XDG_{kind}_HOME": str(folder / "home" / kind) for kind in ("CACHE", "DATA", "STATE", "CONFIG")}
    os.environ.pop("DPLDA_WITNESS", None)  # of the tests: by default it is at home, too
    tempfile.tempdir = None
    os.chdir(folder / "work")


def prove(folder: Path, everywhere: bool) -> None:
    """Warm up, so that forks are quick, then run every case."""
    corpora = folder / "corpora"
    corpora.mkdir()
    write_corpora(corpora)
    ExactNoise.gaussian = SimulatedNoise(0).gaussian  # type: ignore[assignment]  # fast: tested elsewhere
    everything = list(cases(corpora, everywhere))
    (folder / "warm").mkdir()
    os.environ["DPLDA_CACHE"], os.environ["DPLDA_LEDGER"] = str(folder / "warm"), str(folder / "warm" / "ledger.db")
    with redirect_stdout(io.StringIO()):
        main([*everything[1][1][0][:-3], "--out", str(folder / "warm" / "model")])
    del os.environ["DPLDA_CACHE"], os.environ["DPLDA_LEDGER"]
    for number, case in enumerate(everything):
        place = folder / f"case{number}"
        print(json.dumps({"case": case[0], "folder": place.name, "status": run(case, place)}), flush=True)


if __name__ == "__main__":
    prove(Path(sys.argv[1]), sys.argv[2:] == ["everywhere"])
