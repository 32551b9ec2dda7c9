import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplda.base.errors import InputError
from dplda.text.formats import _guess_format, default_name, open_source
from dplda.text.records import ReadOptions, TextRecord, TextSource


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSONL.GZ", "jsonl"),
        ("a.csv.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("docword.kos.txt.gz", "uci"),
        ("a.mtx.gz", "mtx"),
        ("a.npz", "npz"),
    ],
)
def test_the_name_alone_tells_the_format(name: str, format: str) -> None:
    assert _guess_format(Path("nowhere") / name) == format


def test_an_unknown_ending_asks_for_the_format() -> None:
    with pytest.raises(InputError, match=r"Give --format: folder, jsonl"):
        _guess_format(Path("a.doc"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("reviews.jsonl.gz", "reviews"),
        ("a.b.csv", "a.b"),
        ("docword.kos.txt.gz", "kos"),
        ("v1.2", "v1.2"),
        ("n.txt", "n"),
    ],
)
def test_a_dataset_is_named_after_its_file(path: str, name: str) -> None:
    assert default_name(Path(path)) == name


def test_a_dataset_is_named_after_its_folder(tmp_path: Path) -> None:
    assert default_name(tmp_path / ".") == tmp_path.name


TABLE = {"csv": "text\none\n", "jsonl": '{"text": "one"}\n', "tsv": "text\none\n"}


def folder_of(folder: Path, *names: str) -> Path:
    for name in names:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        kind = name.removesuffix(".gz").rpartition(".")[2]
        content = TABLE.get(kind, "one").replace("one", name).encode()
        place.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder


def read(folder: Path, format: str | None = None, **options: str) -> list[str]:
    source = open_source(folder, ReadOptions(**options), format)  # type: ignore[arg-type]
    assert isinstance(source, TextSource)
    return [record.text if isinstance(record, TextRecord) else record.name for record in source.records()]


def test_a_folder_is_a_folder_of_texts(tmp_path: Path) -> None:
    assert read(folder_of(tmp_path, "a.txt", "README.md", "b/c", "_d")) == ["README.md", "_d", "a.txt", "b/c"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "tsv"])
def test_a_folder_of_tables_is_one_table_in_the_order_of_names(tmp_path: Path, kind: str) -> None:
    parts = [f"part-1.{kind}", f"part-0.{kind}.gz", f"day=2/part-0.{kind}"]
    about = ["_SUCCESS", f".part-0.{kind}.crc", "_metadata", "README", "readme.md", "LICENSE.txt"]
    assert read(folder_of(tmp_path, *parts, *about)) == sorted(parts)


def test_a_folder_as_spark_writes_it_is_one_table(tmp_path: Path) -> None:
    for number, day in enumerate(("2024-01-01", "2024-01-02")):
        folder = tmp_path / f"date={day}"
        folder.mkdir()
        rows = pa.table({"text": [f"{day}"], "who": [number]})
        pq.write_table(rows, folder / "part-00000-c0ffee-c000.snappy.parquet", compression="snappy")
        (folder / ".part-00000-c0ffee-c000.snappy.parquet.crc").write_bytes(b"crc")
    for name in ("_SUCCESS", "_committed_7", "._SUCCESS.crc", "_temporary/0/part-00001.snappy.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert read(tmp_path, unit_field="who") == ["2024-01-01", "2024-01-02"]


def test_json_as_spark_and_pandas_write_it_in_parts(tmp_path: Path) -> None:
    (tmp_path / "part-00000-c0ffee-c000.json").write_text('{"text":"a"}\n{"text":"b"}\n')
    (tmp_path / "part-00001-c0ffee-c000.json").write_text("")
    (tmp_path / "part-00002.json").write_text('[{"text": "c"}]')
    (tmp_path / "_SUCCESS").write_text("")
    assert read(tmp_path) == ["a", "b", "c"]


def test_a_delta_table_is_refused_because_its_folder_holds_deleted_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["deleted"]}), tmp_path / "part-0.parquet")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.json").write_text("{}")
    with pytest.raises(InputError, match="is a Delta Lake table"):
        read(tmp_path)


def test_a_pattern_reaches_nested_folders_and_several_kinds(tmp_path: Path) -> None:
    folder_of(tmp_path, "a.txt", "b.md", "2024/a.txt", "2024/05/c.txt", "2024/d.csv", "2025/e.csv.gz")
    assert read(tmp_path, pattern="*.txt") == ["2024/05/c.txt", "2024/a.txt", "a.txt"]
    assert read(tmp_path, pattern="2024/*.txt") == ["2024/05/c.txt", "2024/a.txt"]
    assert read(tmp_path, pattern="*.[tm][xd]*") == ["2024/05/c.txt", "2024/a.txt", "a.txt", "b.md"]
    assert read(tmp_path, pattern="*.csv*") == ["2024/d.csv", "2025/e.csv.gz"]
    assert read(tmp_path, pattern="2025/*") == ["2025/e.csv.gz"]


def test_parquet_in_parts_is_one_table(tmp_path: Path) -> None:
    for part in range(3):
        rows = {"text": [f"{part}-{row}" for row in range(part + 1)], "who": [1] * (part + 1)}
        pq.write_table(pa.table(rows), tmp_path / f"part-{part}.parquet")
    every = ["0-0", "1-0", "1-1", "2-0", "2-1", "2-2"]
    assert read(tmp_path, unit_field="who") == every
    source = open_source(tmp_path, ReadOptions())
    assert isinstance(source, TextSource)
    assert source.total == 6
    for skip in range(7):
        assert [(r.id, r.text) for r in source.records(skip)] == [(str(i + 1), every[i]) for i in range(skip, 6)]  # type: ignore[union-attr]


def test_empty_parts_are_left_out_and_headers_may_differ_in_order(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("")
    (tmp_path / "1.csv").write_text("who,body\nu,one\n")
    (tmp_path / "2.csv").write_text("body,who,more\r\ntwo,v,x\r\n")
    assert read(tmp_path, unit_field="who") == ["one", "two"]
    (tmp_path / "3.csv").write_text("content,who\nthree,w\n")
    with pytest.raises(InputError, match=r"'body' is not a column of .*3\.csv"):
        read(tmp_path, unit_field="who")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["a.jsonl", "b.csv.gz"], r"1 csv, 1 jsonl\).*--pattern '\*\.jsonl'"),
        (["a.csv.gz", "notes.txt"], r"1 csv, 1 other\).*--pattern '\*\.csv\.gz'"),
        (["a.csv", "b.tsv", "_SUCCESS"], r"1 csv, 1 tsv, 1 other\)"),
        (["docword.kos.txt", "vocab.kos.txt"], r"1 uci, 1 other\). Name one file, or"),
        (["a.csv", "b.txt", "c.txt"], r"1 csv, 2 other\).*--pattern '\*\.txt'"),
        (["_a.jsonl", "README"], r"1 jsonl, 1 other\).*--pattern '\*\.jsonl'"),
    ],
)
def test_a_folder_of_mixed_kinds_is_refused_by_its_names(tmp_path: Path, names: list[str], told: str) -> None:
    with pytest.raises(InputError, match=f"mixes kinds of files.*{told}"):
        read(folder_of(tmp_path, *names))


def test_a_pattern_or_a_format_settles_what_a_folder_of_mixed_kinds_is(tmp_path: Path) -> None:
    folder_of(tmp_path, "a.jsonl", "b.csv", "c.txt")
    assert read(tmp_path, pattern="*.csv") == ["b.csv"]
    assert read(tmp_path, pattern="*.txt") == ["c.txt"]
    assert len(read(tmp_path, "folder")) == 3
    assert read(tmp_path, "csv", pattern="b.*") == ["b.csv"]
    with pytest.raises(InputError, match="pattern chooses files of a folder"):
        read(tmp_path / "b.csv", pattern="*.csv")


def test_public_checks_come_with_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_source(tmp_path / "none.csv", ReadOptions())
    (tmp_path / "a.txt").write_text("words")
    with pytest.raises(InputError, match="format must be one of"):
        open_source(tmp_path / "a.txt", ReadOptions(), "docx")
    with pytest.raises(InputError, match="format 'folder' reads a folder, and"):
        open_source(tmp_path / "a.txt", ReadOptions(), "folder")
    with pytest.raises(InputError, match="format 'npz' reads a single file"):
        open_source(tmp_path, ReadOptions(), "npz")


@pytest.mark.parametrize("name", ["x" * 5000, "\0"])
def test_a_path_that_the_system_cannot_look_at_does_not_exist(name: str) -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_source(Path(name), ReadOptions(), "csv")
