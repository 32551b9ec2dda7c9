from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from handmade import with_facts

import dplda.runs.corpus
from dplda.model import TopicModel
from dplda.runs import corpus as dplda_corpus


class Store:
    """Two documents; the second has only words that no model knows."""

    dictionary = ("w001", "elsewhere")

    def blocks(self):
        yield SimpleNamespace(
            indptr=np.array([0, 2, 3]),
            words=np.array([0, 1, 1]),
            counts=np.array([6, 1, 3]),
            ids=pa.array(["=first", "second"]),
        )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    given: dict[str, object] = {}

    def read_corpus(path: str, **options: object) -> SimpleNamespace:
        given.update(options)
        return SimpleNamespace(open=lambda progress: Store(), notes=["1 document had no known word"])

    monkeypatch.setattr(dplda.runs.corpus, "read_corpus", read_corpus, raising=False)
    return given


def wanted(model: TopicModel) -> np.ndarray:
    counts = np.zeros((2, 12))
    counts[0, 1] = 6
    return model.transform(counts)


def test_csv_on_stdout_says_in_every_column_that_it_is_not_private(dplda, saved: str, read, model) -> None:
    answer = dplda("transform", saved, "corpus")
    assert answer.status == 0
    header, *rows = csv.reader(io.StringIO(answer.out))
    assert header[0] == "document"
    assert all("not private" in name for name in header[1:])
    assert [row[0] for row in rows] == ["'=first", "second"]
    np.testing.assert_allclose([[float(p) for p in row[1:-1]] for row in rows], wanted(model), rtol=1e-5)
    assert (header[-1], [row[-1] for row in rows]) == ("known words (not private)", ["6", "0"])
    assert "NOT PRIVATE" in answer.err
    assert "4 of 10 words (40.0%) are unknown" in answer.err
    assert "1 document had no known word" in answer.err


def test_json_is_marked_and_counts_unknown_words(dplda, saved: str, read, model) -> None:
    record = dplda("transform", saved, "corpus", "--json").json
    assert record["private"] is False
    assert (record["unknown_tokens"], record["tokens"]) == (4, 10)
    assert [document["id"] for document in record["documents"]] == ["=first", "second"]
    np.testing.assert_array_equal([d["proportions"] for d in record["documents"]], wanted(model))
    assert [document["known_words"] for document in record["documents"]] == [6, 0]


@pytest.mark.parametrize("name", ["out.csv", "out.npz"])
def test_files_are_for_their_owner_only(dplda, saved: str, read, home: Path, name: str) -> None:
    answer = dplda("transform", saved, "corpus", "--out", home / name)
    assert (answer.status, answer.out) == (0, "")
    assert (home / name).stat().st_mode & 0o777 == 0o600
    assert dplda("transform", saved, "corpus", "--out", home / name).status == 2


def test_npz_holds_ids_proportions_and_the_mark(dplda, saved: str, read, home: Path, model) -> None:
    record = dplda("transform", saved, "corpus", "--out", home / "p.npz", "--json").json
    assert record["out"] == str(home / "p.npz")
    assert "documents" not in record
    with np.load(home / "p.npz", allow_pickle=False) as file:
        assert file["ids"].tolist() == ["=first", "second"]
        np.testing.assert_array_equal(file["proportions"], wanted(model))
        assert file["known_words"].tolist() == [6, 0]
        assert file["not_private"]


def test_another_kind_of_file_is_wrong_usage(dplda, saved: str, read, home: Path) -> None:
    assert dplda("transform", saved, "corpus", "--out", home / "p.xlsx").status == 2
    assert not read


def test_the_language_and_tokenizer_of_the_run_are_assumed(dplda, read, home: Path, model: TopicModel) -> None:
    with_facts(model, language="de", lemmas=True, tokenizer="fast").save(home / "german")
    dplda("transform", "./german", "corpus")
    assert (read["language"], read["lemmas"], read["tokenizer"]) == ("de", True, "fast")
    dplda("transform", "./german", "corpus", "--language", "fr")
    assert read["language"] == "fr"


@pytest.mark.parametrize(("text", "expected"), [(True, 2), (False, None)])
def test_text_is_read_with_the_phrases_of_the_run(
    dplda, home: Path, model: TopicModel, monkeypatch: pytest.MonkeyPatch, text: bool, expected: int | None
) -> None:
    with_facts(model, language="de", ngrams=2).save(home / "m")
    given: list[dict[str, object]] = []

    def read_corpus(path: str, **options: object) -> SimpleNamespace:
        given.append(options)
        return SimpleNamespace(open=lambda progress: Store(), notes=[], is_text=text)

    monkeypatch.setattr(dplda_corpus, "read_corpus", read_corpus)
    assert dplda("transform", home / "m", "corpus").status == 0
    assert (given[-1].get("ngrams"), given[-1]["language"]) == (expected, "de")
