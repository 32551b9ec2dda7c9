"""An older copy of a ledger, put in the place of the newer one, is noticed and refused; nothing else is."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_helpers import contents, gaussian, grant, in_processes, put_back, reserve
from sqlalchemy import event

from dplda.base.errors import LedgerError
from dplda.budget import Ledger, database
from dplda.budget.sketches import Fingerprint

SMALL = {"events": [gaussian(mu_squared=0.01)] * 3}


def marks(folder: Path) -> list[int]:
    """The lengths in the one file of marks."""
    [file] = folder.glob("*.marks")
    return [int(line.split()[0]) for line in file.read_text().splitlines() if line]


@pytest.fixture
def old(ledger):
    """A ledger with an open, bound run, of which an older copy was put back; and that run."""
    run = reserve(ledger, **SMALL)
    run.bind(Fingerprint("f"))
    run.charge(run.events[0])
    files = contents(ledger)
    run.charge(run.events[1])
    put_back(files)
    return ledger, run


CHANGES = {
    "reserve": lambda ledger, run: reserve(ledger, **SMALL),
    "bind": lambda ledger, run: run.bind(Fingerprint("f")),
    "charge": lambda ledger, run: run.charge(run.events[1]),
    "finish": lambda ledger, run: run.finish(model=None, seconds={}),
    "abandon": lambda ledger, run: run.abandon("failed", ""),
    "grant": lambda ledger, run: ledger.grant("reviews", 20.0, 1e-5),
    "compare": lambda ledger, run: ledger.begin_comparison(key="k", corpus="c", kind="private", parameters={}),
    "quote": lambda ledger, run: ledger.quote(
        dataset="reviews", unit="document", adjacency="add-remove", delta=1e-6, plans=[], sound=True
    ),
    "check public": lambda ledger, run: ledger.check_public("reviews", Fingerprint("f")),
    "runs": lambda ledger, run: ledger.runs(),
    "history": lambda ledger, run: ledger.history("reviews"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_put_back_is_refused_in_one_line_that_says_what_was_found(old, witness, change):
    ledger, run = old
    before = contents(ledger)
    for each in (ledger, Ledger(ledger.path)):
        with pytest.raises(LedgerError) as error:
            CHANGES[change](each, run)
        found = f"is an older copy: it has 8 recorded changes, and its witness in {witness} knows of 9"
        assert found in str(error.value)
        assert "dplda budget accept-copy" in str(error.value)
        assert "\n" not in str(error.value)
    assert contents(ledger) == before


def test_verify_tells_an_old_copy_and_the_newest_one_is_taken_again(ledger):
    grant(ledger)
    older = contents(ledger)
    grant(ledger)
    newest = contents(ledger)
    put_back(older)
    found = ledger.verify()
    assert "is an older copy" in found.problems[0]
    assert (found.ok, found.length, len(found.problems)) == (False, 2, 1)
    put_back(newest)
    grant(ledger)
    assert ledger.verify().ok


def test_every_change_has_its_mark_when_the_call_returns(ledger, witness):
    grant(ledger)
    run = reserve(ledger, **SMALL)
    for step in (lambda: run.bind(Fingerprint("f")), *[lambda: run.charge(run.events[0])] * 3):
        step()
        assert marks(witness)[-1] == ledger.verify().length
    run.finish(model=None, seconds={})
    assert marks(witness) == sorted(marks(witness))
    assert marks(witness)[-1] == ledger.verify().length


def test_a_copy_put_back_and_continued_elsewhere_is_another_copy(old, monkeypatch):
    ledger, _ = old
    with monkeypatch.context() as unwatched:
        unwatched.setenv("DPLDA_WITNESS", "off")
        grant(Ledger(ledger.path))
    with pytest.raises(LedgerError, match=r"another copy .* change 9 or before"):
        grant(ledger)


def test_two_copies_that_go_on_are_told_apart_wherever_they_lie(ledger, tmp_path):
    grant(ledger)
    shutil.copytree(ledger.path.parent, tmp_path / "copy")
    copy = Ledger(tmp_path / "copy" / "ledger.db")
    grant(copy)
    with pytest.raises(LedgerError, match="older copy"):
        grant(ledger)
    with pytest.raises(LedgerError, match="older copy"):
        ledger.datasets()
    grant(copy)


def test_a_ledger_may_be_moved_and_others_may_use_the_same_witness(ledger, tmp_path, witness):
    grant(ledger)
    ledger.path.parent.rename(tmp_path / "moved")
    moved, other = Ledger(tmp_path / "moved" / "ledger.db"), Ledger(tmp_path / "other.db")
    for each in (other, moved, other, moved):
        grant(each)
    assert len(list(witness.glob("*.marks"))) == 2
    assert len(moved.history("reviews")) == 4


def test_off_keeps_no_marks_and_notices_nothing(ledger, witness, monkeypatch):
    monkeypatch.setenv("DPLDA_WITNESS", "off")
    ledger = Ledger(ledger.path)
    grant(ledger)
    files = contents(ledger)
    grant(ledger)
    put_back(files)
    grant(ledger)
    assert not list(witness.iterdir())
    monkeypatch.setenv("DPLDA_WITNESS", str(witness))
    grant(Ledger(ledger.path))  # the first use is trusted
    assert marks(witness) == [4]


def test_reading_writes_no_mark(ledger, witness, monkeypatch):
    monkeypatch.setenv("DPLDA_WITNESS", "off")
    reserve(Ledger(ledger.path), **SMALL)
    monkeypatch.setenv("DPLDA_WITNESS", str(witness))
    ledger = Ledger(ledger.path)
    assert ledger.runs()
    assert ledger.datasets()
    assert ledger.history("reviews")
    assert ledger.verify().ok
    assert ledger.comparison("k") is None
    assert not list(witness.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_without_a_setting_marks_are_in_the_users_state_folder_for_their_owner_only(ledger, tmp_path, monkeypatch):
    folder = tmp_path / "state" / "dplda"
    monkeypatch.setenv("DPLDA_WITNESS", "")
    monkeypatch.setattr(database, "user_state_path", lambda *_, **__: folder)
    ledger = Ledger(ledger.path)
    assert not folder.exists()
    grant(ledger)
    assert (mode(folder), len(list(folder.iterdir()))) == (0o700, 2)
    assert {mode(file) for file in folder.iterdir()} == {0o600}


def missing(folder: Path, _: pytest.MonkeyPatch) -> str:
    folder.rename(folder.with_name("unmounted"))
    return "No such file or directory"


def no_folder(folder: Path, _: pytest.MonkeyPatch) -> str:
    shutil.rmtree(folder)
    folder.touch()
    return "Not a directory"


def not_ours(folder: Path, _: pytest.MonkeyPatch) -> str:
    next(folder.glob("*.marks")).unlink()
    next(folder.glob("*.lock")).with_suffix(".marks").mkdir()
    return "Is a directory"


def full(_: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(database.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 100, 0))
    return "No space left on device"


@pytest.mark.parametrize("spoil", [missing, no_folder, not_ours, full])
def test_a_witness_that_cannot_be_written_refuses_before_anything_is_spent(ledger, witness, monkeypatch, spoil):
    run = reserve(ledger, **SMALL)
    run.bind(Fingerprint("f"))
    before = contents(ledger)
    reason = spoil(witness, monkeypatch)
    for change in (lambda: run.charge(run.events[0]), lambda: reserve(Ledger(ledger.path))):
        with pytest.raises(LedgerError, match=f"witness in .* cannot be .*: {reason}.*Set DPLDA_WITNESS to") as error:
            change()
        assert "\n" not in str(error.value)
    assert contents(ledger) == before


def test_a_mark_that_could_not_be_written_leaves_the_change_and_says_so(ledger, monkeypatch):
    grant(ledger)
    with monkeypatch.context() as patched:
        patched.setattr(database.os, "fsync", fail)
        with pytest.raises(LedgerError, match="Input/output error"):
            grant(ledger)
    assert len(ledger.history("reviews")) == 3


def fail(_: int) -> None:
    raise OSError(5, "Input/output error")


def test_a_witness_that_holds_no_mark_of_the_ledger_is_damaged(ledger, witness):
    grant(ledger)
    [file] = witness.glob("*.marks")
    for text in ("\n1 2 3\n", "\n" + "x" * 9000 + "\n", file.read_text().replace("a", "b").replace("1", "2")):
        file.write_text(text)
        for use in (ledger.runs, ledger.verify, lambda: grant(ledger)):
            with pytest.raises(LedgerError, match=f"witness in .* is damaged.*It is named {file.stem}"):
                use()


def test_a_mark_cut_short_at_any_byte_is_left_out_and_the_next_change_adds_its_own(ledger, witness):
    grant(ledger)
    [file] = witness.glob("*.marks")
    first = file.read_bytes()
    grant(ledger)
    whole, saved = file.read_bytes(), contents(ledger)
    for size in range(len(first), len(whole), 7):
        file.write_bytes(whole[:size])
        put_back(saved)
        assert ledger._store.witness.latest().length == 2
        grant(ledger)
        assert ledger._store.witness.latest().length == ledger.verify().length == 4


def test_of_a_long_file_of_marks_the_last_one_counts(ledger, witness):
    for _ in range(40):
        grant(ledger)
    [file] = witness.glob("*.marks")
    assert file.stat().st_size > 4096
    assert ledger._store.witness.latest().length == ledger.verify().length == 41


def test_a_change_that_is_not_committed_leaves_no_mark(ledger, witness):
    grant(ledger)

    @event.listens_for(ledger._store._engine, "commit")
    def refuse(_connection):
        raise LedgerError("power cut")

    with pytest.raises(LedgerError, match="power cut"):
        grant(ledger)
    assert marks(witness) == [2] == [Ledger(ledger.path).verify().length]


# Several processes, and processes that die.


def die_before_the_mark(path: Path, setting: str) -> None:
    os.environ["DPLDA_WITNESS"] = setting
    ledger = Ledger(path)
    setattr(database.Mark, "to_line", lambda *_: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010
    grant(ledger)


def test_a_process_killed_between_its_change_and_the_mark_leaves_a_ledger_that_goes_on(ledger, witness):
    grant(ledger)
    assert in_processes(die_before_the_mark, [(ledger.path, str(witness))]) == [-signal.SIGKILL]
    assert (marks(witness), ledger.verify().length, ledger.verify().ok) == ([2], 3, True)
    grant(ledger)
    assert marks(witness) == [2, 4]


def work(path: Path, setting: str, role: int) -> None:
    os.environ["DPLDA_WITNESS"] = setting
    ledger = Ledger(path)
    for _ in range(4):
        if role % 2:
            assert ledger.verify().ok
            ledger.datasets()
        else:
            run = reserve(ledger, f"d{role}", **SMALL)
            run.bind(Fingerprint(f"d{role}"))
            run.charge(run.events[0])
            Ledger(path).grant("reviews", 9.0, 1e-5)


@pytest.mark.full
def test_processes_that_change_and_read_one_ledger_at_once_are_never_refused(ledger, witness):
    assert in_processes(work, [(ledger.path, str(witness), role) for role in range(4)]) == [0] * 4
    assert marks(witness)[-1] == ledger.verify().length
    assert marks(witness) == sorted(set(marks(witness)))


@given(st.lists(st.tuples(st.sampled_from(["change", "save", "put back", "unseen"]), st.integers(0, 3)), max_size=12))
def test_a_change_is_refused_exactly_if_the_ledger_does_not_contain_what_the_witness_saw_last(steps):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        seen_in, path = Path(folder, "witness"), Path(folder, "ledger.db")
        seen_in.mkdir()
        patch.setenv("DPLDA_WITNESS", str(seen_in))
        watched = Ledger(path)
        patch.setenv("DPLDA_WITNESS", "off")
        unwatched = Ledger(path)
        past: tuple[int, ...] = ()
        seen: tuple[int, ...] = ()  # what `past` was when the last mark was made
        saved = [(past, path.read_bytes())]
        for number, (step, which) in enumerate(steps):
            if step == "save":
                saved.append((past, path.read_bytes()))
            elif step == "put back":
                past, content = saved[which % len(saved)]
                path.write_bytes(content)
            elif step == "unseen":
                grant(unwatched)
                past = (*past, number)
            elif past[: len(seen)] == seen:
                grant(watched)
                past = seen = (*past, number)
            else:
                with pytest.raises(LedgerError, match="copy"):
                    grant(watched)
                with pytest.raises(LedgerError, match="copy"):
                    watched.runs()
        assert watched.verify().ok == (past[: len(seen)] == seen)


# The system's keyring, of which a stand-in takes the place.


class Keyring(ModuleType):
    def __init__(self, keeps: bool = True, error: Exception | None = None) -> None:
        super().__init__("keyring")
        self.kept, self.keeps, self.error = {}, keeps, error

    def get_password(self, service, name):
        if self.error is not None:
            raise self.error
        return self.kept.get((service, name))

    def set_password(self, service, name, value):
        if self.keeps:
            self.kept[service, name] = value


@pytest.fixture
def keyring(monkeypatch, tmp_path):
    """Install a keyring as the package `keyring`, and take it as the witness."""
    errors = ModuleType("keyring.errors")
    errors.KeyringError = RuntimeError
    monkeypatch.setenv("DPLDA_WITNESS", "keyring")
    monkeypatch.setattr(database, "user_state_path", lambda *_, **__: tmp_path / "state")

    def install(**changes) -> Keyring:
        installed = Keyring(**changes)
        monkeypatch.setitem(sys.modules, "keyring", installed)
        monkeypatch.setitem(sys.modules, "keyring.errors", errors)
        return installed

    return install


def test_a_keyring_keeps_the_latest_mark(keyring, ledger):
    kept, ledger = keyring().kept, Ledger(ledger.path)
    grant(ledger)
    files = contents(ledger)
    grant(ledger)
    assert len(kept) == 2
    put_back(files)
    with pytest.raises(LedgerError, match="keyring knows of 3"):
        grant(ledger)


@pytest.mark.parametrize("changes", [{"keeps": False}, {"error": RuntimeError("no keyring")}])
def test_a_keyring_that_keeps_nothing_refuses_before_anything_is_spent(keyring, ledger, changes):
    keyring(**changes)
    before = contents(ledger)
    with pytest.raises(LedgerError, match=r"system's keyring .*Set DPLDA_WITNESS to"):
        grant(Ledger(ledger.path))
    assert contents(ledger) == before


def test_without_its_package_one_line_says_how_to_install_it(keyring, ledger, monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    for use in (grant, Ledger.runs):
        with pytest.raises(LedgerError, match=r"pip install 'dplda\[keyring\]'"):
            use(Ledger(ledger.path))
