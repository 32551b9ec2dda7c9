from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from handmade import with_facts

from dplda.base.errors import InputError
from dplda.model import EXPORTERS, TopicModel, export
from dplda.model.exporters import csv_text


@pytest.mark.parametrize("kind", sorted(EXPORTERS))
def test_an_existing_destination_is_left_alone(model: TopicModel, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "out"
    export(model, kind, target)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="exists already"):
        export(model, kind, target)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("kind", sorted(EXPORTERS))
def test_every_file_written_is_named(model: TopicModel, tmp_path: Path, kind: str) -> None:
    files = export(model, kind, tmp_path / "deep" / "out")
    assert sorted(files) == sorted(path for path in tmp_path.rglob("*") if path.is_file())


def test_an_unknown_kind_is_refused(model: TopicModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="gensim, csv, json, pyldavis"):
        export(model, "xml", tmp_path / "out")


def test_a_destination_below_a_file_is_told(model: TopicModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot write"):
        export(model, "json", tmp_path / "file" / "out")


@pytest.mark.parametrize("target", ["folder", "single.csv"])
def test_csv_holds_all_numbers(model: TopicModel, tmp_path: Path, target: str) -> None:
    topics, prevalence, promised = export(model, "csv", tmp_path / target)
    assert json.loads(promised.read_text()) == model.privacy.to_json()
    with topics.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = np.zeros_like(model.topics)
    for row in rows:
        found[int(row["topic"]), model.vocabulary.index(row["word"])] = float(row["probability"])
    np.testing.assert_allclose(found, model.topics, rtol=1e-9)
    with prevalence.open(encoding="utf-8", newline="") as file:
        shares = [float(row["prevalence"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(shares, model.prevalence, rtol=1e-9)


def test_csv_holds_the_verdicts(model: TopicModel, tmp_path: Path) -> None:
    verdicts = ["clear", "weak", "noise"]
    judged = with_facts(model, verdicts=verdicts)
    topics, prevalence, _ = export(judged, "csv", tmp_path / "out")
    for path in (topics, prevalence):
        with path.open(encoding="utf-8", newline="") as file:
            assert {row["topic"]: row["verdict"] for row in csv.DictReader(file)} == dict(
                zip("012", verdicts, strict=True)
            )


def test_arguments_for_pyldavis_are_no_page(model: TopicModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"writes JSON.* Name it .*page\.json"):
        export(model, "pyldavis", tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@sum", " =1", "\r=1", "\t@x", "\n-"])
def test_csv_cells_cannot_become_formulas(model: TopicModel, tmp_path: Path, word: str) -> None:
    hostile = dataclasses.replace(model, vocabulary=[word, *model.vocabulary[1:]])
    topics, *_ = export(hostile, "csv", tmp_path / "out")
    with topics.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == model.topics.size
    assert "'" + word.translate(dict.fromkeys(range(32), "\ufffd")) in {row["word"] for row in rows}


def test_numbers_keep_their_sign_in_csv() -> None:
    assert csv_text(("a", "b"), [(-1.5, "-x")]) == "a,b\n-1.5,'-x\n"


def test_json_holds_the_model(model: TopicModel, tmp_path: Path) -> None:
    (path,) = export(model, "json", tmp_path / "m.json")
    record = json.loads(path.read_text())
    np.testing.assert_array_equal(record["topics"], model.topics)
    assert record["vocabulary"] == [*model.vocabulary]
    assert record["privacy"] == model.privacy.to_json()


def test_gensim_loads_topics_equal_to_ours(model: TopicModel, tmp_path: Path) -> None:
    from gensim.models import LdaModel

    export(model, "gensim", tmp_path / "m.gensim")
    tool = LdaModel.load(str(tmp_path / "m.gensim"))
    np.testing.assert_allclose(tool.get_topics(), model.topics, atol=1e-6)
    np.testing.assert_allclose(tool.alpha, model.alpha)
    shown = dict(tool.show_topics(num_topics=-1, num_words=5, formatted=False))
    for topic, pairs in enumerate(model.top_words(5)):
        assert [word for word, _ in shown[topic]] == [word for word, _ in pairs]


def test_gensim_infers_the_proportions_we_do(model: TopicModel, tmp_path: Path) -> None:
    from gensim.models import LdaModel

    export(model, "gensim", tmp_path / "m")
    tool = LdaModel.load(str(tmp_path / "m"))
    counts = np.random.default_rng(2).poisson(5.0, (5, 12))
    bags = [[(j, int(c)) for j, c in enumerate(row) if c] for row in counts]
    gamma, _ = tool.inference(bags)
    np.testing.assert_allclose(gamma / gamma.sum(axis=1, keepdims=True), model.transform(counts), atol=0.01)


def test_pyldavis_inputs_are_released_numbers_and_say_so(model: TopicModel, tmp_path: Path) -> None:
    (path,) = export(model, "pyldavis", tmp_path / "m.json")
    record = json.loads(path.read_text())
    inputs = record["prepare"]
    assert record["pseudo_document"] is True
    assert "pseudo-document" in record["about"]
    np.testing.assert_allclose(inputs["term_frequency"], 1e6 * model.prevalence @ model.topics)
    np.testing.assert_allclose(inputs["doc_topic_dists"], [model.prevalence])
    assert len(inputs["doc_lengths"]) == 1
