from pathlib import Path

import numpy as np

from dplda.private.store.count_store import CountStore, shard_name
from dplda.private.store.writer import StoreWriter
from dplda.text.records import CountedDocuments, document_key

Documents = list[dict[str, int]]
SHARD = shard_name(0)


def chunk_of(documents: Documents, first: int = 0) -> CountedDocuments:
    """One chunk of `documents`, numbered from `first`, over the words in order of appearance."""
    words = list(dict.fromkeys(word for document in documents for word in document))
    numbers = {word: number for number, word in enumerate(words)}
    ordinals = range(first, first + len(documents))
    return CountedDocuments(
        words=words,
        indptr=np.concatenate([[0], np.cumsum([len(document) for document in documents])]).astype(np.int64),
        indices=np.array([numbers[word] for document in documents for word in document], dtype=np.int64),
        counts=np.array([count for document in documents for count in document.values()], dtype=np.int64),
        ids=[f"d{ordinal}" for ordinal in ordinals],
        units=[document_key(ordinal) for ordinal in ordinals],
    )


def written(path: Path, *chunks: Documents) -> CountStore:
    """A store of `chunks` on disk."""
    with StoreWriter(path) as writer:
        first = 0
        for documents in chunks:
            writer.append(chunk_of(documents, first))
            first += len(documents)
    return CountStore.open(path)


def documents_of(store: CountStore) -> Documents:
    """The documents of `store`, in order."""
    words = store.dictionary
    found = []
    for block in store.blocks():
        for start, end in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            row = zip(block.words[start:end].tolist(), block.counts[start:end].tolist(), strict=True)
            found.append({words[word]: count for word, count in row})
    return found
