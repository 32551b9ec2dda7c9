from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplda.base.errors import InputError
from dplda.text import compression
from dplda.text.files import open_bytes
from dplda.text.formats import default_name, open_source
from dplda.text.records import ReadOptions


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}
every = pytest.mark.parametrize("ending", PACKERS)
LINES = b"".join(b'{"text": "document %d"}\n' % number for number in range(20_000))


def texts(path: Path) -> list[str]:
    return [record.text for record in open_source(path, ReadOptions()).records()]


@every
def test_a_compressed_file_is_read_by_its_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"reviews.jsonl{ending.upper()}"
    path.write_bytes(PACKERS[ending](LINES))
    found = texts(path)
    assert (len(found), found[-1]) == (20_000, "document 19999")
    assert default_name(path) == "reviews"


@every
def test_streams_that_follow_each_other_are_one_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.jsonl{ending}"
    packed = PACKERS[ending](LINES)
    path.write_bytes(packed + (b"\0" * 65_540 if ending == ".xz" else b"") + packed)
    assert len(texts(path)) == 40_000


@every
def test_a_compressed_parquet_file_is_read(tmp_path: Path, ending: str) -> None:
    pq.write_table(pa.table({"text": ["a", "b"]}), tmp_path / "x.parquet")
    packed = tmp_path / f"y.parquet{ending}"
    packed.write_bytes(PACKERS[ending]((tmp_path / "x.parquet").read_bytes()))
    assert texts(packed) == ["a", "b"]


@every
@pytest.mark.parametrize("damage", [lambda packed: packed[: len(packed) // 2], lambda packed: b"garbage" + packed])
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, ending: str, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"x.jsonl{ending}"
    path.write_bytes(damage(PACKERS[ending](LINES)))
    with pytest.raises(InputError, match=rf"is not a whole \w+ file.* the {ending} ending"):
        texts(path)


@every
def test_a_table_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(compression, "_UNPACKED", 1 << 20)
    path = tmp_path / f"x.parquet{ending}"
    path.write_bytes(PACKERS[ending](bytes(1 << 25)))
    with pytest.raises(InputError, match="unpacks to more than 256 times its size"):
        open_source(path, ReadOptions())


def test_an_xz_file_does_not_say_how_much_memory_it_takes(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.xz"
    greedy = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    path.write_bytes(lzma.compress(LINES, filters=greedy))
    with pytest.raises(InputError, match="needs more memory"):
        texts(path)


def test_content_between_xz_streams_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.xz"
    path.write_bytes(lzma.compress(b"a") + b"junk that is no stream")
    with pytest.raises(InputError, match="not a whole xz file"), open_bytes(path) as stream:
        stream.read()
