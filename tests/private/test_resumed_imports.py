"""An interrupted import resumes and writes the same store as an uninterrupted one."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import stat
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import killing
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from full_helpers import full_after
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workbooks import xlsx

import dplda
from dplda.base.errors import InputError
from dplda.cli.main import main
from dplda.private.store import count_store, preparation, writer
from dplda.private.store.count_store import CountStore, intact_shards
from dplda.private.store.fingerprint import Fingerprinter, fingerprint
from dplda.private.store.writer import StoreLocked, StoreWriter
from dplda.text import counted_files, counting, tables

SCRIPT = Path(__file__).parents[1] / "helpers" / "killed_imports.py"
FIND_TOKENS = cache(counting.find_tokens)
KEY = b"k" * 32
N = 23
TEXTS = [" ".join(f"word{'abcdefgh'[(number * step) % 8]}" for step in range(1, 4 + number % 3)) for number in range(N)]
Take = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Chunks of two documents, shards of one block of at least five, one process."""
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(writer, "BLOCK_DOCUMENTS", 5)
    monkeypatch.setattr(writer, "_SHARD_BLOCKS", 1)
    for module in (counted_files, counting):
        monkeypatch.setattr(module, "_CHUNK_DOCUMENTS", 2)
    monkeypatch.setattr(tables, "_BATCH_ROWS", 3)
    monkeypatch.setattr(counting, "_SMALL_CHUNKS", 1000)
    monkeypatch.setattr(counting, "find_tokens", FIND_TOKENS)


# Corpora of every format, with documents that contribute nothing among the others.


def _json(path: Path) -> None:
    lines = [json.dumps({"text": text, "who": number % 5}) for number, text in enumerate(TEXTS)]
    lines[3], lines[4], lines[11], lines[-1] = "{broken", "", json.dumps({"who": 1}), "[]"
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _table(path: Path) -> None:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    rows = [delimiter.join([text, str(number % 5)]) for number, text in enumerate(TEXTS)]
    rows[2], rows[9] = '"a" b' if path.stem == "lines" else "a b", ""
    rows[5] = f'"two\nlines and {"more"}"{delimiter}7'
    path.write_text("\n".join([delimiter.join(["text", "who"]), *rows]))


def _parquet(path: Path) -> None:
    texts: list[str | None] = list(TEXTS)
    texts[8] = None
    table = pa.table({"text": texts, "who": list(range(N))})
    pq.write_table(table, path.with_suffix(".plain"), row_group_size=7)
    content = path.with_suffix(".plain").read_bytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    path.with_suffix(".plain").unlink()


def _workbook(path: Path) -> None:
    texts: list[str | None] = list(TEXTS)
    texts[8] = None
    path.write_bytes(xlsx({"Sheet": [["text", "who"], *([text, n % 5] for n, text in enumerate(texts))]}))


def _folder(path: Path) -> None:
    (path / "sub").mkdir(parents=True)
    for number, text in enumerate(TEXTS):
        (path / ("sub" if number % 3 else "") / f"{number:02}.txt").write_bytes(
            b"\0" if number == 10 else text.encode()
        )


def _matrix(path: Path) -> None:
    """A matrix without a vocabulary beside it."""
    entries = [(row, 1 + row % 4, 1) for row in range(1, N + 1)] + [(row, 5 + row % 3, row) for row in range(1, N + 1)]
    lines = [f"{row} {word} {count}" for row, word, count in entries]
    lines[1], lines[2], lines[12] = "2 x 1", "", "13 1 1.5"
    path.write_text(f"%%MatrixMarket matrix coordinate integer general\n{N} 8 {2 * N}\n" + "\n".join(lines) + "\n")


def _triples(path: Path) -> None:
    lines = [f"{number + 1} {1 + (number * step) % 6} {step}" for number in range(N) for step in (1, 2)]
    lines[3], lines[10] = "2 99 1", ""
    lines.reverse()
    size = f"{N}\n6\n{len(lines)}" if path.name.startswith("docword") else f"{N} 6 {len(lines)}"
    banner = "" if path.name.startswith("docword") else "%%MatrixMarket matrix coordinate integer general\n"
    path.write_text(f"{banner}{size}\n" + "\n".join(lines))
    path.with_name("vocab.txt").write_text("a\nb\nc\nd\ne\nf\n")


def _npz(path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 3, (N, 6)).astype(float)
    values[4, 0] = 0.5
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(values))
    path.with_name("vocab.txt").write_text("a\nb\nc\nd\ne\nf\n")


CORPORA: dict[str, tuple[Callable[[Path], None], dict[str, object]]] = {
    "c.jsonl": (_json, {"unit_field": "who"}),
    "c.jsonl.gz": (_json, {}),
    "c.csv": (_table, {"unit_field": "who"}),
    "lines.csv": (_table, {"one_line": True}),
    "c.tsv": (_table, {}),
    "c.parquet": (_parquet, {"unit_field": "who"}),
    "c.xlsx": (_workbook, {"unit_field": "who"}),
    "c.parquet.gz": (_parquet, {"format": "parquet"}),
    "texts": (_folder, {}),
    "plain.mtx": (_matrix, {}),
    "docword.c.txt": (_triples, {}),
    "c.mtx": (_triples, {}),
    "c.npz": (_npz, {}),
}


def made(folder: Path, name: str = "c.jsonl") -> Take:
    """Write a corpus; return a function that imports it into a store and returns the notices."""
    folder.mkdir(exist_ok=True)
    make, options = CORPORA[name]
    make(folder / name)
    return lambda store, *, restart=False, **more: taken(folder / name, store, restart=restart, **{**options, **more})


def taken(corpus: Path, store: Path, *, restart: bool = False, **options: object) -> list[str]:
    notices: list[str] = []
    dplda.read_corpus(corpus, **options).write(store, restart=restart, notice=notices.append, key=KEY)  # type: ignore[arg-type]
    return notices


def stopped(take: Take, store: Path, chunks: int, by: BaseException | None = None) -> bool:
    """Import, but raise `by` after `chunks` chunks; return whether it was raised."""
    seen = 0
    append = StoreWriter.append

    def stopping(self: StoreWriter, chunk: object) -> None:
        nonlocal seen
        if seen == chunks:
            raise by or KeyboardInterrupt
        seen += 1
        append(self, chunk)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreWriter, "append", stopping)
        try:
            take(store)
        except BaseException as error:
            if by is None and not isinstance(error, KeyboardInterrupt):
                raise
            return True
    return False


def content(store: Path) -> dict[str, object]:
    """The content of a store, without its random id, what is signed with it, and where it was read from."""
    files: dict[str, object] = {path.name: path.read_bytes() for path in store.iterdir()}
    for name, once in (("meta.json", {"id": None, "places": None}), ("fingerprint.json", {"seal": None})):
        files[name] = {**json.loads((store / name).read_text()), **once}
    return files


def resumed_after(notices: list[str]) -> int:
    """The number of documents after which an import resumed."""
    found = [re.match(r"Resuming after document ([\d,]+),", line) for line in notices]
    return max((int(match[1].replace(",", "")) for match in found if match), default=0)


def failure(take: Take, store: Path) -> str | None:
    """The message of an import that fails, or None."""
    try:
        take(store)
    except InputError as error:
        return str(error)
    return None


def partial_of(store: Path) -> Path:
    return store.with_name(f".{store.name}.partial")


# Where imports may be cut.


@pytest.mark.parametrize("name", full_after(3, CORPORA))
def test_every_format_goes_on_wherever_it_was_stopped(tmp_path: Path, name: str) -> None:
    take = made(tmp_path / "corpus", name)
    assert take(tmp_path / "whole") == []
    whole, behind, chunks = content(tmp_path / "whole"), [], 0
    while stopped(take, tmp_path / f"s{chunks}", chunks):
        behind.append(resumed_after(take(tmp_path / f"s{chunks}")))
        assert content(tmp_path / f"s{chunks}") == whole
        assert not partial_of(tmp_path / f"s{chunks}").exists()
        chunks += 1
    n_shards = len(intact_shards(tmp_path / "whole"))
    assert behind == sorted(behind)
    assert len({*behind}) == n_shards  # from the beginning, or behind every shard but the last
    assert (behind[0], behind[-1] > N // 2) == (0, True)


def test_what_is_done_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = made(tmp_path / "corpus", "texts")
    stopped(take, tmp_path / "s", 9)
    parsed: list[str] = []
    monkeypatch.setattr(counting.WordCounter, "count", _noting(counting.WordCounter.count, parsed))
    opened: list[Path] = []
    monkeypatch.setattr("dplda.text.folder._text", _noting(dplda.text.folder._text, opened))
    behind = resumed_after(take(tmp_path / "s"))
    assert behind == 19
    assert len(opened) == N - behind
    assert sum(map(len, parsed)) == N - behind


def _noting(original: Callable[..., object], seen: list) -> Callable[..., object]:
    def call(*args: object) -> object:
        seen.append(args[1] if len(args) > 1 and isinstance(args[1], list) else args[0])
        return original(*args)

    return call


@pytest.mark.full
def test_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = made(tmp_path / "corpus")
    take(tmp_path / "whole")
    stopped(take, tmp_path / "s", 7)
    monkeypatch.setattr(counting, "_SMALL_CHUNKS", 2)
    monkeypatch.setattr(counting.joblib, "cpu_count", lambda: 2)
    assert resumed_after(take(tmp_path / "s")) > 0
    assert content(tmp_path / "s") == content(tmp_path / "whole")


def test_long_documents_make_shards_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BLOCK_DOCUMENTS", 1000)
    monkeypatch.setattr(writer, "_SHARD_ENTRIES", 10)
    take = made(tmp_path / "corpus")
    stopped(take, tmp_path / "s", 9)
    assert resumed_after(take(tmp_path / "s")) >= 14


def test_a_store_being_copied_goes_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "corpus")(tmp_path / "whole")
    take = partial(taken, tmp_path / "whole")
    take(tmp_path / "copy")
    assert stopped(take, tmp_path / "s", 2)
    assert resumed_after(take(tmp_path / "s")) > 0
    assert content(tmp_path / "s") == content(tmp_path / "copy")
    whole, copy = CountStore.open(tmp_path / "whole"), CountStore.open(tmp_path / "s")
    assert fingerprint(copy, KEY) == fingerprint(whole, KEY)
    assert copy.dictionary == whole.dictionary


def test_counts_in_memory_leave_nothing_and_never_go_on(tmp_path: Path) -> None:
    def take(store: Path) -> None:
        dplda.Corpus.from_counts(np.ones((16384 * 2, 2)), ["a", "b"]).write(store)

    assert stopped(take, tmp_path / "s", 1)
    assert list(tmp_path.iterdir()) == []


# Kills, power cuts, full disks, damage.


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    folder = tmp_path_factory.mktemp("killed")
    _matrix(folder / "plain.mtx")
    return folder, killing.killed(SCRIPT, folder / "runs", str(folder / "plain.mtx"))


@pytest.mark.full
def test_killed_at_any_step_an_import_goes_on(killed: tuple[Path, list[dict[str, object]]]) -> None:
    from killed_imports import take

    folder, lines = killed
    take(folder / "plain.mtx", folder / "whole")
    whole = content(folder / "whole")
    behind = []
    for line in lines:
        place = folder / "runs" / str(line["number"])
        for path in place.rglob("*"):
            assert path.name == "plain.mtx" or path.stat().st_mode & 0o077 == 0, (line, path)
        if (place / "store").exists():
            assert content(place / "store") == whole
            continue
        begun = (place / ".store.partial/origin.json").exists()
        with pytest.raises(InputError, match="incomplete" if begun else "not a corpus store"):
            CountStore.open(place / "store")
        behind.append(resumed_after(take(place / "plain.mtx", place / "store")))
        assert content(place / "store") == whole, line
        assert {path.name for path in place.iterdir()} == {"plain.mtx", "store"}, line
    assert len(lines) > 60
    assert lines[-1] == {"number": len(lines) - 1, "step": "end", "survived": True}
    assert behind == sorted(behind)
    assert len({*behind}) == len(intact_shards(folder / "whole")) + 1


@pytest.mark.full
def test_an_import_killed_once_its_store_is_there_leaves_no_more_than_the_next_removes(
    killed: tuple[Path, list[dict[str, Any]]],
) -> None:
    from killed_imports import take

    folder, lines = killed
    place = folder / "runs" / str(max(line["number"] for line in lines if line["step"] == "after os.rename"))
    assert not (place / ".store.partial" / "store").exists()
    with pytest.raises(InputError, match="exists already"):
        take(place / "plain.mtx", place / "store")
    assert {path.name for path in place.iterdir()} == {"plain.mtx", "store"}


def test_whatever_has_its_name_was_forced_to_disk_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut a shard is whole or missing."""
    forced: dict[int, bytes] = {}
    named: list[tuple[Path, bool]] = []
    fsync, rename = os.fsync, os.rename

    def forcing(descriptor: int) -> None:
        fsync(descriptor)
        there = os.fstat(descriptor)
        is_file = stat.S_ISREG(there.st_mode)
        forced[there.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes() if is_file else b""
        if not is_file:
            named[:] = [(path, known or path.parent.stat().st_ino == there.st_ino) for path, known in named]

    def naming(source: Path, target: Path) -> None:
        for path in source.iterdir() if source.is_dir() else [source]:
            assert path.read_bytes() == forced[path.stat().st_ino]
        assert all(known for _, known in named)
        rename(source, target)
        named.append((Path(target), False))

    monkeypatch.setattr(os, "fsync", forcing)
    monkeypatch.setattr(os, "rename", naming)
    take = made(tmp_path / "corpus")
    take(tmp_path / "s")
    names = [path.name for path, _ in named]
    assert names[0] == "origin.json"
    assert names[1] == "part-00000.arrow"
    assert names[-3:] == ["fingerprint.json", "meta.json", "s"]


def test_a_disk_full_at_any_file_is_one_line_and_the_import_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = made(tmp_path / "corpus")
    take(tmp_path / "whole")
    write_atomically, left = count_store.write_atomically, 0

    def full(path: Path, write: Callable[[object], object]) -> None:
        nonlocal left
        left -= 1

        def half(file: object) -> None:
            write(file)
            if left == 0:
                file.truncate(file.tell() // 2)  # type: ignore[attr-defined]
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        write_atomically(path, half)

    behind: list[int] = []
    message: str | None = ""
    while message is not None:
        left = len(behind) + 1
        store = tmp_path / f"s{left}"
        with monkeypatch.context() as patch:
            for module in (count_store, writer):
                patch.setattr(module, "write_atomically", full)
            message = failure(take, store)
        if message is not None:
            reason = "No space left on device. Make room or choose another folder."
            assert message == f"Cannot write the corpus store {store}: {reason}"
            behind.append(resumed_after(take(store)))
            assert content(store) == content(tmp_path / "whole")
    assert behind == sorted(behind)
    assert len({*behind}) == len(intact_shards(tmp_path / "whole")) + 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_costs_what_is_behind_it_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    take = made(folder / "corpus", "plain.mtx")
    take(folder / "whole")
    stopped(take, folder / "s", data.draw(st.integers(3, 10)))
    left = partial_of(folder / "s") / "store"
    reached = [0, *(shard.checkpoint().n_read for shard in intact_shards(left))]
    file = data.draw(st.sampled_from(sorted(left.iterdir())))
    there = file.read_bytes()
    place = data.draw(st.integers(0, 9999)) * len(there) // 10000
    kind = data.draw(st.sampled_from(["cut", "zeros", "compressed", "gone"]))
    if kind == "gone":
        file.unlink()
    elif kind == "compressed":
        arrow = pa.ipc.open_file(there)
        with pa.ipc.new_file(str(file), arrow.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as again:
            again.write_batch(arrow.get_batch(0))
    else:
        file.write_bytes(there[:place] + (bytes(len(there) - place) if kind == "zeros" else b""))
    behind = resumed_after(take(folder / "s"))
    assert content(folder / "s") == content(folder / "whole")
    assert behind == reached[int(file.stem[-5:])]


def test_an_origin_that_cannot_be_read_starts_over(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    take(tmp_path / "whole")
    for number, there in enumerate([b"", b"[]", b'{"options": {}}', b'{"options": 1, "state": 2}', b"[" * 200_000]):
        store = tmp_path / f"s{number}"
        stopped(take, store, 7)
        (partial_of(store) / "origin.json").write_bytes(there)
        assert take(store) == []
        assert content(store) == content(tmp_path / "whole")


def test_a_partial_store_without_an_origin_is_thrown_away(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    (partial_of(tmp_path / "s") / "store").mkdir(parents=True)
    for name in ("notes", "store/documents.arrow", "store/dictionary.arrow"):
        (partial_of(tmp_path / "s") / name).write_bytes(b"{}")
    assert take(tmp_path / "s") == []
    assert not partial_of(tmp_path / "s").exists()
    assert len(content(tmp_path / "s")) == 2 + len(intact_shards(tmp_path / "s"))


def test_stopped_again_and_again_an_import_comes_to_its_end(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    take(tmp_path / "whole")
    stops = 0
    while stopped(take, tmp_path / "s", 3):
        stops += 1
    assert stops == 3
    assert content(tmp_path / "s") == content(tmp_path / "whole")


def test_a_resumed_import_takes_the_fingerprint_of_all_documents(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    stopped(take, tmp_path / "s", 9)
    take(tmp_path / "s")
    store = CountStore.open(tmp_path / "s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CountStore, "blocks", None)
        kept = fingerprint(store, KEY)
    taken = Fingerprinter(KEY, store.unit)
    taken.add_words(store.dictionary)
    for block in store.blocks():
        taken.add(block)
    assert kept == taken.result()
    assert np.array_equal(kept.sketch.hashes, taken.result().sketch.hashes)
    assert np.array_equal(kept.sketch.members, taken.result().sketch.members)


# What has changed meanwhile.


def test_a_corpus_that_changed_is_imported_again(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    stopped(take, tmp_path / "s", 7)
    with open(tmp_path / "corpus" / "c.jsonl", "a") as file:
        file.write("\n" + json.dumps({"text": "wordz more", "who": 1}))
    [notices] = take(tmp_path / "s")
    assert notices == f"Starting over: the corpus changed since an import into {tmp_path / 's'} was stopped."
    take(tmp_path / "whole")
    assert content(tmp_path / "s") == content(tmp_path / "whole")
    assert "wordz" in CountStore.open(tmp_path / "s").dictionary


def test_a_file_more_in_a_folder_is_a_change(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus", "texts")
    stopped(take, tmp_path / "s", 7)
    (tmp_path / "corpus" / "texts" / "00a.txt").write_text("worda")
    assert "the corpus changed" in take(tmp_path / "s")[0]
    assert CountStore.open(tmp_path / "s").n_documents == N


def test_another_version_starts_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = made(tmp_path / "corpus")
    stopped(take, tmp_path / "s", 7)
    monkeypatch.setattr(preparation, "versions", lambda names: dict.fromkeys(names, "99"))
    assert "the version of dplda or of what it reads with changed" in take(tmp_path / "s")[0]


@pytest.mark.parametrize(
    ("more", "name"),
    [({"unit_field": None}, "unit_field"), ({"lemmas": True}, "lemmas"), ({"text_field": "text"}, "text")],
)
def test_other_wishes_are_refused_and_what_is_there_stays(tmp_path: Path, more: dict[str, object], name: str) -> None:
    take = made(tmp_path / "corpus")
    stopped(take, tmp_path / "s", 7)
    with pytest.raises(InputError, match=rf" in {name}.*--restart"):
        take(tmp_path / "s", **more)
    assert resumed_after(take(tmp_path / "s")) > 0


def test_another_corpus_is_refused_until_a_restart_is_asked_for(tmp_path: Path) -> None:
    stopped(made(tmp_path / "corpus"), tmp_path / "s", 7)
    other = made(tmp_path / "other", "plain.mtx")
    with pytest.raises(InputError, match=r" in corpus.*--restart"):
        other(tmp_path / "s")
    with pytest.raises(InputError, match=r" in corpus.*--restart"):
        dplda.Corpus.from_counts(np.eye(2), ["a", "b"]).write(tmp_path / "s")
    assert other(tmp_path / "s", restart=True) == []
    other(tmp_path / "whole")
    assert content(tmp_path / "s") == content(tmp_path / "whole")


# Several at once, strangers, and what may be read.


def test_two_imports_into_one_folder_do_not_meet(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus")
    with StoreWriter(tmp_path / "s"), pytest.raises(StoreLocked, match=r"/s is running"):
        take(tmp_path / "s")
    with pytest.raises(InputError, match="exists already"):
        take(tmp_path / "s")


def test_a_fit_waits_for_the_import_that_another_makes_of_its_corpus(tmp_path: Path) -> None:
    made(tmp_path / "corpus")
    corpus = dplda.read_corpus(tmp_path / "corpus" / "c.jsonl")
    begun, go = threading.Event(), threading.Event()
    append = StoreWriter.append

    def waiting(self: StoreWriter, chunk: object) -> None:
        begun.set()
        assert go.wait(20)
        append(self, chunk)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreWriter, "append", waiting)
        first = threading.Thread(target=corpus.open)
        first.start()
        assert begun.wait(20)
        found: list[CountStore] = []
        other = dplda.read_corpus(tmp_path / "corpus" / "c.jsonl")
        second = threading.Thread(target=lambda: found.append(other.open()))
        second.start()
        time.sleep(0.1)
        assert second.is_alive()
        go.set()
        first.join(20)
        second.join(20)
    assert found[0].identity == corpus.open().identity


def test_a_fit_goes_on_with_the_store_that_another_left_in_the_cache(tmp_path: Path) -> None:
    made(tmp_path / "corpus")
    opened = lambda _: dplda.read_corpus(tmp_path / "corpus" / "c.jsonl").open()  # noqa: E731
    assert stopped(opened, tmp_path, 8)
    [left] = (tmp_path / "cache" / "stores").iterdir()
    assert left.name.endswith(".partial")
    seen: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreWriter, "append", _noting(StoreWriter.append, seen))
        store = opened(None)
    assert 0 < len(seen) < 8
    assert store.n_documents + sum(store.defects.values()) >= N - 1


def test_somebody_elses_folder_in_the_way_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = made(tmp_path / "corpus")
    (tmp_path / "theirs").mkdir()
    (tmp_path / ".s.partial").symlink_to(tmp_path / "theirs")
    (tmp_path / ".t.partial").write_text("")
    (tmp_path / ".u.partial").mkdir()
    for name in "st":
        with pytest.raises(InputError, match=rf"/\.{name}\.partial is not"):
            take(tmp_path / name)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(InputError, match=r"/\.u\.partial is not"):
        take(tmp_path / "u")
    assert [*(tmp_path / "theirs").iterdir(), *(tmp_path / ".u.partial").iterdir()] == []


@pytest.mark.parametrize("place", ["s", ".s.partial", ".s.partial/store"])
def test_half_a_store_is_never_taken_for_one(tmp_path: Path, place: str) -> None:
    stopped(made(tmp_path / "corpus"), tmp_path / "s", 7)
    for opening in (CountStore.open, dplda.read_corpus, partial(dplda.read_corpus, unit_field="who")):
        with pytest.raises(InputError, match=r"incomplete.*`dplda corpus import`"):
            opening(tmp_path / place)


def test_a_corpus_beside_half_a_store_of_its_name_is_read(tmp_path: Path) -> None:
    take = made(tmp_path / "corpus", "texts")
    stopped(take, tmp_path / "corpus" / "s", 7)
    (tmp_path / "corpus" / "s").mkdir()
    (tmp_path / "corpus" / "s" / "a.txt").write_text("worda")
    assert dplda.read_corpus(tmp_path / "corpus" / "s").open().n_documents == 1


# The command.


def command_line(words: list[str], status: list[int]) -> Take:
    """Run the import command; return its exit status."""

    def take(_: Path) -> list[str]:
        status.append(main(words))
        return []

    return take


def test_the_command_says_what_is_kept_and_from_where_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "corpus")
    command = ["corpus", "import", str(tmp_path / "corpus" / "c.jsonl"), str(tmp_path / "s")]
    status: list[int] = []
    assert not stopped(command_line(command, status), tmp_path / "s", 7)
    notices = capsys.readouterr().err
    assert status == [130]
    assert f"What was read is kept in {tmp_path}/.s.partial: the same command resumes there." in notices
    assert main([*command, "--tokenizer", "spacy"]) == 2
    assert "differs from this one in tokenizer" in capsys.readouterr().err
    assert main([*command, "--json"]) == 0
    notices = capsys.readouterr().err
    assert "Resuming after document 14, where an import into" in notices
    assert "22 documents read." in notices
    assert not stopped(command_line([*command[:3], str(tmp_path / "t")], []), tmp_path / "t", 7)
    assert main([*command[:3], str(tmp_path / "t"), "--restart"]) == 0
    assert "Resuming" not in capsys.readouterr().err.split("kept in")[-1]
    assert content(tmp_path / "s") == content(tmp_path / "t")
