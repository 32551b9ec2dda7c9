from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dplda
from dplda.base.errors import InputError
from dplda.text import compression
from dplda.text.formats import default_name, open_source
from dplda.text.records import Defect, ReadOptions

Files = dict[str, bytes]
ENDINGS = [".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"]
every = pytest.mark.parametrize("ending", ENDINGS)


def zipped(members: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(members: Files) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


def packed(folder: Path, ending: str, members: Files) -> Path:
    compress = {".gz": gzip.compress, ".tgz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}
    path = folder / f"place{ending}"
    content = zipped(members) if ending == ".zip" else tarred(members)
    path.write_bytes(compress.get(path.suffix, bytes)(content))
    return path


def texts(path: Path, format: str | None = None, **options: str) -> list[str | Defect]:
    records = open_source(path, ReadOptions(**options), format).records()
    return [record if isinstance(record, Defect) else record.text for record in records]


@every
def test_documents_in_an_archive_are_read_one_by_one(tmp_path: Path, ending: str) -> None:
    members = {"b/two.txt": b"two", "one.txt": "café".encode("cp1252"), ".hidden": b"x", "__MACOSX/._one.txt": b"x"}
    path = packed(tmp_path, ending, {**members, "nul": b"\0"})
    source = open_source(path, ReadOptions())
    assert source.total == 3
    found = list(source.records())
    assert [(r.id, r.text) if not isinstance(r, Defect) else r for r in found] == [
        ("b/two.txt", "two"),
        ("one.txt", "café"),
        Defect.UNDECODABLE,
    ]
    assert list(source.records(1)) == found[1:]
    assert default_name(path) == "place"
    assert sorted(item.name for item in tmp_path.iterdir()) == [path.name]


@every
def test_tables_in_an_archive_are_parts(tmp_path: Path, ending: str) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["c"]}), out)
    parquet = {"x/part-0.parquet": out.getvalue(), "x/_SUCCESS": b""}
    assert texts(packed(tmp_path, ending, parquet)) == ["c"]
    lines = {"1.jsonl.gz": gzip.compress(b'{"text": "b"}\n'), "0.jsonl": b'{"text": "a"}\n', "README": b"x"}
    assert texts(packed(tmp_path, ending, lines)) == ["a", "b"]
    path = packed(tmp_path, ending, {"a.csv": b"text\na\n", "b.json": b'[{"text": "b"}]'})
    assert texts(path, pattern="*.csv") == ["a"]
    assert texts(path, pattern="*.json") == ["b"]
    with pytest.raises(InputError, match="mixes kinds of files"):
        open_source(path, ReadOptions())


@every
@pytest.mark.parametrize("name", ["/etc/passwd", "../escaped.txt", "a/../../b", "..\\b.txt"])
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path: Path, ending: str, name: str) -> None:
    path = packed(tmp_path, ending, {"a.txt": b"a", name: b"b"})
    with pytest.raises(InputError, match="leads out of the archive"):
        open_source(path, ReadOptions())


@every
def test_an_archive_in_an_archive_is_refused(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, ending, {"a.txt": b"a", "b.tar.gz": b"b"})
    with pytest.raises(InputError, match=r"b\.tar\.gz is an archive in an archive"):
        open_source(path, ReadOptions())


@every
def test_limits_on_members_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    path = packed(tmp_path, ending, {f"{number}.txt": b"a" for number in range(5)})
    monkeypatch.setattr(compression, "_MEMBERS", 4)
    with pytest.raises(InputError, match="holds more than 4 files"):
        open_source(path, ReadOptions())
    monkeypatch.undo()
    monkeypatch.setattr(compression, "_UNPACKED", 1 << 20)
    monkeypatch.setattr(compression, "_EXPANSION", 0)
    path = packed(tmp_path, ending, {f"{number}.txt": bytes(1 << 19) for number in range(3)})
    with pytest.raises(InputError, match="unpacks to more than"):
        open_source(path, ReadOptions())


@every
def test_a_cut_archive_is_one_clear_line(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, ending, {f"{number}.txt": os.urandom(5000) for number in range(9)})
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(InputError, match="not a whole") as refused:
        texts(path)
    assert "\n" not in str(refused.value)


def test_a_member_with_a_wrong_checksum_is_one_clear_line(tmp_path: Path) -> None:
    path = packed(tmp_path, ".zip", {"a.txt": b"apple", "b.txt": b"pear"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 16] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a whole archive"):
        texts(path)


def test_an_archive_of_the_folder_itself_is_read(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("a")
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
        archive.add(tmp_path / "d", arcname="./")
    assert texts(tmp_path / "x.tgz") == ["a"]


def test_links_and_devices_in_an_archive_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            member = tarfile.TarInfo(f"../kind{kind.decode()}")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        member = tarfile.TarInfo("a.txt")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"a"))
    assert texts(path) == ["a"]
    link = zipfile.ZipInfo("../link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed_files:
        packed_files.writestr(link, "/etc/passwd")
        packed_files.writestr("a.txt", "a")
    assert texts(tmp_path / "x.zip") == ["a"]


def test_a_header_that_takes_much_memory_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a.txt")
    member.pax_headers = {"comment": "x" * (2 << 20)}
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member)
    with pytest.raises(InputError, match="not a whole archive"):
        open_source(tmp_path / "x.tar", ReadOptions())


def test_encrypted_and_doubled_members_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, ".zip", {"a.txt": b"a"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="is encrypted"):
        open_source(path, ReadOptions())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.txt", "b")
    with pytest.raises(InputError, match="several files of one name"):
        open_source(path, ReadOptions())


def test_many_tables_in_a_compressed_tar_are_refused_rather_than_read_slowly(tmp_path: Path) -> None:
    members = {f"{number}.csv": b"text\na\n" for number in range(21)}
    with pytest.raises(InputError, match=r"holds 21 tables.*\.zip"):
        open_source(packed(tmp_path, ".tgz", members), ReadOptions())
    assert len(texts(packed(tmp_path, ".tar", members))) == 21
    assert len(texts(packed(tmp_path, ".zip", members))) == 21


@every
def test_an_archive_is_a_corpus_that_is_cached_by_its_own_size_and_time(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, ending, {"a.csv": b"text\napple pear\n", "b.csv": b"text\nplum\n"})
    corpus = dplda.read_corpus(path, tokenizer="fast", cache=tmp_path / "c")
    assert (corpus.name, corpus.open().n_documents) == ("place", 2)
    packed(tmp_path, ending, {"a.csv": b"text\napple pear\n", "b.csv": b"text\nplum\nfig\n"})
    assert dplda.read_corpus(path, tokenizer="fast", cache=tmp_path / "c").open().n_documents == 3


@every
def test_documents_from_which_text_must_be_extracted_are_refused_by_their_names(tmp_path: Path, ending: str) -> None:
    path = packed(tmp_path, ending, {"a.txt": b"one", "letters/b.pdf": b"%PDF"})
    with pytest.raises(InputError, match=r"letters/b\.pdf is a document in an archive\. Unpack the archive"):
        open_source(path, ReadOptions())
