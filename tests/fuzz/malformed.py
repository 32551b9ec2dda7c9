"""Malformed bytes, numbers and JSON: whole samples of every format with some of their bytes changed, or no sample."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse
from hypothesis import strategies as st
from workbooks import ods, xlsx

TOKENS = (
    b"\0", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b'"', b"'", b"{", b"}", b"[",
    b"[" * 2000, b"\\", b"\\ud800", b"\r", b"\n", b"\r\n", b"\t", b",", b":", b" ", b"\x1f\x8b\x08", b"PK\x03\x04",
    b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"0.5", b"99999999999999999999", b"2147483648", b"-9223372036854775809",
    b"null", b"true", b"%", "\u202e".encode(), "\u2028".encode(), "\U0001f600".encode(), b"=cmd", b"a" * 5000,
    b"1 " * 3000,
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2, 0.5, 1e-300, 5e-324, 1e308, 1e200, -0.0, 2**31, 2**63, 2**64, 10**400, float("nan"), float("inf"),
    -float("inf"), True, None, "1", 1e-9, 1e-15, 100.0, 1000,
)  # fmt: skip

any_number = st.sampled_from(NUMBERS) | st.floats() | st.integers()
any_json = st.recursive(
    st.none()
    | st.booleans()
    | any_number
    | st.text(max_size=8)
    | st.sampled_from(["\ud800", "\u202e", "<script>", "\0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=6,
)


def _parquet() -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["red green", "blue gold"], "who": [1, 2]}), stream)
    return stream.getvalue()


def _npz() -> bytes:
    stream = io.BytesIO()
    scipy.sparse.save_npz(stream, scipy.sparse.csr_array(np.arange(12).reshape(3, 4)))
    return stream.getvalue()


SAMPLES: dict[str, tuple[bytes, ...]] = {
    "text": (b"red green blue\ngold\n", "na\u00efve caf\u00e9\n".encode("cp1252")),
    "jsonl": (b'{"id": "a", "text": "red green", "who": 7}\n{"text": "blue", "who": "x"}\n', b'{"text": null}\n[1]\n'),
    "json": (
        b'[{"id": "a", "text": "red green", "who": 7},\n {"text": "blue", "who": "x"}, null]\n',
        b'{"text": "red"}\n',
    ),
    "lines": (b"red green\nblue\n", b"red\r\n\r\ngold"),
    "csv": (b'id,text,who\n1,"red, green",x\n2,blue,y\n', b"text\r\nred\r\n", b"id;text\n1;red\n"),
    "tsv": (b"id\ttext\twho\n1\tred green\tx\n2\tblue\ty\n",),
    "parquet": (_parquet(),),
    "spreadsheet": tuple(
        write({"Sheet": [["id", "text", "who"], ["a", "red green", 7], ["b", None, "x"]]}) for write in (xlsx, ods)
    ),
    "document": (b"<html><title>red</title><p>green blue</p></html>", b"Subject: red\n\ngreen blue\n"),
    "uci": (b"2\n4\n3\n1 1 2\n1 2 1\n2 4 3\n",),
    "mtx": (b"%%MatrixMarket matrix coordinate integer general\n% note\n2 4 3\n1 1 2\n1 2 1\n2 4 3\n",),
    "npz": (_npz(),),
}


@st.composite
def changed(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A change of bytes: up to four places overwritten, removed, repeated or filled in, or the end cut off."""
    edits = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["insert", "overwrite", "remove", "repeat", "cut", "flip"]),
                st.floats(0, 1),
                st.integers(1, 40),
                st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=8),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return lambda content: _edited(content, edits)


def _edited(content: bytes, edits: Sequence[tuple[str, float, int, bytes]]) -> bytes:
    for kind, where, length, token in edits:
        place = int(where * len(content))
        before, after = content[:place], content[place:]
        content = {
            "insert": before + token + after,
            "overwrite": before + token + after[len(token) :],
            "remove": before + after[length:],
            "repeat": before + after[:length] * 3 + after,
            "cut": before,
            "flip": before + bytes(byte ^ length for byte in after[:1]) + after[1:],
        }[kind]
    return content


def file_contents(samples: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A changed sample, or any bytes."""
    altered = st.builds(lambda sample, change: change(sample), st.sampled_from(samples), changed())
    junk: st.SearchStrategy[Any] = st.binary(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=12).map(b"".join)
    return altered | altered | altered | junk
