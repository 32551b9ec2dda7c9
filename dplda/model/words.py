"""Map the words of another corpus to the columns of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from dplda.model.topics import TopicModel

if TYPE_CHECKING:
    from dplda.corpus.store import CountStore


def counts_for(model: TopicModel, store: CountStore) -> tuple[sparse.csr_matrix, list[str], int, int]:
    """Counts of a prepared corpus in the model's words: ``(counts, ids, unknown_tokens, total_tokens)``.

    `counts` is ``(n_documents, n_words)``; words that the model does not know are left out and counted. All
    four are private.
    """
    column = {word: j for j, word in enumerate(model.vocabulary)}
    columns = np.array([column.get(word, -1) for word in store.dictionary], dtype=np.int64)
    parts, ids = [], []
    unknown = total = 0
    for block in store.blocks():
        target = columns[block.words]
        known = target >= 0
        counts = block.counts
        total += int(counts.sum(dtype=np.int64))
        unknown += int(counts[~known].sum(dtype=np.int64))
        # Running numbers of known entries at the old row borders are the new row borders.
        borders = np.concatenate(([0], np.cumsum(known)))[block.indptr]
        shape = (len(block.indptr) - 1, len(model.vocabulary))
        parts.append(sparse.csr_matrix((counts[known], target[known], borders), shape=shape))
        ids.extend(block.ids.to_pylist())
    whole = sparse.vstack(parts, format="csr") if parts else sparse.csr_matrix((0, len(column)), dtype=np.int64)
    return whole, ids, unknown, total
