from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from dplda.model import TopicModel
from dplda.runs.corpus import counts_for


class Store:
    """Two blocks, three documents: the middle one has no word the model knows."""

    dictionary = ("other", "w003", "w000")

    def blocks(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(
            indptr=np.array([0, 2, 3]),
            words=np.array([1, 0, 0], dtype=np.int32),
            counts=np.array([5, 2, 2**31 - 1], dtype=np.int32),
            ids=pa.array(["a", "b"]),
        )
        yield SimpleNamespace(
            indptr=np.array([0, 2]),
            words=np.array([2, 1], dtype=np.int32),
            counts=np.array([1, 4], dtype=np.int32),
            ids=pa.array(["c"]),
        )


def test_known_words_go_to_their_columns_and_unknown_ones_are_counted(model: TopicModel) -> None:
    counts, ids, unknown, total = counts_for(model.vocabulary, Store())  # type: ignore[arg-type]
    wanted = np.zeros((3, 12))
    wanted[0, 3], wanted[2, 0], wanted[2, 3] = 5, 1, 4
    np.testing.assert_array_equal(counts.toarray(), wanted)
    assert (ids, unknown, total) == (["a", "b", "c"], 2**31 + 1, 2**31 + 11)


def test_an_empty_store_gives_an_empty_matrix(model: TopicModel) -> None:
    counts, ids, unknown, total = counts_for(model.vocabulary, SimpleNamespace(dictionary=[], blocks=lambda: iter(())))
    assert counts.shape == (0, 12)
    assert (ids, unknown, total) == ([], 0, 0)
