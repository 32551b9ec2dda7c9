from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import make_model, with_facts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dplda
from dplda.base.errors import InputError
from dplda.model import TopicModel, load
from dplda.model.topic_model import _ARRAY_FILE, _RESERVED, TEXT_FILE, reserve_space, write_atomically


def test_a_saved_model_loads_bit_for_bit(model: TopicModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.topics, model.topics)
    np.testing.assert_array_equal(again.prevalence, model.prevalence)
    assert (again.vocabulary, again.privacy, again.facts) == (
        model.vocabulary,
        model.privacy,
        model.facts,
    )


def test_what_is_no_path_or_name_is_refused_in_one_line(model: TopicModel) -> None:
    with pytest.raises(InputError, match=r"^directory must be the path of a new or empty folder, got None\.$"):
        model.save(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^name must be the id of a run, [^\n]* or the folder of a model, got 5\.$"):
        dplda.load(5)  # type: ignore[arg-type]


def test_a_loaded_and_saved_model_is_the_same_file(tmp_path: Path) -> None:
    prior = {"source": "forum", "topics": 3, "words": 12, "declared_public": True, "digest": "0", "guarantee": {"e": 1}}
    model = with_facts(
        make_model(),
        **{
            "topics": "auto",
            "epsilon": 2,
            "alpha": [1, 0.5, 0.5],
            "seed_words": {"a": ["w001", "w002"]},
            "lemmas": False,
        },
        **{"prior": prior, "new_topics": [], "faded_topics": [2], "word_probabilities": [{"w001": 0.5}] * 3},
        **{"published": {"e6": {"std": 0.25}}, "software": {"dplda": "1", "libraries": {"numpy": {"digest": None}}}},
        **{"merged": [[0], [1, 3], [2]], "group_labels": [{"topics": [0, 1], "name": "both", "sentence": ""}]},
    )
    model.save(tmp_path / "m")
    load(tmp_path / "m").save(tmp_path / "n")
    assert (tmp_path / "m" / TEXT_FILE).read_bytes() == (tmp_path / "n" / TEXT_FILE).read_bytes()
    assert json.loads((tmp_path / "m" / TEXT_FILE).read_text())["parameters"]["prior"] == prior
    assert load(tmp_path / "m").facts == model.facts


def test_an_infinite_epsilon_survives(model: TopicModel, tmp_path: Path) -> None:
    statement = dataclasses.replace(model.privacy, epsilon=float("inf"), sound=False, reason="no noise")
    dataclasses.replace(model, privacy=statement).save(tmp_path / "m")
    assert load(tmp_path / "m").privacy == statement


def test_saving_twice_gives_the_same_bytes(model: TopicModel, tmp_path: Path) -> None:
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    for name in (TEXT_FILE, _ARRAY_FILE):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_folder_holds_two_files_and_nothing_else(model: TopicModel, tmp_path: Path) -> None:
    reserve_space(tmp_path / "m", 10_000)
    model.save(tmp_path / "m")
    assert sorted(os.listdir(tmp_path / "m")) == [TEXT_FILE, _ARRAY_FILE]


def test_the_words_of_a_model_cannot_be_changed_in_place(model: TopicModel) -> None:
    """A list that is sorted in place would give the topics the words of others."""
    assert isinstance(model.vocabulary, tuple)
    assert isinstance(dataclasses.replace(model, vocabulary=list(model.vocabulary)).vocabulary, tuple)


def test_saving_into_a_folder_with_files_is_refused(model: TopicModel, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"not empty.*--out; in Python, out="):
        model.save(tmp_path)
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_a_failed_write_leaves_neither_half_nor_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "x", b"content")
    assert os.listdir(tmp_path) == []
    with pytest.raises(InputError, match="No space left on device"):
        make_model().save(tmp_path / "m")
    with pytest.raises(InputError, match="not a model folder"):
        load(tmp_path / "m")


def edit(folder: Path, **fields: Any) -> None:
    record = json.loads((folder / TEXT_FILE).read_text())
    record.update(fields)
    (folder / TEXT_FILE).write_text(json.dumps(record))


def facts(**fields: Any) -> dict[str, Any]:
    return {"parameters": {**make_model().facts.to_json(), **fields}}


def privacy(**fields: Any) -> dict[str, Any]:
    return {"privacy": {**make_model().privacy.to_json(), **fields}}


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "else"},
        {"format_version": 2},
        {"arrays_sha256": "0"},
        {"vocabulary": "abc"},
        {"vocabulary": [f"w{j}" for j in range(11)]},
        {"vocabulary": [7] * 12},
        {"parameters": []},
        {"parameters": {"alpha": None}},
        {"parameters": {}},
        facts(unknown=1),
        facts(run=3),
        facts(documents="100"),
        facts(documents=100.5),
        facts(documents=True),
        facts(topics="many"),
        facts(alpha=[0.3, 0.3]),
        facts(alpha=[0.3, 0.3, "0.3"]),
        facts(alpha=[0.3, 0.3, 10**400]),
        facts(verdicts=["clear", "weak"]),
        facts(verdicts=["clear", "weak", "new"]),
        facts(topic_names=["a", "b", 3]),
        facts(topic_probabilities=[0.1, 0.2, 1.5]),
        facts(word_probabilities=[{"w": 2}] * 3),
        facts(seed_words={"a": "bc"}),
        facts(core_eigenvalues=["x"]),
        facts(prior="forum"),
        facts(prior={"source": "forum"}),
        facts(group_labels=[{"name": "x", "topics": "ab"}]),
        facts(software=[]),
        {"privacy": []},
        {"privacy": {}},
        privacy(sound="yes"),
        privacy(epsilon="2"),
        privacy(epsilon=-1),
        privacy(epsilon=True),
        privacy(delta=3),
        privacy(delta=None),
        privacy(unit=["document"]),
        privacy(extra=1),
        privacy(events=[{"stage": "size", "surprise": 1}]),
        privacy(events=[{"stage": "size", "noise_multiplier": -1.0}]),
        privacy(events=[3]),
        privacy(events=None),
    ],
)
def test_altered_models_are_refused_in_one_line(tmp_path: Path, fields: dict[str, Any]) -> None:
    make_model().save(tmp_path / "m")
    edit(tmp_path / "m", **fields)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "m") in str(caught.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([TEXT_FILE, _ARRAY_FILE]), st.integers(0, 10_000), st.integers(1, 255))
def test_one_altered_byte_never_breaks_loading(tmp_path: Path, name: str, place: int, flip: int) -> None:
    folder = tmp_path / "m"
    if not folder.exists():
        make_model().save(folder)
    whole = (folder / name).read_bytes()
    content = bytearray(whole)
    content[place % len(content)] ^= flip
    (folder / name).write_bytes(content)
    try:
        if name == _ARRAY_FILE:
            with pytest.raises(InputError, match="does not match"):
                load(folder)
        else:  # a changed letter of a word is still a model
            with contextlib.suppress(InputError):
                load(folder)
    finally:
        (folder / name).write_bytes(whole)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 200_000, b"[]", b'{"a": NaN}'])
def test_text_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / TEXT_FILE).write_bytes(content)
    (tmp_path / _ARRAY_FILE).write_bytes(b"")
    with pytest.raises(InputError, match="cannot be used"):
        load(tmp_path)


def replace_arrays(folder: Path, content: bytes) -> None:
    """Put other arrays into a model, with the digest made right."""
    import hashlib

    (folder / _ARRAY_FILE).write_bytes(content)
    edit(folder, arrays_sha256=hashlib.sha256(content).hexdigest())


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (os.environ["BOMB"],)


def test_hostile_pickles_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    make_model().save(tmp_path / "m")
    np.savez(tmp_path / "bad.npz", topics=np.array([Bomb()], dtype=object), prevalence=np.ones(1))
    for content in ((tmp_path / "bad.npz").read_bytes(), pickle.dumps(Bomb())):
        replace_arrays(tmp_path / "m", content)
        with pytest.raises(InputError, match="does not hold the arrays"):
            load(tmp_path / "m")
    assert not (tmp_path / "exploded").exists()


def test_arrays_of_another_kind_are_refused(tmp_path: Path) -> None:
    make_model().save(tmp_path / "m")
    model = make_model()
    np.savez(tmp_path / "f.npz", topics=model.topics.astype(np.float32), prevalence=model.prevalence)
    replace_arrays(tmp_path / "m", (tmp_path / "f.npz").read_bytes())
    with pytest.raises(InputError, match="64-bit"):
        load(tmp_path / "m")
    np.savez(tmp_path / "g.npz", prevalence=model.prevalence)
    replace_arrays(tmp_path / "m", (tmp_path / "g.npz").read_bytes())
    with pytest.raises(InputError, match="does not hold the arrays"):
        load(tmp_path / "m")


def test_a_missing_folder_or_half_a_model_is_refused(model: TopicModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a model folder"):
        load(tmp_path / "nowhere")
    model.save(tmp_path / "m")
    (tmp_path / "m" / _ARRAY_FILE).unlink()
    with pytest.raises(InputError, match="No such file"):
        load(tmp_path / "m")


def test_a_folder_with_reserved_space_only_is_no_model(tmp_path: Path) -> None:
    reserve_space(tmp_path / "m", 100)
    assert os.listdir(tmp_path / "m") == [_RESERVED]
    with pytest.raises(InputError, match="not a model folder"):
        load(tmp_path / "m")
