from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from handmade import make_model, with_facts

from dplda.base.config import PrivacySettings
from dplda.budget import Ledger
from dplda.learning.verdicts import of_probabilities
from dplda.model import TopicModel
from dplda.model.topic_model import load


def test_a_run_is_found_by_its_id_its_beginning_and_its_folder(dplda, saved: str, home: Path) -> None:
    answers = [dplda("topics", run, "--json") for run in (saved, saved[:-2], home / "models" / "saved")]
    assert [answer.status for answer in answers] == [0, 0, 0]
    assert answers[0].out == answers[1].out == answers[2].out


def test_json_has_the_shape_of_the_interface(dplda, saved: str, model: TopicModel) -> None:
    record = dplda("topics", saved, "--json", "--top", 4).json
    assert set(record) == {"run", "private", "topics"}
    assert [topic["topic"] for topic in record["topics"]] == [0, 1, 2]
    assert [topic["prevalence"] for topic in record["topics"]] == model.prevalence.tolist()
    wanted = [[list(pair) for pair in pairs] for pairs in model.top_words(4)]
    assert [topic["words"] for topic in record["topics"]] == wanted


def test_the_table_shows_words_and_no_markup_acts(dplda, home: Path, model: TopicModel) -> None:
    words = ["[red]alarm", "\x1b]0;title", *model.vocabulary[2:]]
    dataclasses.replace(model, vocabulary=words).save(home / "m")
    out = dplda("topics", home / "m", "--top", 12).out
    assert "[red]alarm" in out
    assert "]0;title" in out
    assert "\x1b" not in out


def test_the_limits_of_verdicts_are_told_wherever_percentages_are(dplda, home: Path, model: TopicModel) -> None:
    probabilities = {"verdicts": ("clear", "weak", "noise"), "topic_probabilities": (0.6, 0.59, 0.05)}
    judged = with_facts(model, **probabilities)
    assert of_probabilities(np.array([0.6, 0.59, 0.05])) == [*judged.verdicts]
    judged.save(home / "judged")
    assert dplda("report", "judged", "-o", "page.html").status == 0
    for shown in (dplda("topics", "judged").out, judged._repr_html_(), (home / "page.html").read_text()):
        limits = "clear from 60%, noise up to 5%, before rounding."
        assert f"is the probability that it would: {limits}" in " ".join(shown.split())
        assert "merged" not in shown


def test_topics_that_were_merged_make_no_run_useful(dplda, home: Path) -> None:
    """One of four topics is clear, and one of three would be enough: the topics of the run count."""
    model = make_model(4, 50, 0)
    few = {"verdicts": ("clear", "weak", "weak", "weak"), "topic_probabilities": (0.9, 0.5, 0.5, 0.5)}
    with_facts(model, **few).save(home / "few")
    assert "Only 1 of 3 topics is clear" in dplda("merge", "few", "1,2", "--out", "merged").out
    assert dplda("report", "merged", "-o", "page.html").status == 0
    page = (home / "page.html").read_text()
    assert "Use the topics with care: only 1 of 3 topics is clear" in page
    for shown in (dplda("topics", "merged").out, load("merged")._repr_html_(), page):
        assert "Topics merged by hand count as weak: nothing tells" in " ".join(shown.split())
        assert "percentage is" not in shown


def test_csv_holds_the_words_shown(dplda, saved: str, home: Path) -> None:
    (home / "l.yaml").write_text("1: Heating")
    assert dplda("label", saved, "--labels", "l.yaml").status == 0
    for relevance in (0.6, 1.0):
        (home / "t.csv").unlink(missing_ok=True)
        (home / "t.privacy.json").unlink(missing_ok=True)
        shown = dplda("topics", saved, "--top", 3, "--all", "--relevance", relevance, "--csv", home / "t.csv")
        assert shown.status == 0
        with (home / "t.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == ["topic", "name", "prevalence", "word", "probability", "verdict", "real", "among_ten"]
        assert len(rows) == 9
        assert [row["name"] for row in rows] == [""] * 3 + ["Heating"] * 3 + [""] * 3
        for topic in range(3):
            assert " ".join(row["word"] for row in rows if row["topic"] == str(topic)) in shown.out


@pytest.mark.parametrize("sound", [True, False])
def test_what_is_promised_lies_beside_the_csv(dplda, home: Path, model: TopicModel, sound: bool) -> None:
    reason = "" if sound else "NOT PRIVATE: no noise"
    statement = dataclasses.replace(model.privacy, sound=sound, reason=reason)
    dataclasses.replace(model, privacy=statement).save(home / "m")
    assert dplda("topics", home / "m", "--csv", home / "t.csv").status == 0
    assert json.loads((home / "t.privacy.json").read_text()) == statement.to_json()


@pytest.mark.parametrize("name", ["t.csv", "t.privacy.json"])
def test_existing_files_are_left_alone(dplda, saved: str, home: Path, name: str) -> None:
    (home / name).write_text("mine")
    answer = dplda("topics", saved, "--csv", home / "t.csv")
    assert (answer.status, (home / name).read_text()) == (2, "mine")
    assert len(list(home.glob("t.*"))) == 1


@pytest.mark.parametrize("run", ["nowhere-aaaaaa", "./no/such/folder"])
def test_an_unknown_run_is_one_line_that_names_the_next_command(dplda, saved: str, run: str) -> None:
    answer = dplda("topics", run)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert "dplda runs" in answer.err


def test_a_run_without_a_model_says_why(dplda, home: Path) -> None:
    reservation = Ledger().reserve(
        dataset="d",
        unit="document",
        privacy=PrivacySettings(epsilon=1.0, adjacency="replace"),
        events=(),
        parameters={},
        sound=True,
    )
    reservation.abandon("failed", "no room")
    answer = dplda("topics", reservation.run)
    assert answer.status == 2
    assert "no room" in answer.err


@pytest.mark.parametrize("command", [("topics",), ("export", "--to", "csv", "--out", "e")])
def test_a_model_that_is_not_private_says_so_wherever_it_is_opened(
    dplda, home: Path, model: TopicModel, command
) -> None:
    model.save(home / "private")
    statement = dataclasses.replace(model.privacy, sound=False, epsilon=float("inf"), reason="NOT PRIVATE: no noise")
    dataclasses.replace(model, privacy=statement).save(home / "exact")
    name, *options = command
    assert "NOT PRIVATE: no noise" in dplda(name, home / "exact", *options).err
    assert "PRIVATE" not in dplda(name, home / "private", *options[:-1], *(["f"] if options else [])).err
