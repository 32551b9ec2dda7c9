"""`dplda fit --seed-words` through the command line, and the names of its topics wherever topics are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dplda.budget import Ledger
from dplda.model import load

FIT = ("--topics", 4, "--epsilon", 60, "--tokenizer", "fast", "--max-document-frequency", 0.3, "--quiet")


@pytest.mark.full
def test_guided_topics_keep_their_names(dplda, home: Path) -> None:
    assert dplda("corpus", "sample", "s", "--documents", 2500).status == 0
    dplda("budget", "grant", "sample", "--epsilon", 200, "--delta", 1e-5)  # nearly no noise
    corpus = ("s/sample.jsonl.gz", "--text-field", "text", "--unit", "document")
    listed = dplda("fit", *corpus, *FIT, "--json", "--dataset", "first", "--simulate").err
    assert "needs an unbounded grant" in listed
    fitted = dplda("fit", *corpus, *FIT, "--json").json
    words = [word for word, _ in fitted["topics"][0]["words"][:3]]
    Path("seeds.yaml").write_text(f"my topic: [{', '.join(words)}]\n")
    answer = dplda("fit", *corpus, *FIT, "--seed-words", "seeds.yaml")
    assert answer.status == 0, answer.err
    assert " my topic " in answer.out
    topics = dplda("topics", "sample", "--json").json["topics"]
    (named,) = [topic for topic in topics if "name" in topic]
    assert named["name"] == "my topic"
    assert dplda("report", "sample", "--output", "r.html").status == 0
    assert "my topic" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("space: [orbit, launch", "is not YAML or JSON"),
        ("orbit", "does not map topics to what they are given"),
        ("[]", "does not map topics to what they are given"),
        ("[orbit, launch]", "topic 'orbit' has a name and no seed words. Give its words, or a file of word vectors"),
        ("orbit:", "topic 'orbit' has a name and no seed words. Give its words, or a file of word vectors"),
        ("- orbit\n- orbit", "lists topic 'orbit' twice"),
        ("- orbit\n- 5", "5 is no name of a topic to YAML. Write a line for each name, such as: - space"),
        ("a: [b]\nspace: [orbit, launch", "is not YAML or JSON (line 2)"),
        ("space: orbit", "has no list of words for topic 'space'"),
        ("space: []", "has no list of words for topic 'space'"),
        ("space: [moon, 1993]", "1993 of topic 'space' is no word to YAML. Put it in quotation marks."),
        ("space: [outer space]", "'outer space' of topic 'space' is not one word. Give its words one by one."),
        ("space: [moon]\nspace: [orbit]", "lists topic 'space' twice"),
        ("space: [orbit]\nsky: [orbit]", "the seed word 'orbit' is listed twice"),
        ("!!python/object/apply:os.system ['true']", "is not YAML or JSON"),
    ],
)
def test_a_file_that_holds_no_seed_words_is_told_in_one_line(dplda, home: Path, content: str, message: str) -> None:
    Path("texts.jsonl").write_text('{"text": "one two three"}\n' * 10)
    Path("seeds.yaml").write_text(content)
    answer = dplda("fit", "texts.jsonl", "--seed-words", "seeds.yaml")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert dplda("fit", "texts.jsonl", "--seed-words", "absent.yaml").status == 2


VECTORS = """\
refund 9 0 0
refunds 8 1 0
repay 7 0 1
delivery 0 9 0
parcel 1 8 0
the 0 8 1
song 0 0 9
"""
NAMED = ("texts.jsonl", "--topics", 3, "--seed-words", "names.yaml")


@pytest.fixture
def named(home: Path) -> None:
    """A corpus, names of topics, and vectors."""
    Path("texts.jsonl").write_text('{"text": "refund refunds repay delivery parcel song"}\n' * 400)
    Path("names.yaml").write_text("refund:\ndelivery:\nmusic: [song, guitar]\n")
    Path("glove.txt").write_text(VECTORS)


GUIDED = {"refund": ["refund", "refunds", "repay"], "delivery": ["delivery", "parcel"], "music": ["song", "guitar"]}
LINES = [f"Topic {name!r} is guided by: {', '.join(words)}." for name, words in GUIDED.items()]


def test_a_dry_run_shows_the_words_that_names_become(dplda, named: None) -> None:
    answer = dplda("fit", *NAMED, "--vectors", "glove.txt", "--dry-run")
    assert (answer.status, [line for line in answer.out.splitlines() if "guided" in line]) == (0, LINES)
    assert dplda("fit", *NAMED, "--vectors", "glove.txt", "--dry-run", "--json").json["seed_words"] == GUIDED
    assert "--vectors glove.txt" in answer.out  # in the command to run


def test_a_fit_shows_the_words_before_it_is_charged_and_records_them(dplda, named: None) -> None:
    dplda("budget", "grant", "texts", "--epsilon", 80, "--delta", 1e-5)
    refused = dplda("fit", *NAMED, "--vectors", "glove.txt", "--epsilon", 95)
    assert (refused.status, refused.out.splitlines()) == (3, LINES)
    fitted = dplda("fit", *NAMED, "--vectors", "glove.txt", "--epsilon", 60, "--words", "private", "--json")
    assert fitted.status == 0, fitted.err
    assert [line for line in fitted.err.splitlines() if "guided" in line] == LINES
    assert {topic.get("name") for topic in fitted.json["topics"]} <= {*GUIDED, None}
    assert load(fitted.json["model"]).facts.seed_words == {name: tuple(words) for name, words in GUIDED.items()}
    (recorded,) = [run for run in Ledger().runs() if run.id == fitted.json["run"]]
    assert recorded.parameters["seed_words"] == GUIDED


def test_a_name_that_vectors_lack_and_needless_vectors_are_told_in_one_line(dplda, named: None) -> None:
    Path("names.yaml").write_text("- refnd\n")
    answer = dplda("fit", *NAMED, "--vectors", "glove.txt")
    assert (answer.status, answer.out) == (2, "")
    assert "Did you mean 'refund'?" in answer.err
    assert answer.err.count("\n") <= 2  # with the name of the stage
    Path("names.yaml").write_text("music: [song]\n")
    answer = dplda("fit", *NAMED, "--vectors", "glove.txt")
    assert (answer.status, answer.out) == (2, "")
    assert "--vectors is for topics of --seed-words that have no words" in answer.err
    assert dplda("fit", "texts.jsonl", "--vectors", "glove.txt").status == 2
