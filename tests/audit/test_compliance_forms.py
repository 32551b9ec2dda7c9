"""The checklist and the assessment: whole, true to the run, safe to render, and with the deployer's answers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from handmade import make_model, with_facts
from report_data import HOSTILE, all_runs, run_model, run_without_topics
from test_documentation import ROOT, commands, options_of

from dplda.audit.answers import QUESTIONS, Answers
from dplda.audit.checklist import POINTS, State, counts, judge_points
from dplda.audit.compliance_forms import FORMS, write_form
from dplda.budget.guarantees import Basis, Guarantee
from dplda.cli.main import cli
from dplda.report.facts import TITLES, Facts

MARKDOWN = ("checklist", "assessment")
SPECIAL = {"publication_date": "2026-03-31", "authors": ["One", "Two"]}
ANSWERS = Answers(
    {
        name: question.answer(
            question.choices[0] if question.choices else SPECIAL.get(name, f"about {name}\n# no heading\n<script>")
        )
        for name, question in QUESTIONS.items()
    }
)


def form(kind: str, **changes: Any) -> str:
    return write_form(kind, run_model(**changes), all_runs())[0]


@pytest.mark.parametrize("kind", MARKDOWN)
def test_every_fact_of_the_report_is_in_the_assessment_and_those_of_a_point_in_the_checklist(kind: str) -> None:
    facts, text = Facts(run_model(), all_runs()), form(kind)
    keys = set(TITLES) - {"domain"} if kind == "assessment" else {key for point in POINTS for key in point.facts}
    assert [s for key in keys for s in facts[key] if f"- {s.replace('<', '&lt;')}\n" not in text] == []
    assert not any(word in text for word in facts.model.vocabulary), "no words of topics"


@pytest.mark.parametrize("kind", MARKDOWN)
def test_every_question_of_a_paper_is_in_it_once_answered_or_marked(kind: str) -> None:
    model, asks = run_model(), FORMS[kind].asks
    text, missing = write_form(kind, model, all_runs())
    assert [question.name for question in missing] == list(asks)
    assert set(re.findall(r"^\*\w+\* \(`(\w+)`: ", text, flags=re.MULTILINE)) == set(asks)
    assert text.count("> TO BE FILLED IN\n") == len(re.findall(r"^\*\w+\* \(`", text, flags=re.MULTILINE))
    whole, missing = write_form(kind, model, all_runs(), ANSWERS)
    assert missing == []
    assert "TO BE FILLED IN" not in whole
    assert "Every question has an answer." in whole
    for name in asks:
        assert f"> {ANSWERS.text(name).splitlines()[0]}\n" in whole


@pytest.mark.parametrize("kind", MARKDOWN)
def test_neither_answers_nor_names_become_markup_or_headings(kind: str) -> None:
    model = with_facts(run_model(unit="<img src=x>", words=HOSTILE), dataset="<b>toys", run="<i>run")
    text, _ = write_form(kind, model, None, ANSWERS, title="<script>alert(1)</script>")
    assert "<" not in text
    headings = re.findall(r"^#+ .*$", text, flags=re.MULTILINE)
    plain = re.findall(r"^#+ .*$", form(kind), flags=re.MULTILINE)
    assert len(headings) == len(plain)
    assert "no heading" not in " ".join(headings)


@pytest.mark.parametrize("kind", MARKDOWN)
def test_a_paper_reads_well_as_it_is(kind: str) -> None:
    text = form(kind)
    assert text.startswith("# Topics of toys: ")
    assert "\n\n\n" not in text
    assert "{" not in text
    levels = [len(found) for found in re.findall(r"^(#+) ", text, flags=re.MULTILINE)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def states(facts: Facts, answers: Answers | None = None) -> dict[str, State]:
    return {point.title: state for point, state, _ in judge_points(facts, answers or Answers())}


@pytest.mark.parametrize(
    ("facts", "title", "state"),
    [
        (Facts(run_model(epsilon=1.0)), "Privacy parameter epsilon", State.MET),
        (Facts(run_model(epsilon=3.0)), "Privacy parameter epsilon", State.OPEN),
        (Facts(run_model(), all_runs()), "Privacy parameter epsilon", State.OPEN),  # the total of 8 is what to quote
        (Facts(with_facts(run_model(), documents=500)), "Privacy parameter delta", State.MET),
        (Facts(with_facts(run_model(), documents=5000)), "Privacy parameter delta", State.PARTLY),
        (Facts(with_facts(run_model(delta=0.01), documents=5000)), "Privacy parameter delta", State.NOT_MET),
        (Facts(with_facts(run_model(), documents=None)), "Privacy parameter delta", State.OPEN),
        (Facts(run_model()), "Unit of privacy", State.OPEN),
        (Facts(run_model(unit="customer")), "Unit of privacy", State.MET),
        (Facts(run_model()), "Bounded or unbounded neighbours", State.MET),
        (Facts(run_model(adjacency="replace")), "Bounded or unbounded neighbours", State.PARTLY),
        (Facts(run_model()), "Composition and budget", State.NOT_MET),
        (Facts(run_model(), all_runs()), "Composition and budget", State.MET),
        (
            Facts(run_model(), all_runs(2, guarantee=Guarantee(epsilon=9, delta=1e-5, basis=Basis.AFTER_LOOKING))),
            "Composition and budget",
            State.NOT_MET,
        ),
        (Facts(run_model(), all_runs(unknown=1)), "Composition and budget", State.NOT_MET),
        (Facts(run_model()), "Data security and access control", State.OPEN),
    ],
)
def test_a_point_is_judged_by_the_run(facts: Facts, title: str, state: State) -> None:
    assert states(facts)[title] == state


def test_the_checklist_quotes_the_total_and_rounds_a_bound_upwards() -> None:
    assert "Epsilon to quote: 8 (the total of all runs recorded under the name toys)." in form("checklist")
    alone = write_form("checklist", run_model(epsilon=4.99738))[0]
    assert "Epsilon to quote: 4.998 (this run alone)." in alone
    assert "4.997" not in alone


@pytest.mark.parametrize("kind", FORMS)
def test_a_paper_about_a_plan_is_about_all_of_its_answers(kind: str) -> None:
    asked = with_facts(run_model(), epsilon=5.0, budget_share=0.5, other_answers=("numbers of persons by ward",))
    text = " ".join(write_form(kind, asked, all_runs())[0].split())
    assert "Topics and answers about toys" in text
    assert "Epsilon 5 and delta 1e-06 were given before the run, for all answers of its plan together" in text
    if kind != "checklist":
        assert "numbers of persons by ward" in text
        assert "topics only" not in text
        assert "ther questions about the documents" in text


@pytest.mark.parametrize("kind", FORMS)
def test_a_paper_about_answers_alone_speaks_of_no_topics_that_were_released(kind: str) -> None:
    text, missing = write_form(kind, run_without_topics(), all_runs())
    assert [question.name for question in missing] == list(FORMS[kind].asks)
    assert "Answers about toys" in text
    found = {
        "registry": ("data_product_type: Summary statistics", "Answers to questions about the documents"),
        "assessment": ("Questions about the documents are answered from noisy sums.", "numbers of documents in each"),
        "checklist": ("Numbers and shares have intervals, and no", "No model is learned; what was given as public"),
    }
    assert [words for words in found[kind] if words not in text] == []
    assert "topic model" not in text.casefold()


def test_answers_turn_open_points_into_answered_ones_and_no_others() -> None:
    facts = Facts(run_model(epsilon=3.0, delta=0.01))
    before, after = states(facts), states(facts, ANSWERS)
    assert State.OPEN not in after.values()
    assert {title for title in before if before[title] != after[title]} == {
        title for title, state in before.items() if state == State.OPEN
    }
    assert "not met" in {str(state) for state in after.values()}, "an answer does not mend a broken promise"


def test_the_checklist_counts_its_points() -> None:
    points = judge_points(Facts(run_model(), all_runs()), Answers())
    text = form("checklist")
    assert sum(counts(points).values()) == len(POINTS)
    for state, count in counts(points).items():
        assert f"| {state} | {count} |" in text
    assert {point.section for point in POINTS} == {2, 3, 4}


@pytest.mark.parametrize("kind", FORMS)
def test_pages_and_commands_that_a_paper_names_exist(kind: str, tmp_path: Path) -> None:
    text = write_form(kind, make_model(), None, ANSWERS)[0]
    pages = set(re.findall(r"\bdocs/[\w-]+\.md", text))
    assert pages
    assert [name for name in pages if not (ROOT / name).is_file()] == []
    (tmp_path / "paper.md").write_text(text, encoding="utf-8")
    named = commands(tmp_path / "paper.md")
    assert named
    for command in named:
        words = command.split()
        assert words[0] in cli.commands, command
        assert {word for word in words if word.startswith("--")} <= options_of(words), command
