from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from handmade import make_model

from dplda.ledger import Ledger
from dplda.model import TopicModel


def test_a_run_is_reported_by_its_id_into_the_file_named(dplda, saved: str, home: Path) -> None:
    answer = dplda("report", saved[:-2], "--output", home / "r.html")
    assert answer.status == 0, answer.err
    assert "r.html" in answer.out
    page = (home / "r.html").read_text(encoding="utf-8").split("</main>")[0]
    assert "w000" in page
    assert "1.234" not in page, "the seconds of a run are private"


def test_what_is_guaranteed_of_all_runs_is_on_the_page_where_the_ledger_knows(dplda, saved: str, home: Path) -> None:
    model = make_model()
    replace(model, parameters=dict(model.parameters) | {"run": saved, "dataset": "reviews"}).save(home / "m")
    assert dplda("report", home / "m").status == 0
    assert "the guarantee is the grant&#39;s (epsilon 10, delta 1e-05)" in (home / "report.html").read_text()
    assert dplda("budget", "grant", "reviews", "--epsilon", 20, "--delta", "1e-5").status == 0
    assert dplda("report", home / "m", "--output", home / "again.html").status == 0
    assert "was chosen after looking" in (home / "again.html").read_text()
    for name in ("ledger.db", "ledger.db.key"):
        (home / name).unlink()
    assert dplda("report", home / "m", "--output", home / "alone.html").status == 0
    assert "dplda budget show" in (home / "alone.html").read_text()
    assert not (home / "ledger.db").exists()


def test_json_names_runs_and_file(dplda, saved: str, home: Path) -> None:
    record = dplda("report", home / "models" / "saved", "--json").json
    assert record == {"runs": ["toy-aaaaaa"], "report": "report.html", "private": True}
    assert (home / "report.html").is_file()


def test_several_runs_make_one_page(dplda, saved: str, home: Path) -> None:
    other = make_model(seed=1)
    replace(other, parameters=dict(other.parameters) | {"run": "toy-bbbbbb"}).save(home / "models" / "other")
    assert dplda("report", saved, home / "models" / "other").status == 0
    assert "toy-bbbbbb" in (home / "report.html").read_text(encoding="utf-8")


def test_an_existing_file_is_kept(dplda, saved: str, home: Path) -> None:
    (home / "report.html").write_text("mine")
    answer = dplda("report", saved)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "exists already" in answer.err
    assert (home / "report.html").read_text() == "mine"


def test_a_run_without_a_model_is_one_clear_line(dplda, home: Path) -> None:
    reservation = Ledger().reserve(
        dataset="reviews",
        unit="document",
        adjacency="add-remove",
        epsilon=1.0,
        delta=1e-6,
        events=make_model().privacy.events,
        parameters={},
        sound=True,
    )
    reservation.abandon("cancelled", "interrupted")
    answer = dplda("report", reservation.run)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "has no saved model (cancelled: interrupted)" in answer.err
    assert not (home / "report.html").exists()


def test_runs_without_a_common_word_are_one_clear_line(dplda, saved: str, home: Path) -> None:
    other = make_model(seed=1)
    named = dict(other.parameters) | {"run": "toy-bbbbbb"}
    replace(other, vocabulary=[f"x{j}" for j in range(12)], parameters=named).save(home / "models" / "other")
    answer = dplda("report", saved, home / "models" / "other")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "no word in common" in answer.err


@pytest.mark.parametrize("arguments", [("report",), ("report", "nobody")])
def test_wrong_usage_spends_and_writes_nothing(dplda, home: Path, arguments: tuple[str, ...]) -> None:
    assert dplda(*arguments).status == 2
    assert not list(home.glob("*.html"))


def test_who_reports_a_run_that_is_not_private_is_told(dplda, home: Path, model: TopicModel) -> None:
    privacy = replace(model.privacy, sound=False, epsilon=float("inf"), reason="NOT PRIVATE: simulated")
    replace(model, privacy=privacy).save(home / "models" / "open")
    answer = dplda("report", home / "models" / "open", "--json")
    assert answer.json["private"] is False
    assert "NOT PRIVATE" in answer.err
    assert "<title>NOT PRIVATE" in (home / "report.html").read_text(encoding="utf-8")
