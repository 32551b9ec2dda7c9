"""Topic proportions of documents under fixed topics (fold-in).

They are computed from documents without noise, so they are not private.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dplda.base.errors import InputError
from dplda.model.fold_in import fold_in

if TYPE_CHECKING:
    from dplda.private.store.count_store import CountStore

_CHUNK = 2048  # number of documents in one task of the thread pool


def posterior_mean(
    topics: NDArray[np.float64], alpha: NDArray[np.float64], counts: sparse.csr_matrix
) -> NDArray[np.float64]:
    """Mean of q(theta) for each document, ``(n_documents, n_topics)``.

    `topics` is ``(n_topics, n_words)``, `alpha` the prior ``(n_topics,)``, and `counts` ``(n_documents, n_words)``.
    Raises `InputError` if `counts` is malformed or has negative or non-finite entries. Coordinate ascent of Blei, Ng
    and Jordan (2003), figure 6; documents are independent, so the result does not depend on their grouping.
    """
    if counts.nnz and not (np.all(np.isfinite(counts.data)) and counts.data.min() >= 0):
        raise InputError("counts must be finite and nonnegative.")
    try:
        counts.check_format(full_check=True)  # compiled loops check no bounds
    except ValueError:
        raise InputError("counts name a column that the model does not have, or are no valid sparse matrix.") from None
    answer = np.empty((counts.shape[0], len(topics)))
    by_word = np.array(topics.T, np.float64, order="C")
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    data, prior = counts.data.astype(np.float64), np.array(alpha, np.float64)

    def fold(start: int) -> None:
        stop = min(start + _CHUNK, len(answer))
        fold_in(by_word, prior, indptr[start : stop + 1], words, data, answer[start:stop])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(fold, range(0, len(answer), _CHUNK)))
    return answer


def counts_for(words: Sequence[str], store: CountStore) -> tuple[sparse.csr_matrix, list[str], int, int]:
    """Counts of a prepared corpus in `words`: ``(counts, ids, unknown_tokens, total_tokens)``.

    `counts` is ``(n_documents, n_words)``. Words that are not among `words` are left out; `unknown_tokens` counts their
    tokens. All four values are private.
    """
    column = {word: j for j, word in enumerate(words)}
    columns = np.array([column.get(word, -1) for word in store.dictionary], dtype=np.int64)
    parts, ids = [], []
    unknown = total = 0
    for block in store.blocks():
        target = columns[block.words]
        known = target >= 0
        counts = block.counts
        total += int(counts.sum(dtype=np.int64))
        unknown += int(counts[~known].sum(dtype=np.int64))
        # The cumulative count of known entries maps old row boundaries to new ones.
        boundaries = np.concatenate(([0], np.cumsum(known)))[block.indptr]
        shape = (len(block.indptr) - 1, len(words))
        parts.append(sparse.csr_matrix((counts[known], target[known], boundaries), shape=shape))
        ids.extend(block.ids.to_pylist())
    whole = sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, len(column)), dtype=np.int64)
    return whole, ids, unknown, total
