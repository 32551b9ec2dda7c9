"""Papers about a run from the command line: what is asked, what is refused, and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from handmade import make_model
from ledger_helpers import DEFAULT_TOTAL
from report_data import run_without_topics

from dplda.audit.compliance_forms import FORMS
from dplda.base.config import PrivacySettings
from dplda.budget import Ledger
from dplda.budget.events import Event


def asked(result: dict[str, Any] | None, **changes: Any) -> str:
    """A run of `dplda ask` with two questions without topics, which `result` answers; returns its id."""
    reservation = Ledger().reserve(
        dataset="tickets",
        unit="document",
        privacy=PrivacySettings(epsilon=1.0),
        events=[Event(stage="table", noise_multiplier=6.0)],
        parameters={"kind": "plan", "questions": [{"kind": "count", "question": f"{i}?"} for i in (1, 2)], **changes},
        sound=True,
    )
    if result is not None:
        reservation.finish(model=None, seconds={}, result=result)
    return reservation.run


@pytest.fixture
def run(saved: str, home: Path) -> str:
    """The folder of a model of the recorded run `saved`, which knows its id."""
    model = make_model()
    replace(model, facts=replace(model.facts, run=saved, dataset="reviews")).save(home / "m")
    return str(home / "m")


@pytest.mark.parametrize("kind", FORMS)
def test_a_paper_is_written_and_what_is_missing_can_be_completed(dplda, run: str, home: Path, kind: str) -> None:
    answer = dplda("report", run, f"--{kind}", home / "draft")
    assert answer.status == 0, answer.err
    text = (home / "draft").read_text(encoding="utf-8")
    assert f"the guarantee is the whole grant: {DEFAULT_TOTAL}" in text, "the ledger was asked"
    lines = [line for line in answer.err.splitlines() if ":  # " in line]
    assert [line.split(":")[0] for line in lines] == list(FORMS[kind].asks)
    (home / "answers.yaml").write_text("\n".join(line.replace(":  #", ": none at all  #") for line in lines))
    for line in ("sector: Energy", "publication_date: 2026-03-31"):
        name = line.split(":")[0]
        content = (home / "answers.yaml").read_text().replace(f"{name}: none at all", line)
        (home / "answers.yaml").write_text(content)
    whole = dplda("report", run, f"--{kind}", home / "whole", "--answers", home / "answers.yaml")
    assert whole.status == 0, whole.err
    assert "missing" not in whole.err
    text = (home / "whole").read_text(encoding="utf-8")
    assert "TO BE FILLED IN" not in text
    assert "none at all" in text


def test_json_names_what_is_missing(dplda, run: str, home: Path) -> None:
    (home / "a.json").write_text('{"purpose": "to test"}')
    papers = ("--registry", "registry.yaml", "--checklist", "list.md")
    record = dplda("report", run, *papers, "--answers", home / "a.json", "--title", "Toys", "--json").json
    assert record["papers"] == {"registry": "registry.yaml", "checklist": "list.md"}
    assert (home / "list.md").exists()
    assert "purpose" not in record["missing"]
    assert record["missing"]["region"].startswith("which region")
    basic = yaml.safe_load((home / "registry.yaml").read_text())["deployment"]["basic"]
    assert (basic["name"], basic["intended_use"]) == ("Toys", "to test")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--registry", "registry.yaml", "--name", "1=a"), "is about one run and shows no topics"),
        (("--registry", "registry.yaml", "-o", "page.html"), "is about one run and shows no topics"),
        (("--registry", "registry.yaml", "--answers", "none.yaml"), "cannot read none.yaml"),
        (("--registry", "registry.yaml", "--answers", "bad.yaml"), "answers 'purpos', which nobody asks. Did you mean"),
        (("--answers", "bad.yaml"), "--answers is for a paper"),
        (("--registry", "registry.yaml", "--checklist", "bad.yaml"), "exists already"),
        (("--registry", "registry.yaml", "--checklist", "registry.yaml"), "two papers are named the same FILE"),
    ],
)
def test_what_fits_nothing_is_one_line_and_writes_nothing(
    dplda, run: str, home: Path, options: tuple[str, ...], message: str
) -> None:
    (home / "bad.yaml").write_text("purpos: x")
    answer = dplda("report", run, *options)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert message in answer.err
    assert not (home / "registry.yaml").exists()
    assert not (home / "report.html").exists()


@pytest.mark.parametrize(
    "parameters", [{"other_answers": ["numbers of persons"]}, {"kind": "count", "by": ["ward"]}, {"kind": "words"}]
)
def test_a_paper_is_written_about_a_run_without_topics(dplda, home: Path, parameters: dict[str, Any]) -> None:
    answers = {"answers": [None, None], "reasons": ["too few", "too few"]}
    statement = run_without_topics().privacy.to_json()
    result = {**answers, "tables": [], "by": [], "privacy": statement}
    run = asked(result, **parameters)
    answer = dplda("report", run, "--assessment", home / "paper.md")
    assert answer.status == 0, answer.err
    text = (home / "paper.md").read_text(encoding="utf-8")
    assert f"publication of all answers of run\n{run} of dplda on dataset tickets" in text
    assert f"the guarantee is the whole grant: {DEFAULT_TOTAL}" in text, "the ledger was asked"


def test_a_plan_that_came_to_no_answer_says_so(dplda, home: Path) -> None:
    run = asked(None)
    for command in (("tables", run), ("report", run), ("report", run, "--assessment", home / "paper.md")):
        answer = dplda(*command)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert f"run {run} came to no answer to any of its 2 questions (started and never finished: " in answer.err
    assert not (home / "paper.md").exists()


def test_two_runs_have_no_common_paper(dplda, run: str) -> None:
    assert "is about one run" in dplda("report", run, run, "--registry", "r.yaml").err


def test_a_run_without_a_guarantee_gets_none(dplda, home: Path) -> None:
    model = make_model()
    bad = replace(model.privacy, sound=False, epsilon=float("inf"), reason="NOT PRIVATE: exact")
    replace(model, privacy=bad).save(home / "bad")
    answer = dplda("report", home / "bad", "--registry", "registry.yaml")
    assert answer.status == 2
    assert "has no privacy guarantee" in answer.err
    assert not (home / "registry.yaml").exists()


def test_a_name_that_the_registry_refuses_is_told(dplda, run: str, home: Path) -> None:
    assert "lower-case letters" in dplda("report", run, "--registry", home / "My-Entry.yml").err
    assert "lower-case letters" not in dplda("report", run, "--registry", "registry.yaml").err
