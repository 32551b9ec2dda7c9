"""An entry of the registry: its schema accepts it, the run fills it, and the deployer's answers complete it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from handmade import with_facts
from registry_schema import complaints, fields, filled
from report_data import all_runs, run_model

from dplda.audit.answers import QUESTIONS, Answers
from dplda.audit.compliance_forms import write_form
from dplda.audit.deployments_registry import ASKED, registry_entry
from dplda.base.errors import InputError
from dplda.report.facts import TITLES, Facts

SPECIAL: dict[str, Any] = {
    "sector": "Healthcare",
    "publication_date": "2026-03-31",
    "curators": ["A & B", "C"],
    "authors": ["D"],
}
ANSWERS = Answers({name: SPECIAL.get(name, f"about {name}: 'a' | \"b\"\n# c\n") for name in QUESTIONS})


def test_the_schema_accepts_an_entry_and_would_not_accept_a_wrong_one() -> None:
    for answers in (Answers(), ANSWERS):
        assert complaints(registry_entry(Facts(run_model(), all_runs()), answers)) == []
    wrong = registry_entry(Facts(run_model()), Answers()).replace("tier: 3", "tier: 4")
    assert complaints(wrong) == ["['tier']: 4 is not one of [1, 2, 3]"]


def test_a_run_fills_most_fields_and_says_what_is_missing() -> None:
    text = registry_entry(Facts(run_model(), all_runs()), Answers())
    entry = yaml.safe_load(text)
    assert entry["status"] == "Draft"
    assert entry["tier"] == 3
    assert len(filled(text)) >= 25
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 8.0  # the total
    comments = re.findall(r"^# (\w+):  # ", text, flags=re.MULTILINE)
    assert comments == list(ASKED)
    assert set(re.findall(r"TO BE FILLED IN \((\w+)\)", text)) == set(ASKED) - {"sector", "publication_date"}


def test_answers_complete_it_and_await_the_board() -> None:
    text = registry_entry(Facts(run_model(), all_runs()), ANSWERS, title="Toys <b>")
    entry = yaml.safe_load(text)
    assert entry["status"] == "Pending"
    assert len(filled(text)) == len(list(fields(entry))) == 37
    basic = entry["deployment"]["basic"]
    assert basic["name"] == "Toys &lt;b>"
    assert basic["data_curators"] == ["A & B", "C"]
    assert basic["intended_use"].startswith("about purpose")
    for name in set(ASKED) - set(SPECIAL):
        assert f"about {name}: 'a' | \"b\"\n# c" in "\n".join(str(value) for _, value in fields(entry)), name


def test_the_address_is_made_as_the_registry_makes_it_and_comes_first() -> None:
    text = registry_entry(Facts(run_model()), ANSWERS)
    assert text.splitlines()[0] == "url_slug: topics-of-toys-a-b-c-2026"


def test_texts_of_several_lines_are_literal_blocks() -> None:
    text = registry_entry(Facts(run_model(), all_runs(4)), ANSWERS)
    styles = {token.style for token in yaml.scan(text) if isinstance(token, yaml.ScalarToken)}
    assert styles <= {None, "|", "'"}


@pytest.mark.parametrize(
    ("model", "path", "value"),
    [
        (run_model(unit="customer"), "privacy_loss/privacy_unit", "customer"),
        (with_facts(run_model(), series="s", batch="1"), "deployment_model/data_source_type", "Dynamic"),
        (with_facts(run_model(), series="s", batch="1"), "deployment_model/release_type", "Many releases"),
        (run_model(), "deployment_model/release_type", "One release"),
    ],
)
def test_fields_follow_the_run(model: Any, path: str, value: str) -> None:
    entry = dict(fields(yaml.safe_load(registry_entry(Facts(model), Answers()))))
    assert entry[f"/deployment/{path}"] == value


def test_every_fact_but_none_of_its_own_is_in_the_entry() -> None:
    facts = Facts(run_model(), all_runs())
    entry = "\n".join(str(value) for _, value in fields(yaml.safe_load(registry_entry(facts, ANSWERS))))
    missing = [key for key in TITLES for sentence in facts[key] if sentence.replace("<", "&lt;") not in entry]
    assert missing == []
    assert not any(word in entry for word in facts.model.vocabulary)


def test_a_run_without_a_guarantee_has_no_paper() -> None:
    with pytest.raises(InputError, match="has no privacy guarantee"):
        write_form("registry", run_model(sound=False, reason="NOT PRIVATE: exact"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("purpos: x", "answers 'purpos', which nobody asks. Did you mean purpose?"),
        ("zzzz: x", "answers 'zzzz', which nobody asks. Known are: curators, authors"),
        ("purpose: [a]", "the answer purpose must be a text, not list: what the results are used for."),
        ("purpose: 7", "the answer purpose must be a text, not int"),
        ("curators: {a: b}", "the answer curators must be a text or a list of texts"),
        ("curators: ['']", "the answer curators must be a text or a list of texts"),
        ("publication_date: yesterday", "the answer publication_date must be a date such as 2026-03-31."),
        ("publication_date: 20260331", "the answer publication_date must be a date such as 2026-03-31"),
        ("sector: Toys", "the answer sector must be one of: Technology, Healthcare"),
        ("purpose: a\npurpose: b", "lists name 'purpose' twice. Give each name once."),
        (
            "purpose: a\npublication_date: 2026-06-31",
            "has '2026-06-31' in line 2, which is no day or number that exists",
        ),
        ("- a", "does not map names to what they are given"),
        ("a: [", "is not YAML or JSON"),
    ],
)
def test_wrong_answers_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "answers.yaml").write_text(content)
    with pytest.raises(InputError) as refused:
        Answers.read(tmp_path / "answers.yaml")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_answers_are_read_as_text_without_markup_and_open_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("purpose: <b>x\ncurators: One\npublication_date: 2026-03-31\nregion:\ntrust: ''\n")
    given = Answers.read(tmp_path / "a.yaml").given
    assert given == {"purpose": "&lt;b>x", "curators": ["One"], "publication_date": "2026-03-31"}
    (tmp_path / "a.json").write_text('{"purpose": "a\\u202eb"}')
    assert Answers.read(tmp_path / "a.json").given == {"purpose": "a\ufffdb"}


def test_lines_of_open_questions_can_be_completed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("\n".join(question.line for question in QUESTIONS.values()))
    assert Answers.read(tmp_path / "a.yaml").given == {}
