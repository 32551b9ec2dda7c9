"""`dplda label`, `dplda tree` and `dplda merge` on a saved model."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from handmade import make_model

from dplda.model import load
from dplda.model.topic_groups import merge_topics


@pytest.fixture
def model(home: Path) -> Path:
    make_model().save(home / "m")
    return home / "m"


def test_names_are_kept_and_shown_everywhere(dplda, model: Path, home: Path) -> None:
    answer = dplda("label", "./m")
    assert answer.status == 0, answer.err
    names = load(model).topic_names
    assert names
    assert all(name.split(",")[0] in answer.out for name in names.values())
    (home / "l.yaml").write_text("0: {name: Heating, sentence: Broken boilers.}")
    listed = dplda("label", "./m", "--labels", "l.yaml", "--json").json["topics"]
    assert (listed[0]["name"], listed[0]["sentence"]) == ("Heating", "Broken boilers.")
    assert "0 Heating" in dplda("topics", "./m", "--all").out
    assert dplda("report", "./m", "-o", "r.html").status == 0
    assert "Heating" in Path("r.html").read_text()


def test_names_of_a_person_stay_and_every_version_can_be_returned_to(dplda, model: Path, home: Path) -> None:
    (home / "l.yaml").write_text("1: {name: Heating, sentence: Broken boilers.}")
    by_hand = dplda("label", "./m", "--labels", "l.yaml")
    assert load(model).topic_names == {1: "Heating"}
    assert by_hand.out.splitlines()[-1] == "The names before these: dplda label ./m --undo"
    by_words = dplda("label", "./m")
    assert "Kept names that a person gave: 1. To replace them, too: --replace" in by_words.out
    names = load(model).topic_names
    assert (names[1], load(model).topic_sentences, len(names)) == ("Heating", {1: "Broken boilers."}, 3)
    again = dplda("label", "./m", "--json").json  # the names that it made itself are no person's
    assert again["kept"] == [[1]]
    assert dplda("label", "./m", "--replace", "--json").json["kept"] == []
    replaced = load(model).topic_names
    assert replaced[1] != "Heating"
    assert dplda("label", "./m", "--replace", "--undo").status == 2

    seen, told = [], []
    for _ in range(5):
        told.append(dplda("label", "./m", "--undo").out.splitlines()[-1])
        seen.append(load(model).topic_names)
    assert seen == [names, names, {1: "Heating"}, {}, replaced]  # back to the beginning, and to the last ones
    today = f"{date.today().day} {date.today():%B} {date.today().year}"
    assert told[1:4] == [
        f"These are the names of {today}: 1 given by a person, 2 made of words or by a server.",
        f"These are the names of {today}, given by a person.",
        "These are the topics before they had names.",
    ]


def test_no_earlier_names_and_names_that_were_damaged_are_one_line(dplda, model: Path) -> None:
    assert "have had no other names" in dplda("label", "./m", "--undo").err
    dplda("label", "./m")
    kept = load(model).facts
    for content in ("{", '{"a": 1}', '[{"topic_names": 3}]', "[3]"):
        (model / "names.json").write_text(content)
        for command in (["label", "./m", "--undo"], ["label", "./m"]):
            answer = dplda(*command)
            assert (answer.status, answer.out) == (2, "")
            assert "cannot be read. Restore it, or remove it." in answer.err
    assert load(model).facts == kept


def test_a_tree_adds_up_and_a_merge_makes_a_model(dplda, model: Path, home: Path) -> None:
    cuts = dplda("tree", "./m", "--json").json["cuts"]
    for count, groups in cuts.items():
        assert len(groups) == int(count)
        assert sum(group["share"] for group in groups) == pytest.approx(sum(g["share"] for g in cuts["1"]))
    assert "group 1" in dplda("tree", "./m").out
    (home / "l.yaml").write_text("0,1: {name: Together, sentence: Both.}")
    assert dplda("label", "./m", "--labels", "l.yaml", "--json").json["groups"][0]["name"] == "Together"
    n = len(make_model().topics)
    named = [group for cut in dplda("tree", "./m", "--json").json["cuts"].values() for group in cut if "name" in group]
    assert all(sorted(group["topics"]) == [0, 1] for group in named)
    assert (n > 2) or named
    answer = dplda("merge", "./m", "0,1", "--out", "together", "--json")
    assert len(answer.json["topics"]) == len(make_model().topics) - 1
    assert load("together").facts.merged == ((0, 1), (2,))


def test_a_merged_topic_has_the_names_that_a_person_gave_or_none(dplda, model: Path, home: Path) -> None:
    (home / "l.yaml").write_text("0: Heating\n1: Boilers\n")
    assert dplda("label", "./m", "--labels", "l.yaml").status == 0
    merged = dplda("merge", "./m", "0,1", "--out", "both")
    assert load("both").topic_names[0] == "Heating + Boilers"
    assert "has no name" not in merged.out
    merged = dplda("merge", "./m", "0,2", "--out", "one")
    assert load("one").topic_names == {1: "Boilers"}
    assert "The topic made of 0+2 has no name, as a person did not name each of them." in merged.out
    assert dplda("merge", "./one", "0,1", "--out", "all").status == 0
    assert load("all").facts.merged == ((0, 1, 2),), "numbers of the run's topics"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["label", "./m", "--endpoint", "http://localhost:1/v1"], "give --labels FILE, or --endpoint URL with --model"),
        (["merge", "./m", "a,b", "--out", "x"], "is not of the form 3,7"),
        (["merge", "./m", "0", "--out", "x"], "a single topic cannot be merged. Give two or more different topics"),
        (["tree", "./m", "--groups", "99"], "groups, got 99"),
    ],
)
def test_mistakes_are_one_line(dplda, model: Path, command: list[str], told: str) -> None:
    answer = dplda(*command)
    assert (answer.status, answer.out) == (2, "")
    assert told in answer.err


def test_relevance_ranks_words_from_distinctive_to_probable(dplda, model: Path) -> None:
    probable = json.loads(dplda("topics", "./m", "--json").out)["topics"][0]["words"][0][0]
    shown = dplda("topics", "./m", "--relevance", 1, "--all").out
    assert shown.splitlines()[1].split("%")[1].split()[0] == probable


def test_only_what_is_sure_is_listed(dplda, home: Path) -> None:
    model = make_model()
    chances = [
        dict.fromkeys((word for word, _ in words), 0.95 - 0.4 * n) for n, words in enumerate(model.top_words(10))
    ]
    known = {"topic_probabilities": [0.97, 0.5, 0.1], "word_probabilities": chances}
    known |= {"verdicts": ["clear", "weak", "noise"]}
    replace(model, facts=replace(model.facts, **known)).save(home / "m")
    shown = dplda("topics", "./m", "--sure", 0.9).out
    assert "clear 97%" in shown
    assert "weak" not in shown
    assert "1 of 3 topics are real with a probability of 90% or more." in shown
    listed = dplda("topics", "./m", "--json").json["topics"]
    assert [topic["real"] for topic in listed] == [0.97, 0.5, 0.1]
    assert set(listed[1]["among_ten"].values()) == {0.95 - 0.4}
    assert dplda("topics", "./m", "--csv", "t.csv").status == 0
    assert "0.97,0.95" in Path("t.csv").read_text()
    assert dplda("report", "./m", "-o", "r.html").status == 0
    assert "(97%)" in Path("r.html").read_text()


def test_a_model_without_probabilities_says_so(dplda, model: Path) -> None:
    assert "This model has no probabilities. 0 of 3 topics" in dplda("topics", "./m", "--sure", 0.9).out


def test_two_collections_are_contrasted(dplda, model: Path, home: Path) -> None:
    other = make_model()
    swapped = replace(
        other,
        topics=other.topics[::-1],
        prevalence=other.prevalence[::-1],
        facts=replace(other.facts, run="other-run"),
        counts=None,
    )
    named = tuple(f"{'a long name of a topic ' * 3}{topic}" for topic in range(len(other.topics)))
    swapped = replace(swapped, facts=replace(swapped.facts, topic_names=named))
    swapped.save(home / "n")
    record = dplda("contrast", "./m", "./n", "--json").json
    n = len(other.topics)
    listed = [topic for topic in other.listed_topics if n - 1 - topic in swapped.listed_topics]
    assert {tuple(pair["topics"]) for pair in record["same"]} >= {(topic, n - 1 - topic) for topic in listed}
    assert all(pair["correlation"] == pytest.approx(1.0, abs=0.01) for pair in record["same"])
    assert (record["shared_words"], record["words"]) == (len(other.vocabulary), [len(other.vocabulary)] * 2)
    assert (record["only"], record["notes"]) == ([[], []], [])
    answer = dplda("contrast", "./m", "./n", "--output", "page.html")
    assert answer.status == 0, answer.err
    assert "the one like it in other-run" in answer.out
    assert all(line == line.rstrip() or len(line) <= 120 for line in answer.out.splitlines())
    correlated = [line for line in answer.out.splitlines() if line.rstrip().endswith("1.00")]
    assert len(correlated) >= len(listed), "no column is cut off"
    assert "a long name of a topic" in Path("page.html").read_text().split('id="matched-topics')[-1]
    assert f"Compared over the {len(other.vocabulary)} words that both runs have" in " ".join(answer.out.split())
    for pair in record["same"]:
        assert f"{pair['correlation']:.2f}" in answer.out
        assert f"{pair['correlation']:.2f}" in Path("page.html").read_text(), "one measure in terminal and page"
    assert "differ between runs by noise alone" in answer.out
    assert Path("page.html").exists()
    assert dplda("contrast", "./m", "./n", "--output", "page.html").status == 2


def test_collections_without_a_topic_in_common_are_told_so(dplda, model: Path, home: Path) -> None:
    first = make_model()
    rows = np.kron(np.eye(3), np.ones(4)) + 0.01, np.tile(np.eye(3), 4) + 0.01
    for name, themes in zip("ab", rows, strict=True):
        replace(first, topics=themes / themes.sum(axis=1, keepdims=True), counts=None).save(home / name)
    shown = dplda("contrast", "./a", "./b").out
    assert shown.startswith("No topic is alike in both runs.")
    assert "nearest in" in shown
    merge_topics(first, [(0, 1)]).save(home / "c")
    (note,) = dplda("contrast", "./a", "./c", "--json").json["notes"]
    assert note.startswith("The first run has 3 topics and the second one only 2")
    assert note in " ".join(dplda("contrast", "./a", "./c").out.split())
