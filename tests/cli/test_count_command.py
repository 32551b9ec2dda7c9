"""`dplda count` and `dplda words`: from a file to tables, and again by `dplda tables`."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from chat_stand_in import chat, stand_in

from dplda.budget import Ledger
from dplda.private.attributes import OTHER
from dplda.text.categories import NONE

THEMES = ("boiler pipe heating cold radiator", "invoice money payment bank refund")
FILE = """
refund: [refund, "money bank"]
heat: {expression: "(boiler|heating)"}
cash: {column: team, values: [cash]}
"""


@pytest.fixture
def tickets(home: Path) -> str:
    with open(home / "tickets.jsonl", "w") as file:
        for i in range(3000):
            words = random.Random(i).choices(THEMES[i % 2].split(), k=12)
            record = {"text": " ".join(words), "team": ("heat", "cash")[i % 2], "day": f"2024-0{i % 3 + 1}-11"}
            file.write(json.dumps(record | ({} if i % 500 else {"team": "SECRETGROUP"})) + "\n")
    (home / "c.yaml").write_text(FILE)
    (home / "g.yaml").write_text("team: [heat, cash]")
    return "tickets.jsonl"


def spent(dplda) -> float:
    return sum(run.cost.mu_squared for run in Ledger().runs())


def test_counts_are_shown_kept_written_and_read_again(dplda, tickets, home, monkeypatch):
    days = ("--from", "2024-01-01", "--to", "2024-03-31")
    asked = ("count", tickets, "--categories", "c.yaml", "--by", "team", "--by", "month(day)", *days, "--epsilon", "2")
    dry = dplda(*asked, "--dry-run")
    assert (dry.status, spent(dplda)) == (0, 0), dry.err
    assert "would count less" not in dry.out
    dry = dplda(*asked, "--at-most", "1", "--dry-run")
    assert (
        "A document in more than 1 of the 3 categories would count less in each of them: in all 3, as 0.58." in dry.out
    )
    shown = dplda(*asked)
    assert shown.status == 0, shown.err
    assert "SECRETGROUP" not in shown.out + shown.err
    for expected in ("refund", NONE, "too small to tell", "number (95 %)", "2024-02"):
        assert expected in shown.out
    assert "as counted" not in shown.out
    run = Ledger().runs()[-1].id
    monkeypatch.setattr("dplda.cli.count_command._SHOWN_ROWS", 4)
    few = dplda("tables", run).out
    assert few.count("\nall ") == few.count("more rows.") == 2, "the sums are in view of each table"
    assert f"dplda tables {run} --csv FILE" in shown.out
    again = f"Run {run} read the same path with the same settings, and this one would be charged beside it."
    assert again in dplda(*asked, "--dry-run").out
    other_days = [{"2024-01-01": "2024-02-01"}.get(word, word) for word in asked]
    assert "read the same path" not in dplda(*other_days, "--dry-run").out
    record = dplda("tables", run, "--json").json
    assert (record["count"], record["by"]) == (run, ["team"])
    found = {group["group"]: group for group in record["groups"]}
    assert set(found) >= {"heat", "cash", OTHER}
    assert record["all"]["units"]["value"] == pytest.approx(3000, abs=100)
    numbers = {each["category"]: f"{each['count']:,.0f} ({each['low']:,.0f} " for each in record["all"]["categories"]}
    assert all(number in few for number in numbers.values())
    cash = {each["category"]: each for each in found["cash"]["categories"]}
    assert set(cash) == {"refund", "heat", "cash", NONE}
    assert cash["cash"]["count"] == pytest.approx(1500, abs=100)
    assert cash["cash"]["share"] > 0.9
    assert cash["heat"]["share"] < 0.1
    assert record["privacy"]["epsilon"] <= 2
    assert dplda("tables", run, "--csv", "t.csv").status == 0
    assert dplda("tables", run, "--out", "t.parquet").status == 0
    assert dplda("tables", run, "--out", "t.json").status == 0
    with open("t.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["table"] for row in rows} == {"team", "month(day)"}
    assert len(rows) == pyarrow.parquet.read_table("t.parquet").num_rows
    listed = {(row["team"], row["category"]): float(row["count"]) for row in rows if row["table"] == "team"}
    assert listed["cash", "refund"] == pytest.approx(cash["refund"]["count"])
    assert json.loads(Path("t.json").read_text())["groups"] == record["groups"]
    assert "counts by team" in dplda("runs", "show", run).out + dplda("runs").out
    assert dplda("budget", "verify").status == 0
    assert spent(dplda) > 0


def test_two_groups_are_compared_and_json_goes_to_standard_output(dplda, tickets):
    asked = ("count", tickets, "--categories", "c.yaml", "--epsilon", "4", "--between", "team=heat", "team=cash")
    record = dplda(*asked, "--json").json
    assert (record["by"], [group["group"] for group in record["groups"]]) == (
        ["between(team)"],
        ["heat", "cash", OTHER],
    )
    changed = {each["category"]: each["value"] for each in record["changes"]}
    assert changed["heat"] < -0.8
    assert changed["cash"] > 0.8
    again = dplda("tables", record["count"]).out
    assert "category cash is " in again
    assert " points more in cash than in heat" in again


@pytest.fixture
def customers(home: Path, tickets: str) -> str:
    """Tickets of customers, each of whom has two, one of each team."""
    lines = [
        json.loads(line) | {"customer": i // 2} for i, line in enumerate((home / tickets).read_text().splitlines())
    ]
    (home / tickets).write_text("\n".join(map(json.dumps, lines)))
    return tickets


def test_persons_are_counted_priced_kept_and_shown_again(dplda, customers):
    asked = ("count", customers, "--categories", "c.yaml", "--epsilon", "4", "--persons")
    by_customer = (*asked, "--unit-field", "customer")
    dry = dplda(*by_customer, "--dry-run")
    assert (dry.status, spent(dplda)) == (0, 0), dry.err
    assert "customers (95 %)" in dry.out
    for refused, message in ((asked, "--unit-field"), ((*by_customer, "--by", "team,day"), "one attribute")):
        answer = dplda(*refused)
        assert (answer.status, len(answer.err.strip().splitlines())) == (2, 1), answer.err
        assert message in answer.err
    shown = dplda(*by_customer)
    assert shown.status == 0, shown.err
    told = "Numbers are of customers with at least one such document."
    assert told in shown.out
    assert dplda("runs").out.count("counts of persons") == 1
    run = Ledger().runs()[-1].id
    assert told in dplda("tables", run).out
    record = dplda("tables", run, "--json").json
    assert record["persons"] is True
    found = {each["category"]: each["count"] for each in record["groups"][0]["categories"]}
    assert found["cash"] == pytest.approx(1500, abs=60), "each customer has a ticket of both teams"
    assert found["heat"] == pytest.approx(1500, abs=60)
    in_one = (*by_customer, "--at-most", "1")
    dry = " ".join(dplda(*in_one, "--dry-run").out.split())
    assert (
        "A customer in more than 1 of the 3 categories would count less, in each of them and in the number of "
        "customers: in all 3, as 0.59. --at-most 3 (in a plan, at_most: 3) counts them in full, with 1.73 times the "
        "noise."
    ) in dry
    less = " ".join(dplda(*in_one).out.split())
    assert (
        "A customer in more than 1 category counts less, in each of them and in the number of all customers "
        "(--at-most). Counted are customers with a document of at least 3 words: "
    ) in less
    in_all = int(less.partition("at least 3 words: ")[2].split()[0].replace(",", ""))
    assert 0.59 * 1500 - 60 < in_all < 0.72 * 1500 + 60, "each is in two or three categories"
    assert ") in all, as counted. " in less
    grouped = dplda(*by_customer, "--by", "team", "--groups", "g.yaml")
    assert grouped.status == 0, grouped.err
    assert told in grouped.out
    assert "customers with a document of at least 3 words, in each group that they have one in." in grouped.out
    assert "in cash than in the other groups together" in grouped.out
    assert "the other groups together, where a customer counts once in each of them." in grouped.out
    assert "number as counted (95 %)" in grouped.out
    assert "customers as counted (95 %)" in grouped.out
    told = "A customer in all 3 categories of more than 2 groups counts less, in each of them and in the numbers of"
    assert told in " ".join(grouped.out.split())
    assert "elsewhere" not in grouped.out
    assert "\nall " not in grouped.out, "groups do not add up"


def test_documents_of_persons_are_counted_priced_kept_and_shown_again(dplda, customers, home):
    asked = ("count", customers, "--categories", "c.yaml", "--epsilon", "4")
    by_customer = (*asked, "--unit-field", "customer")
    ways = "--persons counts the customers", "--documents-per-person N the documents"
    hint = "Numbers would be of customers' texts, the documents of one customer sharing the weight of one."
    told = "documents of at least 3 words, of each customer up to 2 in full: "
    fractions = dplda(*by_customer, "--dry-run")
    assert all(text in fractions.out for text in (*ways, hint, "persons: true", "documents_per_person: N"))
    assert all(text in dplda(*by_customer, "--yes").out for text in (*ways, "the weight of one"))
    assert hint not in dplda(*asked, "--dry-run", "--dataset", "other").out, "documents are the units"
    of_two = (*by_customer, "--documents-per-person", "2")
    private = " ".join(dplda(*of_two, "--by", "team", "--dry-run").out.split())
    assert "Groups by team would be found privately: one of about" in private
    assert "customers with an even chance" in private
    private = " ".join(dplda(*of_two, "--by", "team").out.split())
    assert f"those of too few customers (in parts, if in several groups) are in '{OTHER}'. If a group" in private
    before, dry = spent(dplda), dplda(*of_two, "--dry-run")
    assert (dry.status, spent(dplda)) == (0, before), dry.err
    assert "documents (95 %)" in dry.out
    assert hint not in dry.out
    too_small = (
        "Documents of a customer with more than 2 would count less: numbers would be too small by what is missing,"
    )
    assert too_small in " ".join(dry.out.split())
    within = [float(each.out.partition("to within ")[2].split()[0]) for each in (fractions, dry)]
    assert within[1] == pytest.approx(2 * within[0], abs=1.5)
    for refused, message in (
        ((*asked, "--documents-per-person", "2", "--dataset", "other"), "--unit-field"),
        ((*of_two, "--persons"), "exclude each other"),
        ((*by_customer, "--documents-per-person", "0"), "1<=x<=1000"),
    ):
        answer = dplda(*refused)
        assert (answer.status, message in answer.err) == (2, True), answer.err
    shown = dplda(*of_two, "--by", "team", "--groups", "g.yaml", "--out", "c.json")
    assert shown.status == 0, shown.err
    run = Ledger().runs()[-1].id
    less = "Documents of a customer with more than 2 may count less, but more of them count where they are in several"
    true = "Intervals and differences are of the numbers as counted here, without the noise: the true number"
    for text in (told, "documents as counted (95 %)", less, true, "all "):
        assert text in shown.out
        assert text in dplda("tables", run).out
    assert not any(text in shown.out for text in (*ways, "the weight of one"))
    assert (
        "counts of documents (up to 2 of a person in full) by team"
        in dplda("runs", "show", run).out + dplda("runs").out
    )
    record = dplda("tables", run, "--json").json
    assert record["documents_per_person"] == 2
    assert json.loads((home / "c.json").read_text())["groups"] == record["groups"]
    found = {
        group["group"]: {each["category"]: each["count"] for each in group["categories"]} for group in record["groups"]
    }
    assert found["cash"]["cash"] == pytest.approx(1500, abs=90)
    assert found["heat"]["heat"] == pytest.approx(1500, abs=90)
    assert dplda("budget", "verify").status == 0


def test_a_prepared_store_holds_the_answers(dplda, tickets):
    imported = dplda("corpus", "import", tickets, "store", "--categories", "c.yaml", "--group-field", "team")
    assert imported.status == 0, imported.err
    answer = dplda("count", "store", "--by", "team", "--groups", "g.yaml", "--epsilon", "2", "--json")
    assert answer.status == 0, answer.err
    again = dplda("count", "store", "--categories", "c.yaml", "--epsilon", "1")
    assert again.status == 2
    assert "no texts to ask" in again.err
    without = dplda("count", tickets, "--epsilon", "1")
    assert "were not asked anything" in without.err


def test_a_question_is_asked_of_a_model_on_this_machine(dplda, tickets, home):
    lines = (home / tickets).read_text().splitlines()[:90]
    (home / tickets).write_text("\n".join(lines))
    with stand_in() as server:
        server.reply = lambda question: chat("Yes." if "refund" in question.partition("Text:")[2] else "no")
        asked = (
            "count",
            tickets,
            "--question",
            "About money?",
            "--answers",
            "yes, no",
            "--model",
            "m",
            "--epsilon",
            "4",
        )
        assert dplda(*asked, "--endpoint", server.address, "--dry-run").status == 0
        assert len(server.asked) == 1  # a made-up text
        answer = dplda(*asked, "--endpoint", server.address, "--json")
        assert answer.status == 0, answer.err
        assert len(server.asked) == 92  # a made-up text, and 90 documents
        found = {each["category"]: each["count"] for each in answer.json["groups"][0]["categories"]}
        assert found["yes"] == pytest.approx(sum("refund" in line for line in lines), abs=15)
        assert answer.json["at_most"] == 1
        before = spent(dplda)
        server.body, server.reply, server.status = chat("yes"), None, 503
        other = ("count", tickets, "--question", "Another?", "--answers", "yes,no", "--model", "m", "--epsilon", "1")
        gone = dplda(*other, "--endpoint", server.address)
        dry = dplda(*other, "--endpoint", server.address, "--dry-run")
    assert gone.status == dry.status == 2
    assert "did not answer" in gone.err
    assert "did not answer" in dry.err
    assert not [word for word in THEMES[1].split() if word in gone.err]
    assert spent(dplda) == before, "it had not begun"
    (ended,) = [run for run in Ledger().runs() if not run.is_charged]
    assert ended.id in dplda("runs").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--question", "Q?", "--answers", "a", "--model", "m", "--endpoint", "http://example.com/v1"), "--remote"),
        (("--question", "Q?", "--model", "m", "--endpoint", "http://localhost:1/v1"), "needs answers"),
        (("--question", "Q?", "--answers", "a", "--categories", "c.yaml"), "not both"),
        (("--answers", "a"), "about a question"),
        (("--remote",), "--categories"),
        (("--categories", "missing.yaml"), "cannot read"),
        (("--categories", "bad.yaml"), "is not YAML"),
        (("--categories", "c.yaml", "--at-most", "9"), "at_most"),
        (("--categories", "c.yaml", "--by", "category(none)"), "no category"),
        (("--categories", "column.yaml"), "colour"),
        (("--categories", "text.yaml"), "write a list: refund: [refund, money back]; if it is one"),
    ],
)
def test_mistakes_are_one_line_and_spend_nothing(dplda, tickets, home, options, message):
    (home / "bad.yaml").write_text("a: [b")
    (home / "column.yaml").write_text("x: {column: colour, values: [red]}")
    (home / "text.yaml").write_text("refund: refund, money back")
    answer = dplda("count", tickets, *(option for option in options))
    assert answer.status == 2
    assert message in answer.err
    assert "Traceback" not in answer.err
    assert Ledger().runs() == []


def test_a_remote_model_is_asked_if_it_is_allowed(dplda, tickets):
    asked = ("count", tickets, "--question", "Q?", "--answers", "a", "--model", "m", "--remote", "--timeout", "1")
    answer = dplda(*asked, "--endpoint", "http://nowhere.invalid/v1", "--dry-run")
    assert answer.status == 2
    assert "nowhere.invalid/v1 did not answer" in answer.err


def test_words_by_group_are_shown_kept_and_written(dplda, tickets, home):
    (home / "words.txt").write_text("\n".join(" ".join(THEMES).split()))
    asked = (
        "words",
        tickets,
        "--vocabulary",
        "words.txt",
        "--by",
        "team",
        "--groups",
        "g.yaml",
        "--epsilon",
        "4",
    )
    dry = dplda(*asked, "--dry-run")
    assert (dry.status, spent(dplda)) == (0, 0), dry.err
    assert "privately" not in dry.out
    private = [each for each in asked if each not in ("--groups", "g.yaml")]
    dry = " ".join(dplda(*private, "--dry-run").out.split())
    assert "A group would be too small to tell" in dry
    assert "Groups by team would be found privately: one of about" in dry
    told = " ".join(dplda(*private).out.split())
    assert (
        f"The groups by team were found privately: those of too few documents are in '{OTHER}'. If a group may be "
        "missing, list all of them: --groups FILE (in a plan, groups)."
    ) in told
    shown = dplda(*asked)
    assert shown.status == 0, shown.err
    assert "privately" not in shown.out
    assert "SECRETGROUP" not in shown.out + shown.err
    run = Ledger().runs()[-1].id
    record = dplda("tables", run, "--json").json
    assert record["words"] == run
    found = {group["group"]: group["words"] or [] for group in record["groups"]}
    certain = {group: {each["word"] for each in words if each["lift"]["low"] > 1} for group, words in found.items()}
    assert certain["heat"] <= set(THEMES[0].split())
    assert certain["cash"] <= set(THEMES[1].split())
    assert len(certain["heat"]) >= 4
    assert dplda("tables", run, "--csv", "w.csv").status == 0
    with open("w.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["word"] for row in rows if row["team"] == "heat" and row["certain"] in ("true", "True")} == certain[
        "heat"
    ]
    assert "words by team" in dplda("runs", "show", run).out + dplda("runs").out
    by_team = ("words", tickets, "--by", "team")
    for mistake in (
        ("words", tickets, "--vocabulary", "words.txt"),
        by_team,
        (*by_team, "--vocabulary", "words.txt", "--sampling"),  # which changes no interval of words
        ("tables", run, "--sampling"),
    ):
        assert dplda(*mistake).status == 2


def test_words_of_two_groups_and_of_a_run(dplda, tickets):
    fitted = dplda("fit", tickets, "--topics", "2", "--epsilon", "4", "--max-document-frequency", "0.9", "--json")
    assert fitted.status == 0, fitted.err
    run = fitted.json["run"]
    answer = dplda("words", run, tickets, "--between", "team=heat", "team=cash", "--epsilon", "2", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["by"] == ["between(team)"]
    shown = dplda("tables", answer.json["words"])
    assert f"besides what the words of run {run} cost" in shown.out
    assert "the other of the two groups" in shown.out


def test_a_page_shows_the_counts_that_are_named_in_place_of_the_latest(dplda, tickets, home):
    assert dplda("budget", "grant", "tickets", "--unbounded").status == 0
    fitted = dplda("fit", tickets, "--topics", "2", "--epsilon", "4", "--max-document-frequency", "0.9", "--json")
    assert fitted.status == 0, fitted.err
    asked = ("count", tickets, "--categories", "c.yaml", "--json", "--epsilon")
    good, poor = dplda(*asked, "8").json, dplda(*asked, "0.5").json
    interval = {
        name: "{count:,.0f} ({low:,.0f} to {high:,.0f})".format(**run["groups"][0]["categories"][0])
        for name, run in (("good", good), ("poor", poor))  # of other widths, so that they differ
    }
    for runs, shown, absent in (((), "poor", "good"), ((good["count"],), "good", "poor")):
        answer = dplda("report", fitted.json["run"], *runs, "-o", f"{shown}.html")
        assert answer.status == 0, answer.err
        left = f"Counts and words of runs that are not named are not on the page: {poor['count']}."
        assert (left in " ".join(answer.err.split())) == (shown == "good")
        assert answer.out.count(fitted.json["run"]) == 1
        replaced = f"that later ones by the same columns replace are not on the page: {good['count']}."
        assert (replaced in " ".join(answer.err.split())) == (shown == "poor")
        page = (home / f"{shown}.html").read_text()
        assert interval[shown] in page
        assert interval[absent] not in page


def test_a_name_that_may_be_a_slip_for_a_dataset_with_runs_is_refused(dplda, tickets):
    asked = ("count", tickets, "--categories", "c.yaml", "--epsilon", "1")
    assert dplda(*asked).status == 0
    before = spent(dplda)
    refused = dplda(*asked, "--dataset", "ticktes")
    assert refused.status == 3
    assert "there is tickets, which has runs. Is that the one meant? Then name it: --dataset tickets; if" in refused.err
    assert spent(dplda) == before
    granted = "dplda budget grant ticktes --epsilon 10 --delta 1e-05"
    assert granted in refused.err
    for name in ("tickets-2", "letters"):
        assert dplda(*asked, "--dataset", name, "--dry-run").status == 0, "no slip"
    assert dplda(*granted.split()[1:]).status == 0
    assert dplda(*asked, "--dataset", "ticktes", "--dry-run").status == 0


def test_dates_that_cannot_be_read_are_counted_apart(dplda, tickets, home):
    lines = [json.loads(line) for line in (home / tickets).read_text().splitlines()]
    with open(home / "dates.jsonl", "w") as file:
        file.writelines(json.dumps(line | ({} if i % 3 else {"day": "soon"})) + "\n" for i, line in enumerate(lines))
    dates = ("--by", "month(day)", "--from", "2024-01-01", "--to", "2024-03-31", "--epsilon", "8")
    out = dplda("count", "dates.jsonl", "--categories", "c.yaml", *dates).out
    found = re.search(r"In none of the periods, or with a date that could not be read: ([\d,]+) \(", out)
    assert found, out
    assert float(found[1].replace(",", "")) == pytest.approx(1000, abs=30)


def test_counts_of_a_part_are_told_apart_on_the_screen_and_on_the_page(dplda, tickets, home):
    assert dplda("budget", "grant", "tickets", "--unbounded").status == 0
    fit = ("fit", tickets, "--topics", "2", "--epsilon", "4", "--max-document-frequency", "0.9", "--json")
    fitted = dplda(*fit).json["run"]
    lines = (home / tickets).read_text().splitlines(keepends=True)
    (home / "part.jsonl").write_text("".join(lines[::2]))
    asked = ("--categories", "c.yaml", "--dataset", "tickets", "--epsilon", "1", "--yes", "--json")
    whole, part, latest = (dplda("count", name, *asked) for name in (tickets, "part.jsonl", "part.jsonl"))
    told = f"These are not known to be the documents of run {fitted} of dataset tickets"
    assert [told in " ".join(each.err.split()) for each in (whole, part, latest)] == [False, True, True]
    assert dplda("report", fitted, "-o", "part.html").status == 0
    page = " ".join((home / "part.html").read_text().split())
    whole, part, latest = (each.json["count"] for each in (whole, part, latest))
    assert f"How many are in each category (run {whole})" in page, "those of a part do not stand in for those of all"
    assert f"How many are in each category, in the documents of run {latest}" in page
    assert f"in the documents of run {part}" not in page
    assert f"The documents of run <bdi>{latest}</bdi> are not known to be those that the topics were learned" in page


def test_an_interrupt_after_the_answer_says_that_the_work_was_done(dplda, tickets, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dplda.cli.count_command.show_answer", interrupted)
    answer = dplda("count", tickets, "--categories", "c.yaml", "--epsilon", "1")
    assert answer.status == 130
    assert answer.err.strip().endswith("lists it; dplda topics, dplda tables or dplda report shows it free of charge.")
    assert "interrupted. The work was done, and what it cost is charged. dplda runs " in answer.err
    assert Ledger().runs()[-1].status == "done"
    monkeypatch.setattr("dplda.cli.count_command.find_categories", interrupted)
    before = dplda("count", tickets, "--categories", "c.yaml", "--epsilon", "1")
    assert (before.status, "The work was done" in before.err) == (130, False)
