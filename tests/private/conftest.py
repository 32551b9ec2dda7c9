from __future__ import annotations

import pytest
from small_store import COUNTS, PEOPLE, WORDS

import dplda


@pytest.fixture(params=["documents", "people"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.setattr("dplda.private.store.writer.BLOCK_DOCUMENTS", 32)
    owners = None if request.param == "documents" else [f"p{i}" for i in PEOPLE]
    return dplda.Corpus.from_counts(COUNTS, WORDS, units=owners).write(tmp_path / "store")
