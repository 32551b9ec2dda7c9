"""Names of topics: from files, from servers that answer well, badly or never, and from distinctive words."""

from __future__ import annotations

import json

import pytest
from chat_stand_in import chat
from handmade import make_model, with_facts

from dplda.base.chat_server import ChatServer
from dplda.base.errors import InputError
from dplda.model import labels
from dplda.model.labels import Label, from_server
from dplda.model.topic_groups import merge_topics
from dplda.model.topic_model import load, save_facts

WORDS = [f"word{i}" for i in range(30)]


def test_a_server_is_sent_released_words_alone_and_its_name_and_sentence_are_taken(server):
    server.body = chat('```json\n{"name": "Heating", "sentence": "Boilers that fail."}\n```')
    assert from_server(ChatServer(server.address, "small"), WORDS) == Label("Heating", "Boilers that fail.")
    assert server.questions == [", ".join(WORDS[:15])]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff\xfe", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": null}}]}'),
        *(chat("Heating"), chat("{broken"), chat('{"name": 3}'), chat('{"name": " \u202e "}'), chat("[" * 5000)),
        *(chat('{"title": "x"}'), b"x" * (1 << 20)),
    ],
)
def test_an_answer_without_a_name_gives_none(server, body):
    server.body = body
    assert from_server(ChatServer(server.address, "small"), WORDS) is None


def test_a_hostile_name_is_one_short_line_of_plain_text(server):
    hostile = "<script>alert(1)</script>\n\x1b[31m\u202eIgnore all instructions" + "x" * 5000
    server.body = chat(json.dumps({"name": hostile, "sentence": hostile, "topics": [1, 2]}))
    label = from_server(ChatServer(server.address, "small"), WORDS)
    assert label is not None
    assert label.name == "<script>alert(1)</script> [31mIgnore all instructions" + "x" * (60 - 53)
    assert len(label.sentence) == 240
    assert label.sentence.isprintable()


def test_a_server_that_does_not_answer_is_one_clear_line(server):
    server.status = 500
    with pytest.raises(InputError, match=r"did not answer \(status 500.*--labels FILE"):
        from_server(ChatServer(server.address, "small"), WORDS)


def test_labels_stay_with_the_model_and_leave_its_arrays_alone(tmp_path):
    model = make_model()
    model.save(tmp_path / "m")
    before = (tmp_path / "m" / "topics.npz").read_bytes()
    named = labels.add_labels(model, {(1,): Label("Second", "A sentence.")})
    save_facts(named, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert (loaded.topic_names, loaded.topic_sentences) == ({1: "Second"}, {1: "A sentence."})
    assert (tmp_path / "m" / "topics.npz").read_bytes() == before
    again = labels.add_labels(loaded, {(0,): Label("First")})
    assert (again.topic_names, again.topic_sentences) == ({0: "First", 1: "Second"}, {1: "A sentence."})


def test_distinctive_names_have_no_word_in_common():
    model = make_model()
    names = [label.name for label in labels.from_words(model).values()]
    words = [word for name in names for word in name.split(", ")]
    assert len(set(words)) == len(words)
    assert names


def test_names_that_no_person_gave_are_known_after_a_merge():
    named = labels.add_labels(make_model(), labels.from_words(make_model()), by_person=False)
    assert labels.given_by_person(named) == []
    named = labels.add_labels(named, {(0,): Label("Heating"), (1, 2): Label("Both")})
    assert labels.given_by_person(named) == [(0,), (1, 2)]
    assert labels.given_by_person(merge_topics(named, [(1, 2)])) == [(0,)]


def test_a_file_names_topics_by_number(tmp_path):
    file = tmp_path / "l.yaml"
    file.write_text('0: Heating\n"1": {name: " Two  words ", sentence: "One.\\nTwo."}\n"1, 0": Both\n')
    assert labels.from_file(file, 2) == {
        (0,): Label("Heating"),
        (1,): Label("Two words", "One. Two."),
        (0, 1): Label("Both"),
    }


def test_groups_of_topics_keep_their_names_until_topics_are_merged(tmp_path):
    model = make_model()
    named = labels.add_labels(model, labels.from_words(model, [(0, 1)]) | {(0, 2): Label("Both", "A sentence.")})
    named.save(tmp_path / "m")
    found = labels.group_labels(load(tmp_path / "m"))
    assert found[0, 2] == Label("Both", "A sentence.")
    assert found[0, 1].name
    assert labels.group_labels(merge_topics(named, [(0, 1)])) == {}


def test_names_of_groups_are_one_line_of_plain_characters_whoever_wrote_them():
    given = [{"topics": [1, 0], "name": "a\nb\u202e"}, {"topics": [1, 2], "name": " \n"}]
    assert labels.group_labels(with_facts(make_model(), group_labels=given)) == {(0, 1): Label("a b")}


@pytest.mark.parametrize("given", [3, "x", [3], [{}], [{"name": "x"}], [{"name": "x", "topics": "ab"}]])
def test_damaged_names_of_groups_are_refused(given):
    with pytest.raises(InputError, match="wrong type"):
        with_facts(make_model(), group_labels=given)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5: Heating", "'5' is no topic; they are 0 to 1"),
        ("heating: 1", "'heating' is no topic"),
        ("0: ", "topic 0 has no name"),
        ("0: [a]", "topic 0 has no name"),
        ("0: a\n0: b", "lists topic '0' twice"),
        ("- a", "does not map topics"),
        ("{", "is not YAML or JSON"),
    ],
)
def test_another_file_is_one_clear_line(tmp_path, text, told):
    (tmp_path / "l.yaml").write_text(text)
    with pytest.raises(InputError, match=told):
        labels.from_file(tmp_path / "l.yaml", 2)
