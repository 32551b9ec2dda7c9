"""Plan files of `dplda ask`: what they say, and one line for each way to say it wrongly."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

import dplda
from dplda.base.errors import InputError
from dplda.budget import Ledger
from dplda.runs.fit_options import FitOptions
from dplda.runs.plan_files import _KEYS, _OF_KIND, read_plan
from dplda.runs.questions import plan_questions
from dplda.text.wordlists import english

TOPICS = {"ask": "What is it about?", "fit": {"topics": 2}}
BY_TEAM = {"ask": "How do the teams differ?", "tabulate": {"by": "team"}}
COUNT = {"ask": "How many?", "count": {"by": ["team", "month(day)"]}}
RECORD = {"body": "boiler pipe heating", "team": "heat", "day": "01/02/2024", "customer": "gold"}
PLAN: dict[str, Any] = {
    "corpus": "tickets.csv",
    "text_field": "body",
    "epsilon": 2,
    "date_format": "%d/%m/%Y",
    "from": "2024-01-01",
    "to": "2024-03-31",
    "groups": {"team": ["heat", "cash"]},
    "categories": {"refund": ["refund"], "vip": {"column": "customer", "values": ["gold"]}},
    "questions": [TOPICS, BY_TEAM, COUNT, {"ask": "Which words?", "words": {"by": "category(refund)"}, "weight": 3}],
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(PLAN | changes))
    return path


def test_a_plan_says_what_is_read_what_it_may_cost_and_what_is_asked(tmp_path):
    plan = read_plan(written(tmp_path))
    assert plan.corpus == (str(tmp_path / "tickets.csv"),)
    assert plan.reading == {"text_field": "body", "group_fields": ["team", "day", "customer"]}
    assert (plan.options.epsilon, plan.options.delta) == (2, FitOptions().delta)
    assert plan.date_format == "%d/%m/%Y"
    topics, by_team, count, words = plan.questions
    assert (topics.text, topics.kind, topics.options) == ("What is it about?", "fit", {"n_topics": 2})
    assert by_team.tables[0][0].groups == ("heat", "cash")
    assert [table[0].attribute.name for table in count.tables] == ["team", "month(day)"]
    assert count.tables[1][0].groups == ("2024-01", "2024-02", "2024-03")
    assert [question.share for question in plan.questions] == [4, 1, 1, 3]
    assert words.tables[0][0].groups == ("yes", "no")


def test_only_questions_about_dates_read_dates(tmp_path):
    plan = read_plan(written(tmp_path, questions=[TOPICS, BY_TEAM]))
    assert plan.date_format == ""
    assert plan.questions[1].calendar == {}


def test_the_words_of_a_list_are_read_beside_the_plan(tmp_path):
    (tmp_path / "words.txt").write_text("boiler\npipe\n")
    asked = {"ask": "Which?", "words": {"by": "team", "vocabulary": "words.txt"}}
    plan = read_plan(written(tmp_path, questions=[asked]))
    assert list(plan.questions[0].options["vocabulary"]) == ["boiler", "pipe"]
    asked = {"ask": "Which?", "words": {"by": "team", "vocabulary": "english:50"}}
    assert read_plan(written(tmp_path, questions=[asked])).questions[0].options["vocabulary"] == english(50)


def test_categories_may_be_in_a_file_beside_the_plan(tmp_path):
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(PLAN["categories"]))
    assert read_plan(written(tmp_path, categories="c.yaml")) == read_plan(written(tmp_path))
    with pytest.raises(InputError, match=r"cannot read .*absent\.yaml"):
        read_plan(written(tmp_path, categories="absent.yaml"))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsylon": 1}, "'epsilon'"),
        ({"zzz": 1}, "'zzz'"),
        ({"questions": None}, "no list of questions"),
        ({"questions": []}, "no list of questions"),
        ({"questions": {"ask": "x"}}, "no list of questions"),
        ({"questions": ["How many?"]}, "question 1"),
        ({"questions": [TOPICS, {"ask": "Why?"}]}, "question 2"),
        ({"questions": [{"fit": {}}]}, "question 1"),
        ({"questions": [{"ask": " ", "fit": {}}]}, "question 1"),
        ({"questions": [{"ask": 7, "count": {}}]}, "question 1"),
        ({"questions": [TOPICS | COUNT]}, "question 1"),
        ({"questions": [{"ask": "x", "count": ["team"]}]}, "question 1: count"),
        ({"questions": [{"ask": "x", "count": {"bye": "team"}}]}, "'by'"),
        ({"questions": [{"ask": "x", "fit": {"by": "team"}}]}, "'by'"),
        ({"questions": [COUNT | {"weight": -1}]}, "weight"),
        ({"questions": [COUNT | {"weight": True}]}, "weight"),
        ({"questions": [COUNT | {"weight": "much"}]}, "weight"),
        ({"questions": [COUNT | {"wait": 1}]}, "'weight'"),
        ({"questions": [{"ask": "x", "words": {}}]}, "question 1"),
        ({"questions": [{"ask": "x", "count": {"by": "moon(day)"}}]}, "moon"),
        ({"groups": {"taem": ["heat"]}}, "'taem', by which no question is grouped. Did you mean 'team'?"),
        ({"corpus": 3}, "corpus"),
        ({"categories": ["refund"]}, "categories"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file_and_the_place(tmp_path, changes, named):
    path = written(tmp_path, **changes)
    with pytest.raises(InputError) as raised:
        read_plan(path)
    assert named in str(raised.value)
    assert str(path) in str(raised.value) or named.startswith("question")
    assert "\n" not in str(raised.value)


VALUES: list[Any] = [7, -1.5, True, "zzz", [], ["a"], [1, None], {}, {"a": 1}, {"a": ["b"]}, [["a"]]]


@pytest.mark.parametrize("key", [*sorted(_KEYS), *(f"{kind}.{key}" for kind, keys in _OF_KIND.items() for key in keys)])
def test_a_value_of_any_kind_is_read_or_refused(tmp_path, key):
    kind, _, own = key.partition(".")
    corpus = dplda.Corpus.from_texts([RECORD], text_field="body", group_fields=list(RECORD)[1:], name="t")
    for value in VALUES:
        options = {**({"by": "team"} if kind == "words" else {}), own: value}
        path = written(tmp_path, **{"questions": [{"ask": "x", kind: options}]} if own else {key: value})
        with suppress(InputError):  # and no other error
            plan = read_plan(path)
            plan_questions(plan.questions, corpus, Ledger(tmp_path / "l.db"), plan.options)


def test_numbers_that_yaml_reads_as_text_are_numbers(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text() + "delta: 1e-7\n")
    assert read_plan(path).options.delta == 1e-7


@pytest.mark.parametrize("text", ["", "- a\n", "just text", "a: [", "corpus: a\ncorpus: b\n"])
def test_what_is_no_mapping_is_refused(tmp_path, text):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        read_plan(path)


@pytest.mark.parametrize(
    ("questions", "named"),
    [
        ([TOPICS, TOPICS], "twice"),
        ([BY_TEAM, TOPICS], "'How do the teams differ?'"),
        ([{"ask": "Which words?", "words": {"by": "team"}}], "'Which words?'"),
        ([COUNT, BY_TEAM], "'How do the teams differ?'"),
    ],
)
def test_topics_are_fitted_once_and_before_questions_about_them(tmp_path, questions, named):
    ledger = Ledger(tmp_path / "l.db")
    plan = read_plan(written(tmp_path, questions=questions))
    corpus = dplda.Corpus.from_texts([RECORD], text_field="body", group_fields=["team", "day", "customer"], name="t")
    with pytest.raises(InputError, match="fit") as raised:
        plan_questions(plan.questions, corpus, ledger, plan.options)
    assert named in str(raised.value)
    assert ledger.runs() == []
