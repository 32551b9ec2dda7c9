"""`dplda fit --seed-words` through the command line, and the names of its topics wherever topics are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

FIT = ("--topics", 4, "--epsilon", 60, "--tokenizer", "fast", "--max-document-frequency", 0.3, "--quiet")


def test_guided_topics_keep_their_names(dplda, home: Path) -> None:
    assert dplda("corpus", "sample", "s", "--documents", 2500).status == 0
    dplda("budget", "grant", "sample", "--epsilon", 200, "--delta", 1e-5)  # nearly no noise
    corpus = ("s/sample.jsonl.gz", "--text-field", "text")
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
        ("[orbit, launch]", "does not map topics to what they are given"),
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
