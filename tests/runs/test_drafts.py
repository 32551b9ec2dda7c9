"""Invented texts: what the model is asked, and answers in the form that was asked for or in another."""

from __future__ import annotations

import ast
import json
from itertools import count
from pathlib import Path

import pytest
from chat_stand_in import StandIn, chat

from dplda.base.chat_server import ChatServer
from dplda.base.errors import InputError
from dplda.base.progress import NoProgress
from dplda.runs import drafts, priors
from dplda.runs.drafts import Draft, draft_texts, read_description

ABOUT = "Notes of nurses."


def draft(server: StandIn, n_texts: int = 50) -> list[Draft]:
    return draft_texts(ChatServer(server.address, "small"), ABOUT, n_texts, NoProgress())


def reply(server: StandIn, texts=None, subjects=("Falls", "Sleep")) -> None:
    """Answer with `subjects`, and then with what `texts` returns, or with new texts."""
    numbers = count()

    def five() -> str:
        return json.dumps([f"Invented text number {next(numbers)}." for _ in range(5)])

    def answer(question: str) -> bytes:
        return chat(json.dumps(list(subjects)) if "\nList " in question else (texts or five)())

    server.reply = answer


def test_the_model_is_sent_the_description_and_its_own_subjects_alone(server: StandIn) -> None:
    reply(server)
    found = draft(server)
    assert [each.subject for each in found[:10]] == ["Falls"] * 5 + ["Sleep"] * 5
    assert len({each.text for each in found}) == 50
    asked = server.questions
    assert asked[0] == (
        f"{ABOUT}\n\n---\nList 2 different subjects that texts of this collection may be about, common ones and rare "
        "ones, each in a few words."
    )
    begin = f"{ABOUT}\n\n---\nWrite 5 different texts of this collection, of the usual length, about this subject: "
    assert asked[1:] == [f"{begin}{subject}. {manner}" for manner in drafts._MANNERS for subject in ("Falls", "Sleep")]
    assert {sent["messages"][0]["content"] for _, sent, _ in server.asked} == {drafts._TASK}
    assert {sent["temperature"] for _, sent, _ in server.asked} == {1.0}, "answers differ"


def test_nothing_that_reads_texts_or_the_ledger_is_imported() -> None:
    tree = ast.parse(Path(drafts.__file__).read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {name for name in modules if name.startswith("dplda")}
    assert own == {f"dplda.base.{name}" for name in ("characters", "chat_server", "errors", "progress")}


def test_subjects_and_texts_are_as_many_as_prior_topics_take() -> None:
    assert (drafts._MOST_SUBJECTS, drafts._TEXTS_PER_SUBJECT) == (priors.MOST_TOPICS, priors.DOCUMENTS_PER_TOPIC)
    assert drafts.LEAST_TEXTS == 2 * priors.DOCUMENTS_PER_TOPIC


def test_more_subjects_are_asked_for_until_there_are_enough(server: StandIn) -> None:
    reply(server)
    draft(server, 100)
    listed = [question for question in server.questions if "\nList " in question]
    assert len(listed) == 5
    assert "List 2 different subjects" in listed[1]
    assert listed[1].endswith("Leave out these: Falls; Sleep.")


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('Here:\n```json\n["One text.", "Two\n texts."]\n``` [end]', ["One text.", "Two texts."]),
        ('<think>["no"]</think> ["One."]', ["One."]),
        ('{"texts": ["One.", 3, null, ["x"], "", " . "]}', ["One."]),
        ('[{"text": "A whole text.", "id": "x"}, {}, {"n": 1}]', ["A whole text."]),
        ('["One.", "Two."], "Broken o', ["One.", "Two."]),
        ('["One.", "Broken o', ["One."]),
        ('["\\u001b[31mred\\u0007 \\u202eand\\ud800 more\\n"]', ["[31mred and more"]),
        *((other, []) for other in ("", "1. One.", "[", "[,", "{", "[" * 5000, '[{"a":' * 5000)),
    ],
)
def test_strings_are_found_in_answers_of_many_forms(answer: str, found: list[str]) -> None:
    assert drafts._strings(answer, 100) == found


def test_long_texts_are_cut() -> None:
    assert drafts._strings(json.dumps(["x" * 9000]), 4000) == ["x" * 4000]


def test_texts_that_differ_in_nothing_but_marks_are_one(server: StandIn) -> None:
    marks = (f"Text{'!' * number}" for number in count())
    numbers = count()
    reply(server, lambda: json.dumps([next(marks), f"Text {next(numbers)}"]))
    found = [each.text for each in draft(server)]
    assert found[:3] == ["Text", "Text 0", "Text 1"]
    assert len(found) == 50


def test_a_model_with_nothing_new_to_say_ends_early_if_a_prior_is_possible(server: StandIn) -> None:
    numbers = count()
    reply(server, lambda: json.dumps([f"Text {min(next(numbers), 59)}" for _ in range(5)]))
    assert len(draft(server, 100)) == 60
    reply(server, lambda: json.dumps(["The same text."]))
    with pytest.raises(InputError, match=r"small wrote 1 different texts .* a prior needs 50"):
        draft(server)


def test_a_model_that_lists_no_subjects_is_one_clear_line(server: StandIn) -> None:
    server.body = chat("I cannot do that.")
    with pytest.raises(InputError, match="did not list subjects"):
        draft(server)
    assert len(server.asked) == 5


def test_single_failures_are_forgiven_and_three_in_a_row_are_not(server: StandIn) -> None:
    turns = count(1)

    def text() -> str:
        turn = next(turns)
        server.status = 500 if turn % 3 else 200
        return json.dumps([f"Text {turn} {number}" for number in range(25)])

    reply(server, text)
    assert len(draft(server)) == 50
    asked = len(server.asked)
    reply(server, lambda: setattr(server, "status", 500) or "")
    with pytest.raises(InputError, match="did not answer"):
        draft(server)
    assert len(server.asked) - asked == 1 + 3, "a list of subjects, and three requests for texts"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot read"),
        (b" \n", "no characters"),
        (b"x" * 4001, "more than 4,000 characters"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
    ],
)
def test_a_description_is_short_text(tmp_path: Path, content: bytes | None, told: str) -> None:
    file = tmp_path / "about.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_description(file)
    file.write_text("\ufeffNotes.\n", encoding="utf-8")
    assert read_description(file) == "Notes."


@pytest.mark.parametrize("name", ["tickets.csv", "tickets.jsonl", "tickets.json.gz"])
def test_a_file_that_is_named_like_a_collection_is_no_description(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a text")
    with pytest.raises(InputError, match="not named like a description"):
        read_description(tmp_path / name)
