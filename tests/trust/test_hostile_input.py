"""Files made by someone who means harm: bombs, models, stores, words. Bounded memory, one clear line, no code run."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from full_helpers import full_after

import dplda
from dplda.base.errors import InputError
from dplda.cli.main import main
from dplda.model import TopicModel, load
from dplda.model.exporters import csv_text
from dplda.model.topic_model import _ARRAY_FILE, TEXT_FILE
from dplda.private.store.count_store import shard_name

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=document.title='owned'>",
    "{{ 7 * 7 }}",
    "<!--",
    "a\u202eb\x1b[2J\x07",
    "../../../escaped",
    "ordinary",
]
SCRIPT = Path(__file__).with_name("reading.py")
GOOD = [{"text": "apple banana cherry", "user": "a"}, {"text": "banana cherry date", "user": "b"}]


def lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in records).encode()


def took(corpus: Path, tmp_path: Path, **options: str) -> dict[str, Any]:
    """What reading `corpus` took, in a process of its own."""
    command = [sys.executable, str(SCRIPT), str(corpus), str(tmp_path / "store"), json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def repeated(unit: bytes, times: int) -> bytes:
    """A gzip file of `unit` over and over: members of a gzip file are read one after the other."""
    return gzip.compress(unit, 6) * times


# Bombs.


@pytest.mark.full
def test_a_line_that_never_ends_is_one_document_that_contributes_nothing(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl.gz").write_bytes(
        gzip.compress(lines(GOOD)) + repeated(b"a" * 2**22, 64) + gzip.compress(b"\n" + lines(GOOD))
    )
    told = took(tmp_path / "c.jsonl.gz", tmp_path)
    assert (told["documents"], told["defects"]) == (4, {"TOO_LONG": 1})
    assert told["megabytes"] < 200


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c.jsonl", "c.csv", "c.mtx", "docword.c.txt"])
def test_a_gigabyte_in_one_line_takes_bounded_memory(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    heads = {".csv": b"id,text\n1,apple banana cherry\n", ".jsonl": lines(GOOD[:1])}
    heads |= {".mtx": b"%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 1 3\n", ".txt": b"3\n3\n3\n1 1 3\n"}
    (tmp_path / "vocab.c.txt").write_text("a\nb\nc\n")
    place.write_bytes(heads[place.suffix])
    os.truncate(place, 2**30)  # a hole: a gigabyte of NUL bytes that takes no room
    told = took(place, tmp_path)
    assert told["documents"] == 1
    assert told["megabytes"] < 400


@pytest.mark.slow
def test_a_gigabyte_in_one_line_of_a_folder_takes_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "good.txt").write_text("apple banana cherry")
    (tmp_path / "c" / "long.txt").touch()
    os.truncate(tmp_path / "c" / "long.txt", 2**30)
    told = took(tmp_path / "c", tmp_path)
    assert (told["documents"], told["defects"]) == (1, {"TOO_LONG": 1})
    assert told["megabytes"] < 200


@pytest.mark.slow
def test_a_gzip_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl.gz").write_bytes(
        gzip.compress(lines(GOOD)) + repeated(b"a" * 2**24, 256) + gzip.compress(b"\n" + lines(GOOD))
    )
    assert (tmp_path / "c.jsonl.gz").stat().st_size < 2**23  # becomes 4 GB
    told = took(tmp_path / "c.jsonl.gz", tmp_path)
    assert (told["documents"], told["defects"]) == (4, {"TOO_LONG": 1})
    assert told["megabytes"] < 200


@pytest.mark.slow
def test_a_million_empty_documents_and_a_million_words_in_one_take_bounded_memory(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words = " ".join(map("".join, random.choice(list("abcdefghij"), (1_000_000, 8))))
    with (tmp_path / "c.jsonl").open("wb") as file:
        file.write(lines([*GOOD, {"text": words}]))
        file.write(b'{"text": ""}\n' * 1_000_000)
    told = took(tmp_path / "c.jsonl", tmp_path, tokenizer="fast")
    assert (told["documents"], told["defects"]) == (1_000_003, {"NO_WORDS": 1_000_000})
    assert told["megabytes"] < 1500


@pytest.mark.slow
def test_long_documents_at_the_beginning_are_not_all_held_to_learn_the_columns(tmp_path: Path) -> None:
    line = gzip.compress(lines([{"text": "a" * 9_000_000}]))
    (tmp_path / "c.jsonl.gz").write_bytes(line * 100)
    told = took(tmp_path / "c.jsonl.gz", tmp_path)
    assert told["documents"] == 100
    assert told["megabytes"] < 400


@pytest.mark.parametrize("name", ["c.mtx.gz", "c.parquet.gz"])
def test_counts_and_tables_that_unpack_to_far_more_than_their_size_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("dplda.text.compression._UNPACKED", 2**20)
    head = b"%%MatrixMarket matrix coordinate integer general\n3 3 3\n" if "mtx" in name else b""
    (tmp_path / name).write_bytes(gzip.compress(head + b"1 1 1\n" * 2**22))
    with pytest.raises(InputError, match="unpacks to more than 256 times its size"):
        dplda.read_corpus(tmp_path / name, text_field=None if head else "text", cache=tmp_path).open()


def npz(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    path.with_name("vocab.txt").write_text("a\nb\nc\n")
    return path


def test_an_npz_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = npz(tmp_path / "c.npz", format=b"csr", shape=[1, 3], indices=np.zeros(3), indptr=np.array([0, 3]))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("data.npy", "w") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (2**28,)})
            file.write(bytes(2**24))
        archive.infolist()[-1].file_size = 2**31  # what a whole bomb says of itself, for less work
    told = took(path, tmp_path)
    assert "unpacks to" in told["error"]
    assert told["megabytes"] < 200


@pytest.mark.parametrize("kind", ["coo", "dia", "bsr", "csc"])
def test_an_npz_that_claims_a_trillion_documents_is_refused(tmp_path: Path, kind: str) -> None:
    one, none = np.ones(1, np.int64), np.zeros(1, np.int64)
    rest: dict[str, dict[str, Any]] = {
        "coo": {"row": none, "col": none, "data": one},
        "dia": {"offsets": none, "data": np.ones((1, 3))},
        "bsr": {"indices": none, "indptr": np.array([0, 1]), "data": np.ones((1, 1, 1))},
        "csc": {"indices": none, "indptr": np.array([0, 1, 1, 1]), "data": one},
    }
    path = npz(tmp_path / "c.npz", format=kind.encode(), shape=[10**12, 3], **rest[kind])
    with pytest.raises(InputError):
        dplda.read_corpus(path, cache=tmp_path).open()


@pytest.mark.parametrize("kind", ["csc", "bsr"])
@pytest.mark.parametrize("wrong", full_after(1, [-(10**6), 10**6]))
def test_an_npz_that_points_outside_its_arrays_is_refused_before_compiled_code_sees_it(
    tmp_path: Path, kind: str, wrong: int
) -> None:
    rest = {
        "csc": {"indices": np.array([wrong]), "indptr": np.array([0, 1, 1, 1]), "data": np.ones(1)},
        "bsr": {"indices": np.array([wrong]), "indptr": np.array([0, 1, 1]), "data": np.ones((1, 1, 3))},
    }[kind]
    path = npz(tmp_path / "c.npz", format=kind.encode(), shape=[2, 3], **rest)
    told = took(path, tmp_path)
    assert "is not a matrix saved by scipy.sparse.save_npz" in told["error"]


def test_an_npz_whose_row_pointers_decrease_is_refused(tmp_path: Path) -> None:
    path = npz(
        tmp_path / "c.npz",
        **{"format": b"csr", "shape": [3, 3], "indices": np.zeros(3, int), "data": np.ones(3, int)},
        indptr=np.array([0, 3, 1, 3]),
    )
    assert "is not a matrix saved by scipy.sparse.save_npz" in took(path, tmp_path)["error"]


def test_a_row_of_an_npz_that_names_unknown_words_contributes_nothing_and_stops_nothing(tmp_path: Path) -> None:
    path = npz(
        tmp_path / "c.npz",
        **{"format": b"csr", "shape": [3, 3], "indices": np.array([0, 99, -5]), "data": np.array([3, 3, 3])},
        indptr=np.array([0, 1, 2, 3]),
    )
    told = took(path, tmp_path)
    assert (told["documents"], told["defects"]) == (1, {"BAD_COUNT": 2})


@pytest.mark.full
def test_a_table_of_a_few_kilobytes_that_becomes_gigabytes_takes_bounded_memory(tmp_path: Path) -> None:
    text = pa.array(["a" * 2**22 * 10 + "a"]).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(48, np.int32)), text.dictionary)
    pq.write_table(pa.table({"text": column}), tmp_path / "c.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "c.parquet").stat().st_size < 2**20  # becomes 2 GB
    told = took(tmp_path / "c.parquet", tmp_path)
    assert (told["documents"], told["defects"]) == (0, {"TOO_LONG": 48})
    assert told["megabytes"] < 400


# Text.

MARKS = "\u202e\u202d\u2066\u2069\u200f\u061c\u200b\ufeff\x07\x1b[31m\u2028"


def test_marks_that_direct_terminals_and_text_are_in_no_word(tmp_path: Path) -> None:
    mixed = [
        {"text": f"{MARKS}apple{MARKS} ban{MARKS}ana {MARKS}"},
        {"text": "a\0b c\0d e"},
        {"text": "half \ud800"},
        *GOOD,
    ]
    (tmp_path / "c.jsonl").write_bytes(lines(mixed))
    for tokenizer in ("spacy", "fast"):
        store = dplda.read_corpus(tmp_path / "c.jsonl", tokenizer=tokenizer, cache=tmp_path).open()
        assert store.n_documents + store.defects.get("MALFORMED", 0) == 5
        assert {"apple", "banana", "cherry", "date"} <= set(store.dictionary)
        assert all(word.isalnum() for word in store.dictionary)


def test_documents_with_the_same_id_are_each_read(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(lines([{"id": 1, **entry} for entry in GOOD * 3]))
    store = dplda.read_corpus(tmp_path / "c.jsonl", cache=tmp_path).open()
    assert store.n_documents == 6
    assert sum(int(block.counts.sum()) for block in store.blocks()) == 18


# Words and names that want to be formulas, markup or paths.

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "＝1+1", "＋1", "－1", "＠x"]
FORMULAS += [f"{blank}=1+1" for blank in (" ", "\u00a0", "\u2003", "\u200b", "\ufeff", "\u202e", "\u3000")]


@pytest.mark.parametrize("word", FORMULAS)
def test_no_cell_of_a_csv_file_begins_a_formula_whatever_stands_before_it(word: str) -> None:
    _, [cell] = csv.reader(io.StringIO(csv_text(("word",), [(word,)])))
    assert cell.startswith("'")


def hostile_run(folder: Path, words: list[str]) -> TopicModel:
    """A finished run over a public vocabulary of hostile words."""
    counts = np.random.default_rng(0).poisson(2.0, (60, len(words)))
    corpus = dplda.Corpus.from_counts(counts, words, public_vocabulary=True)
    dataset = "../../../<script>alert(1)</script>/escaped"
    model = dplda.fit(
        corpus, dataset, n_topics=2, ledger=_unbounded(folder, dataset), simulate_seed=0, models=folder / "models"
    )
    assert len(list((folder / "models").iterdir())) == 1
    return model


def _unbounded(folder: Path, dataset: str) -> dplda.Ledger:
    ledger = dplda.Ledger(folder / "ledger.db")
    ledger.grant(dataset, unbounded=True)
    return ledger


def test_a_run_on_hostile_words_and_names_stays_in_its_folder_and_shows_them_as_text(
    tmp_path: Path, any_size: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    hostile_run(tmp_path / "home", HOSTILE + FORMULAS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]
    [model] = (tmp_path / "home" / "models").iterdir()
    assert main(["report", str(model), "--output", str(tmp_path / "report.html")]) == 0
    assert main(["topics", str(model), "--csv", str(tmp_path / "topics.csv"), "--top", "99"]) == 0
    assert main(["runs", "--ledger", str(tmp_path / "home" / "ledger.db")]) == 0
    out = capsys.readouterr()
    assert not any(mark in out.out + out.err for mark in ("\x1b", "\u202e", "\x07", "\x00"))
    page = (tmp_path / "report.html").read_text()
    assert "<img src=x" not in page
    assert "<script>document.title" not in page
    with (tmp_path / "topics.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]


# Models, stores and tables made by somebody else.


class Payload:
    """Pickled, it makes a folder when it is opened."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.place),)


def saved(model: TopicModel, folder: Path, **edits: Any) -> Path:
    """The model in `folder`, its JSON edited by a stranger."""
    model.save(folder)
    record = json.loads((folder / TEXT_FILE).read_text())
    for name, value in edits.items():
        record[name] = {**record[name], **value} if isinstance(value, dict) else value
    (folder / TEXT_FILE).write_text(json.dumps(record))
    return folder


def arrays(folder: Path, content: bytes) -> None:
    """Replace the arrays, and the digest that would tell."""
    (folder / _ARRAY_FILE).write_bytes(content)
    record = json.loads((folder / TEXT_FILE).read_text())
    record["arrays_sha256"] = hashlib.sha256(content).hexdigest()
    (folder / TEXT_FILE).write_text(json.dumps(record))


def test_a_pickle_in_place_of_arrays_or_text_is_not_run(model: TopicModel, tmp_path: Path) -> None:
    payload = pickle.dumps(Payload(tmp_path / "owned"))
    packed = io.BytesIO()
    np.savez(packed, topics=np.array([Payload(tmp_path / "owned")], object), prevalence=model.prevalence)
    for name, content in (("plain", payload), ("packed", packed.getvalue())):
        arrays(saved(model, tmp_path / name), content)
        with pytest.raises(InputError):
            load(tmp_path / name)
    (tmp_path / "plain" / TEXT_FILE).write_bytes(payload)
    with pytest.raises(InputError):
        load(tmp_path / "plain")
    assert not (tmp_path / "owned").exists()


def test_arrays_that_unpack_to_gigabytes_are_refused_unread(model: TopicModel, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("topics", "prevalence"):
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (2**24,)})
                file.write(bytes(2**27))
    arrays(saved(model, tmp_path / "m"), packed.getvalue())
    with pytest.raises(InputError, match="does not hold the arrays"):
        load(tmp_path / "m")


@pytest.mark.full
@pytest.mark.parametrize("forged", ["words", "documents"])
def test_a_store_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(tmp_path: Path, forged: str) -> None:
    (tmp_path / "c.jsonl").write_bytes(lines(GOOD))
    dplda.read_corpus(tmp_path / "c.jsonl", cache=tmp_path).write(tmp_path / "forged")
    shard = tmp_path / "forged" / shard_name(0)
    schema = pa.ipc.open_file(shard.read_bytes()).schema
    word, n = ("a" * 2**28, 1) if forged == "words" else ("a", 2**24)
    zeros, kinds = pa.py_buffer(bytes(16 * n)), [field.type for field in schema]
    no_entries = [pa.array([], pa.int32())]
    nothing = [pa.ListArray.from_buffers(kind, n, [None, zeros], children=no_entries) for kind in kinds[:2]]
    units = pa.FixedSizeBinaryArray.from_buffers(kinds[2], n, [None, zeros])
    ids = pa.StringArray.from_buffers(n, zeros, pa.py_buffer(b""))
    bounds = pa.array(np.minimum(np.arange(n + 1), 1), pa.int32())
    new = pa.ListArray.from_arrays(bounds, pa.array([word], pa.large_string()), kinds[4])
    batch = pa.RecordBatch.from_arrays([*nothing, units, ids, new, units], schema=schema)
    with pa.ipc.new_file(str(shard), schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as arrow:
        arrow.write_batch(batch)
    assert shard.stat().st_size < 2**17
    told = took(tmp_path / "forged", tmp_path)
    assert told["error"] == f"{tmp_path / 'forged'} is a damaged corpus store. Import the corpus again."
    assert told["megabytes"] < 100


def test_an_arrow_extension_type_in_a_store_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes(lines(GOOD))
    dplda.read_corpus(tmp_path / "c.jsonl", cache=tmp_path).write(tmp_path / "store")
    metadata = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": pickle.dumps(Payload(tmp_path / "owned")),
    }
    shard = tmp_path / "store" / shard_name(0)
    file = pa.ipc.open_file(shard.read_bytes())
    kind = pa.list_(pa.field("item", pa.large_string(), nullable=False, metadata=metadata))
    schema = file.schema
    for name, field in (("id", schema.field("id")), ("new_words", pa.field("new_words", kind, nullable=False))):
        schema = schema.set(schema.get_field_index(name), field.with_metadata(metadata))
    with pa.OSFile(str(shard), "wb") as sink, pa.ipc.new_file(sink, schema) as arrow:
        arrow.write_batch(pa.RecordBatch.from_arrays(file.get_batch(0).columns, schema=schema))
    assert dplda.read_corpus(tmp_path / "store").open().dictionary[0] == "apple"
    pq.write_table(
        pa.table(
            [pa.array(["apple banana cherry"], pa.large_string())],
            schema=pa.schema([pa.field("text", pa.large_string(), nullable=False, metadata=metadata)]),
        ),
        tmp_path / "t.parquet",
    )
    assert dplda.read_corpus(tmp_path / "t.parquet", cache=tmp_path).open().n_documents == 1
    assert not (tmp_path / "owned").exists()


def test_a_model_with_a_strangers_names_writes_where_it_is_told_and_nowhere_else(
    model: TopicModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    names = {"run": "../../escaped", "dataset": "../escaped", "placement": "<script>x</script>"}
    folder = saved(model, tmp_path / "in" / "m", parameters=names)
    target = tmp_path / "in" / "out"
    for kind in ("csv", "json", "pyldavis", "gensim"):
        assert main(["export", str(folder), "--to", kind, "--out", str(target / kind)]) == 0
    assert main(["report", str(folder), "--output", str(target / "r.html")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert "<script>x" not in (target / "r.html").read_text()


@pytest.mark.parametrize("command", ["topics", "report", "csv", "json", "pyldavis", "gensim"])
def test_words_that_no_file_can_hold_end_in_one_clear_line_or_a_file(
    model: TopicModel, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = ["a\ud800", "\ud800", *model.vocabulary[2:]]
    folder = saved(model, tmp_path / "m", vocabulary=words)
    asked = {"topics": ["topics", str(folder)], "report": ["report", str(folder), "--output", str(tmp_path / "r")]}
    status = main(asked.get(command, ["export", str(folder), "--to", command, "--out", str(tmp_path / "x")]))
    told = capsys.readouterr().err
    assert status in (0, 2), told
    assert "Traceback" not in told


def test_a_store_with_a_strangers_names_is_fitted_inside_its_folder(tmp_path: Path, any_size: None) -> None:
    (tmp_path / "c.jsonl").write_bytes(lines(GOOD))
    dplda.read_corpus(tmp_path / "c.jsonl", cache=tmp_path / "cache").write(tmp_path / "store")
    meta = json.loads((tmp_path / "store" / "meta.json").read_text())
    (tmp_path / "store" / "meta.json").write_text(json.dumps(meta | {"name": "../../../escaped"}))
    corpus = dplda.read_corpus(tmp_path / "store")
    assert corpus.name is not None
    ledger = _unbounded(tmp_path, corpus.name)
    words = ["apple", "banana", "cherry", "date"]
    dplda.fit(corpus, n_topics=2, vocabulary=words, ledger=ledger, simulate_seed=0, models=tmp_path / "models")
    assert len(list((tmp_path / "models").iterdir())) == 1
    assert not list(tmp_path.parent.glob("escaped*"))
    assert {path.name for path in tmp_path.iterdir()} == {"c.jsonl", "ledger.db", "ledger.db.key", "models", "store"}


def test_links_in_a_folder_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine.txt").write_text("apple banana cherry")
    (tmp_path / "secret.txt").write_text("apple apple apple")
    (tmp_path / "c" / "theirs.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "c" / "all").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(tmp_path / "c" / "pipe.txt")  # reading it would wait for ever
    assert dplda.read_corpus(tmp_path / "c", cache=tmp_path / "cache").open().n_documents == 1
