"""`dplda prior draft` against a stand-in server, and its file as a prior."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.request import OpenerDirector

import pytest
from chat_stand_in import StandIn, chat

from dplda.base import chat_server
from dplda.cli.prior_command import _TEXTS
from dplda.runs.priors import DOCUMENTS_PER_TOPIC, MOST_TOPICS
from dplda.runs.sample import sample_documents

SUBJECTS = ["Food", "Travel", "Sport", "Health"]
ABOUT = "Reviews that customers write about what they bought."


@pytest.fixture
def writing(server: StandIn, home: Path) -> StandIn:
    """A server that writes reviews of the sample, and a description of them."""
    texts = (record["text"] for record in sample_documents(3_000, 100, 7))

    def answer(question: str) -> bytes:
        return chat(json.dumps(SUBJECTS if "\nList " in question else [next(texts) for _ in range(5)]))

    server.reply = answer
    (home / "about.txt").write_text(ABOUT)
    return server


def options(server: StandIn, *more: object) -> list[object]:
    return ["prior", "draft", "--about", "about.txt", "--endpoint", server.address, "--model", "small", *more]


def test_drafts_are_a_prior(dplda, writing: StandIn, home: Path) -> None:
    (home / "private.jsonl").write_text(
        "".join(json.dumps({"text": record["text"]}) + "\n" for record in sample_documents(500, 100, 1))
    )
    files = set(os.listdir())
    answer = dplda(*options(writing, "--texts", 1000, "-o", "invented.jsonl"))
    assert answer.status == 0, answer.err
    lines = answer.out.splitlines()
    assert lines[0] == "Wrote 1,000 invented texts on 4 subjects to invented.jsonl."
    assert lines[-1] == "Next: dplda fit TEXTS --prior invented.jsonl --public-prior"
    assert answer.err == "list subjects ...\nwrite texts ...\n"
    assert set(os.listdir()) - files == {"invented.jsonl"}, "no ledger, no cache"
    records = [json.loads(line) for line in Path("invented.jsonl").read_text().splitlines()]
    assert [record["subject_asked"] for record in records[::5][:5]] == [*SUBJECTS, "Food"]
    assert {record["written_by"] for record in records} == {"small"}
    assert all(question.startswith(f"{ABOUT}\n\n---\n") for question in writing.questions)

    fitted = dplda(
        *("fit", "private.jsonl", "--topics", 4, "--epsilon", 4, "--tokenizer", "fast", "--quiet"),
        *("--prior", "invented.jsonl", "--public-prior"),
    )
    assert fitted.status == 0, fitted.err
    assert "These are the 4 of 40 prior topics" in fitted.out
    assert "(prior: public corpus invented)" in fitted.out
    assert dplda("check", "invented.jsonl").status == 0


def test_as_many_texts_are_written_as_the_most_prior_topics_need() -> None:
    assert _TEXTS == MOST_TOPICS * DOCUMENTS_PER_TOPIC


def test_one_object_says_what_was_written(dplda, writing: StandIn) -> None:
    answer = dplda(*options(writing, "--texts", 50, "-o", "i.jsonl", "--json"))
    assert answer.json == {"file": "i.jsonl", "texts": 50, "subjects": 2, "written_by": "small"}
    assert answer.err == ""


def test_fewer_texts_than_asked_for_are_said_to_be(dplda, writing: StandIn) -> None:
    written = writing.reply
    assert written is not None
    writing.reply = lambda question: written(question) if len(writing.asked) < 18 else chat("[]")
    answer = dplda(*options(writing, "--texts", 100, "-o", "i.jsonl", "--quiet"))
    assert answer.status == 0, answer.err
    assert len(Path("i.jsonl").read_text().splitlines()) == 80
    assert "small had nothing new to say after that; describe more to get 100." in answer.out


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_server_that_fails_half_way_leaves_no_file(dplda, writing: StandIn, status: int) -> None:
    written = writing.reply
    assert written is not None
    files = set(os.listdir())

    def fail_later(question: str) -> bytes:
        writing.status = status if len(writing.asked) > 5 else 200
        return written(question)

    writing.reply = fail_later
    answer = dplda(*options(writing, "-o", "i.jsonl", "--quiet"))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert f"did not answer (status {status})" in answer.err
    assert set(os.listdir()) == files


def test_an_interrupt_leaves_no_file(dplda, writing: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = chat_server._DIRECT.open
    files = set(os.listdir())

    def interrupted(self: OpenerDirector, *given: object, **settings: object) -> object:
        if len(writing.asked) == 5:
            raise KeyboardInterrupt
        return ask(*given, **settings)

    monkeypatch.setattr(OpenerDirector, "open", interrupted)
    answer = dplda(*options(writing, "-o", "i.jsonl", "--quiet"))
    assert (answer.status, answer.out, answer.err.strip()) == (130, "", "dplda: interrupted.")
    assert set(os.listdir()) == files


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--out", "old.jsonl"], "old.jsonl exists already"),
        (["--out", "i.csv"], "--out i.csv must end in .jsonl"),
        (["--out", "none/i.jsonl"], "cannot write into none"),
        (["--out", "i.jsonl", "--about", "none.txt"], "cannot read none.txt: No such file or directory."),
        (["--out", "i.jsonl", "--about", "."], "cannot read .: Is a directory."),
        (["--out", "i.jsonl", "--about", "empty.txt"], "empty.txt has no characters. Describe the texts"),
        (["--out", "i.jsonl", "--endpoint", "localhost"], "the endpoint must be an address"),
        (["--out", "i.jsonl", "--texts", 49], "49 is not in the range"),
        ([], "Missing option '--out'"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_sent(
    dplda, writing: StandIn, home: Path, changed: list[object], told: str
) -> None:
    (home / "old.jsonl").write_text("old")
    (home / "empty.txt").write_text("\n")
    answer = dplda(*options(writing, *changed))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert told in answer.err
    assert writing.asked == []
    assert (home / "old.jsonl").read_text() == "old"
