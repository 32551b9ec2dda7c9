"""`dplda ask`: from a plan file to answers on the terminal, as JSON and as a page, and again for free."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from full_helpers import full_after

from dplda.budget import Ledger, Reservation
from dplda.budget.accountant import run_epsilon
from dplda.cli.ask_command import _in_plan
from dplda.runs.advice import advise
from dplda.runs.fit_options import FitOptions
from dplda.runs.questions import Question, fit_of

THEMES = ("boiler pipe heating cold radiator", "invoice money payment bank refund")
PLAN: dict[str, Any] = {
    "corpus": "tickets.jsonl",
    "text_field": "text",
    "epsilon": 20,
    "date_format": "%d/%m/%Y",
    "from": "2024-01-01",
    "to": "2024-03-31",
    "groups": {"team": ["heat", "cash"]},
    "categories": {"refund": ["refund"], "cash": {"column": "team", "values": ["cash"]}},
    "questions": [
        {"ask": "What is it about?", "fit": {"topics": 2, "vocabulary": "words.txt"}},
        {"ask": "How do teams differ?", "tabulate": {"by": "team"}},
        {"ask": "How many <refunds>?", "count": {"by": ["team", "month(day)"]}},
        {"ask": "With which words?", "words": {"by": "category(refund)"}},
    ],
}


@pytest.fixture
def plan(home: Path) -> Path:
    """A plan about 1,500 tickets on two themes, in a ledger that allows it."""
    with open(home / "tickets.jsonl", "w") as file:
        for i in range(1500):
            words = random.Random(i).choices(THEMES[i % 2].split(), k=12)
            team = ("heat", "cash")[i % 2] if i % 500 else "SECRETGROUP"
            file.write(json.dumps({"text": " ".join(words), "team": team, "day": f"11/0{i % 3 + 1}/2024"}) + "\n")
    (home / "words.txt").write_text("\n".join(" ".join(THEMES).split()))
    Ledger().grant("tickets", epsilon=80.0, delta=1e-5)
    return written(home)


def written(home: Path, name: str = "plan.yaml", **changes: object) -> Path:
    (home / name).write_text(yaml.safe_dump(PLAN | changes))
    return home / name


def test_a_plan_is_priced_answered_kept_and_shown_again(dplda, home, plan):
    dry = dplda("ask", plan, "--dry-run")
    assert dry.status == 0, dry.err
    assert "--date-format" not in dry.out + dry.err
    assert dry.out.count("This run would take") == 1
    assert "12% of the run's budget for 'How many <refunds>?'. Numbers would be told to within" in dry.out
    assert "privately" not in dry.out
    unlisted = dplda("ask", written(home, "unlisted.yaml", groups={}), "--dry-run").out
    assert unlisted.count("Groups by team would be found privately: one of about ") == 2, "of two questions"
    assert Ledger().runs() == []
    shown = dplda("ask", plan, "-o", "a.html")
    assert shown.status == 0, shown.err
    assert "SECRETGROUP" not in shown.out + shown.err
    assert shown.out.count("differentially private for one document") == 1, "the guarantee is quoted once"
    assert shown.out.count("\nall ") == 2, "a total below each table of counts"
    assert "in --json" not in shown.out, "to ask again costs again"
    assert "In all groups together: " in (home / "a.html").read_text()
    places = [shown.out.index(question["ask"]) for question in PLAN["questions"]]
    assert places == sorted(places)
    (record,) = Ledger().runs()
    assert shown.out.count(f"free of charge: dplda tables {record.id} --json\n") == 1
    assert run_epsilon(record.events, record.delta) <= 20
    assert "answers to 4 questions" in dplda("runs").out
    page = (home / "a.html").read_text(encoding="utf-8")
    assert "SECRETGROUP" not in page
    assert "How many &lt;refunds&gt;?" in page
    assert "It is the only run recorded under" in page
    spent = record.cost
    dry = dplda("ask", plan, "--dry-run").out
    assert f"Run {record.id} read the same path with the same settings" in dry
    assert "A group would be too small to tell with fewer than about" in dry
    titled = dplda("report", record.id, "-o", "titled.html", "--title", "Cash", "--name", "0=Warmth", "--hide", "pipe")
    assert titled.status == 0, titled.err
    page_of_title = (home / "titled.html").read_text(encoding="utf-8")
    assert "<h1>Cash</h1>" in page_of_title
    assert "Warmth" in page_of_title
    assert "pipe" not in page_of_title.replace("pipe>", "")
    again = dplda("tables", record.id)
    assert again.out.strip() in shown.out
    wrote = dplda("tables", record.id, "--csv", "t.csv")
    assert wrote.status == 0, wrote.err
    assert "Question 1, 'What is it about?': its topics: dplda export" in wrote.out
    assert "Question 2, 'How do teams differ?': wrote t-2.csv" in wrote.out
    heads = [(home / f"t-{number}.csv").read_text().splitlines()[0] for number in (2, 3, 4)]
    assert all(column in head for column, head in zip(("team", "category", "word"), heads, strict=True)), heads
    (home / "t-2.csv").unlink()
    assert dplda("tables", record.id, "--csv", "t.csv").status == 2
    assert not (home / "t-2.csv").exists(), "nothing is written if a file exists"
    assert dplda("tables", record.id, "--out", "all.json").status == 0
    assert len(json.loads((home / "all.json").read_text())["answers"]) == 4
    assert dplda("report", record.id, "-o", "b.html").status == 0
    assert (home / "b.html").read_text(encoding="utf-8") == page
    assert "What auditors ask" in page
    (home / "tickets").mkdir()  # a folder of the same name is no model
    (home / "public.jsonl").write_text(json.dumps({"text": "The cold boiler, and the pipe of the boiler: heating."}))
    hint = dplda("examples", "tickets", "public.jsonl").out
    assert "dplda report tickets shows these texts" in hint
    pages = set()
    for name in ("tickets", record.id, record.model):
        assert dplda("report", name, "-o", f"{len(pages)}{len(name)}.html").status == 0
        pages.add((home / f"{len(pages)}{len(name)}.html").read_text(encoding="utf-8"))
    assert len(pages) == 1, "whatever the run is called"
    assert "the pipe of the boiler: heating." in pages.pop()
    papers = ("--checklist", "c.md", "--assessment", "a.md", "--registry", "r.yaml")
    assert dplda("report", "tickets", *papers).status == 0
    assert "Epsilon 20 and delta 1e-06 were given before the run, for all answers" in (home / "c.md").read_text()
    for paper in ("a.md", "r.yaml"):
        assert (
            "numbers of documents in each category by team and by month(day); words that" in (home / paper).read_text()
        )
    assert [run.cost for run in Ledger().runs()] == [spent]
    assert dplda("budget", "verify").status == 0


def test_a_topic_has_the_share_of_the_plans_table_on_screen_and_page(dplda, home, plan):
    answer = dplda("ask", str(plan), "--yes", "-o", "page.html")
    assert answer.status == 0, answer.err
    assert "share (95 %)" in answer.out.split("How do teams differ?")[0]
    page = (home / "page.html").read_text()
    assert "of the average document" in page
    assert "In a category is a document with one of its words: cash: team is cash; refund: refund." in page
    assert "Words that the category itself lists" in answer.out


def test_json_has_the_questions_with_their_answers_and_one_guarantee(dplda, plan):
    record = dplda("ask", plan, "--json").json
    assert [each["question"] for each in record["answers"]] == [each["ask"] for each in PLAN["questions"]]
    topics, by_team, counts, words = (each["answer"] for each in record["answers"])
    assert topics == {"topics": record["run"]}
    assert (by_team["by"], counts["by"], words["by"]) == (["team"], ["team"], ["category(refund)"])
    assert counts["others"][0]["by"] == ["month(day)"]
    assert 0 < record["privacy"]["epsilon"] <= 20
    assert dplda("tables", record["run"], "--json").json == record


def test_a_table_of_a_plans_topics_that_came_later_is_on_the_page_of_the_topics(dplda, home, plan):
    run = dplda("ask", plan, "--json").json["run"]
    asked = ("tabulate", run, "tickets.jsonl", "--by", "month(day)", "--yes", "--epsilon", "2", "--json")
    answer = dplda(*asked, "--dataset", "tickets")
    assert answer.status == 0, answer.err
    later = answer.json["table"]
    told = dplda("report", run, "-o", "plan.html").out
    assert f"Later tables of its topics are not on this page: {later}." in told
    assert dplda("report", run, later, "--name", "0=Warmth", "-o", "both.html").status == 0
    assert dplda("report", later, "--name", "0=Warmth", "-o", "later.html").status == 0
    pages = [(home / f"{name}.html").read_text() for name in ("plan", "both", "later")]
    assert pages[1] == pages[2]
    assert ["How topics differ by month" in page for page in pages] == [False, True, True]


def test_sampling_widens_the_intervals_of_the_tables_and_counts_of_a_plan(dplda, plan):
    def widths(found):
        """The sums over all groups: a single interval may end at 0 or 1 both times."""
        shares, counts = (answer["answer"]["groups"] for answer in found["answers"][1:3])
        topics, categories = [t for g in shares for t in g["topics"]], [c for g in counts for c in g["categories"]]
        of_topics = sum(topic["high"] - topic["low"] for topic in topics)
        return of_topics, sum(category["share_high"] - category["share_low"] for category in categories)

    run = dplda("ask", plan, "--json").json
    wider = dplda("tables", run["run"], "--sampling", "--json").json
    assert all(after > before for before, after in zip(widths(run), widths(wider), strict=True))
    told = "cover the noise and the error of a sample"
    assert told in " ".join(dplda("tables", run["run"], "--sampling").out.split())
    assert told not in " ".join(dplda("tables", run["run"]).out.split())


def test_the_budget_of_a_plan_is_in_the_plan(dplda, plan):
    refused = dplda("ask", plan, "--epsilon", 6)
    assert (refused.status, refused.out) == (2, "")
    assert "the questions share what the plan has: write epsilon: 6 into it" in refused.err


def test_a_report_of_topics_shows_the_counts_and_words_of_the_same_documents(dplda, home, plan):
    dplda("ask", plan, "--quiet")
    options: tuple[str, ...] = ("--text-field", "text", "--topics", "2", "--vocabulary", "words.txt", "--epsilon", "8")
    run = dplda("fit", "tickets.jsonl", *options, "--json").json["run"]
    assert dplda("report", run, "-o", "fit.html").status == 0
    page = (home / "fit.html").read_text(encoding="utf-8")
    assert "The share of each category by team" in page
    assert "Words that are more frequent in one group" in page
    assert "How topics differ by team" not in page, "the tables are of other topics"
    assert "They are of the path that the topics were learned from" in page
    (home / "part.jsonl").write_text("\n".join((home / "tickets.jsonl").read_text().splitlines()[::2]))
    Ledger().grant("tickets", unbounded=True)
    part = dplda("ask", written(home, "part.yaml", corpus="part.jsonl", dataset="tickets"), "--json")
    assert part.status == 0, part.err
    assert dplda("report", run, "-o", "beside.html").status == 0
    page = (home / "beside.html").read_text(encoding="utf-8")
    of_part = (
        f"The documents of run <bdi>{part.json['run']}</bdi> are not known to be those that the topics were learned"
    )
    assert of_part in page
    assert re.search(rf"more frequent in one group than [^<]*, in the documents of run {part.json['run']}", page)
    other = home / "other.jsonl"
    other.write_text((home / "tickets.jsonl").read_text().replace("radiator", "gutter"))
    Ledger().grant("other", epsilon=80.0, delta=1e-5)  # charged together: the ledger sees that they share text
    options = ("--categories", "c.yaml", "--epsilon", "1", "--dataset", "other")
    (home / "c.yaml").write_text("gutter: [gutter]\n")
    counted = dplda("count", other, *options, "--json")
    assert counted.status == 0, counted.err
    assert dplda("report", run, "-o", "again.html").status == 0
    assert "gutter" not in (home / "again.html").read_text(encoding="utf-8")
    refused = dplda("report", run, counted.json["count"], "-o", "none.html")
    assert (refused.status, "is about other, and these topics are of tickets" in refused.err) == (2, True)
    refused = dplda("report", counted.json["count"], dplda("count", other, *options, "--yes", "--json").json["count"])
    assert refused.status == 2
    assert "released no topics" in refused.err
    assert refused.err.rstrip().endswith(f"Or write a page of each: dplda report {counted.json['count']}")
    assert refused.err.strip().count("\n") == 0
    assert not (home / "none.html").exists()
    alone = dplda("report", counted.json["count"], "-o", "alone.html", "--title", "Gutters")
    assert (alone.status, counted.json["count"] in alone.out) == (0, True), alone.err
    page = (home / "alone.html").read_text(encoding="utf-8")
    assert "Counts of documents" in page
    assert "gutter" in page
    assert "read another path" not in alone.err
    (home / "part.jsonl").write_text("".join(Path(other).read_text().splitlines(keepends=True)[:1000]))
    part = dplda("count", "part.jsonl", *options, "--json").json["count"]
    told = dplda("report", part, "-o", "part.html").err
    assert f"another path than {counted.json['count']}, " in told
    assert "give it a --title that does" in told


def test_a_run_of_a_plan_without_topics_has_a_page_of_its_own_or_shares_that_of_topics(dplda, home, plan):
    counted = written(home, "counted.yaml", epsilon=1, questions=[PLAN["questions"][2]])
    assert dplda("ask", counted, "--yes").status == 0
    assert dplda("ask", plan, "--yes").status == 0
    without, topics = (run.id for run in Ledger().runs())
    for number, runs in enumerate(((topics, without), (without, topics))):
        assert dplda("report", *runs, "-o", f"{number}.html").status == 0
        page = (home / f"{number}.html").read_text(encoding="utf-8")
        assert re.search(f"Counted in runs (<bdi>({without}|{topics})</bdi>( and )?){{2}}", page), "the plan's, too"
        assert f"(run {without})" in page
    for command in (
        ("topics", without),
        ("export", without, "--to", "csv", "--out", "x"),
        ("tree", without),
    ):
        answer = dplda(*command)
        assert answer.status == 2
        assert answer.err.count("\n") == 1
        assert f"Run {without} released answers to 1 question and no topics. `dplda report {without}`" in answer.err
    assert dplda("report", without).status == 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"epsylon": 3}, "epsilon"),
        ({"questions": PLAN["questions"][:1] * 2}, "twice"),
        ({"questions": PLAN["questions"][1:]}, "How do teams differ?"),
        ({"questions": [{"ask": "How many?", "count": {"bye": "team"}}]}, "'by'"),
        ({"questions": [{"ask": "How many?", "count": {"by": "colour"}}]}, "colour"),
        ({"questions": [{"ask": "Which?", "words": {"by": "category(none)", "vocabulary": "words.txt"}}]}, "none"),
        ({"epsilon": 200}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"corpus": None}, "corpus"),
        ({"corpus": "absent.jsonl"}, "absent.jsonl"),
    ],
)
def test_a_mistake_is_one_line_and_spends_nothing(dplda, home, plan, changes, named):
    answer = dplda("ask", written(home, **changes), "--yes", "-o", "a.html")
    assert answer.status in (2, 3)
    assert named in answer.err
    assert len(answer.err.strip().splitlines()) == 1, answer.err
    assert Ledger().runs() == []
    assert not (home / "a.html").exists()


def test_a_question_of_a_plan_may_count_persons(dplda, home, plan):
    lines = [
        json.loads(line) | {"customer": i // 2}
        for i, line in enumerate((home / "tickets.jsonl").read_text().splitlines())
    ]
    (home / "tickets.jsonl").write_text("\n".join(map(json.dumps, lines)))
    changed = dict.fromkeys(("from", "to", "groups", "date_format")) | {"unit_field": "customer"}
    people = written(
        home, "people.yaml", **changed, questions=[{"ask": "How many people?", "count": {"persons": True}}]
    )
    assert dplda("ask", people, "--dry-run").status == 0
    shown = dplda("ask", people, "--json")
    assert shown.status == 0, shown.err
    answer = shown.json["answers"][0]["answer"]
    cash = next(each for each in answer["groups"][0]["categories"] if each["category"] == "cash")
    assert (answer["persons"], cash["count"]) == (True, pytest.approx(750, abs=30))
    assert "Numbers are of customers with at least one such document." in dplda("tables", shown.json["run"]).out
    tickets, texts = {"documents_per_person": 2}, {"by": "team"}
    questions = [{"ask": f"How many, {way}?", "count": way} for way in (tickets, texts, {})]
    three = written(home, "three.yaml", **changed, questions=questions)
    dry = dplda("ask", three, "--dry-run").out
    assert dry.count("sharing the weight of one. --persons counts the customers") == 1
    assert "documents_per_person: N" in dry
    assert "documents (95 %)" in dry
    shown = dplda("ask", three, "--json", "-o", "three.html")
    assert shown.status == 0, shown.err
    answer = shown.json["answers"][0]["answer"]
    cash = next(each for each in answer["groups"][0]["categories"] if each["category"] == "cash")
    assert (answer["documents_per_person"], cash["count"]) == (2, pytest.approx(750, abs=100))
    assert "of each customer up to 2 in full" in dplda("tables", shown.json["run"]).out
    assert "Each answer says whether it counts documents" in " ".join(
        (home / "three.html").read_text(encoding="utf-8").split()
    )
    for wrong, named in (
        ({"by": "team,day"}, "one attribute"),
        ({"persons": "yes"}, "true or false"),
        ({"documents_per_person": 2}, "exclude each other"),
        ({"documents_per_person": "2"}, "whole number"),
    ):
        asked = {"ask": "How many?", "count": {"persons": True, **wrong}}
        refused = dplda("ask", written(home, "wrong.yaml", **changed, questions=[asked]))
        assert (refused.status, named in refused.err) == (2, True), refused.err


def test_a_page_is_not_overwritten_and_that_is_known_before_anything_is_spent(dplda, home, plan):
    (home / "a.html").write_text("mine")
    assert dplda("ask", plan, "-o", "a.html").status == 2
    assert (home / "a.html").read_text() == "mine"
    assert Ledger().runs() == []


def test_a_simulation_is_stamped_on_the_page(dplda, home, plan):
    Ledger().grant("invented", unbounded=True)
    answer = dplda("ask", written(home, dataset="invented"), "--simulate", "-o", "a.html")
    assert answer.status == 0, answer.err
    page = (home / "a.html").read_text(encoding="utf-8")
    assert "<title>NOT PRIVATE: answers about invented" in page
    assert "differentially private for one" not in page


@pytest.mark.parametrize("command", ["count", "words"])
def test_a_dry_run_does_not_ask_for_a_date_format_that_was_given(dplda, plan, command):
    asked = (command, "tickets.jsonl", "--by", "month(day)", "--from", "2024-01-01", "--to", "2024-03-31", "--dry-run")
    own = {"count": ("--categories", "c.yaml"), "words": ("--vocabulary", "words.txt")}[command]
    Path("c.yaml").write_text("refund: [refund]\n")
    given = dplda(*asked, *own, "--date-format", "%d/%m/%Y")
    assert given.status == 0, given.err
    assert "--date-format" not in given.out + given.err
    assert "--date-format" in dplda(*asked, *own, "--yes").out


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_plan_is_told_of_dates_by_its_keys(dplda, home, plan, options):
    told = dplda("ask", written(home, date_format=None), *options)
    assert "can be read with date_format: '%d/%m/%Y' or date_format: '%m/%d/%Y'" in told.out + told.err
    assert "--date-format" not in told.out + told.err
    backwards = dplda("ask", written(home, **{"from": "2024-03-31", "to": "2024-01-01"}), *options)
    assert "give the first day and the last day" in backwards.err
    assert "--from" not in backwards.err
    assert Ledger().runs() == []


def test_each_batch_of_a_series_is_a_run(dplda, home, plan):
    weekly = written(home, series="weekly", corpus=None)
    Ledger().grant("weekly", epsilon=80.0, delta=1e-5)
    other = home / "w2.jsonl"
    lines = (home / "tickets.jsonl").read_text().splitlines()
    with open(other, "w") as file:
        for number, line in enumerate(lines):
            record = json.loads(line)
            words = record["text"].split()
            file.write(json.dumps(record | {"text": " ".join(random.Random(f"w{number}").choices(words, k=13))}) + "\n")
    first = dplda("ask", weekly, "tickets.jsonl", "--batch", "w1")
    assert first.status == 0, first.err
    second = dplda("ask", weekly, other, "--batch", "w2", "-o", "w2.html")
    assert second.status == 0, second.err
    assert [(run.dataset, run.batch) for run in Ledger().runs()] == [("weekly", "w1"), ("weekly", "w2")]
    assert "one batch of the series" in (home / "w2.html").read_text(encoding="utf-8")


def test_a_dry_run_judges_the_first_batch_of_a_series_and_no_later_one(dplda, home, plan):
    def told(*typed: object) -> str:
        answer = dplda(*typed, "--dry-run")
        assert answer.status == 0, answer.err
        return " ".join(answer.out.split())

    eight = written(home, series="weekly", epsilon=2, questions=[{"ask": "What is it about?", "fit": {"topics": 8}}])
    remark = "too few for 8 topics at epsilon 2, and a run probably ends after it has chosen words"
    assert remark in told("ask", eight, "--batch", "w1")
    assert remark in told("fit", "tickets.jsonl", "--series", "weekly", "--topics", 8)
    two = written(home, "two.yaml", series="weekly", epsilon=0.1, questions=PLAN["questions"][:1])
    small = ("fit", "tickets.jsonl", "--series", "weekly", "--epsilon", 0.1, "--vocabulary", "words.txt", "--topics", 2)
    assert "are too few for 2 topics" in told("ask", two, "--batch", "w1")
    assert "are too few for 2 topics" in told(*small)
    assert dplda("budget", "grant", "weekly", "--epsilon", 80, "--delta", 1e-5).status == 0
    first = written(home, "first.yaml", series="weekly", batch="w0", questions=PLAN["questions"][:1])
    assert dplda("ask", first).status == 0
    assert "too few" not in told("ask", two, "--batch", "w1")
    assert "too few" not in told(*small)


def test_a_missing_answer_is_told_on_screen_and_page_beside_the_others(dplda, home, plan):
    (home / "few.jsonl").write_text("\n".join((home / "tickets.jsonl").read_text().splitlines()[:60]))
    topics = {"ask": "What is it about?", "fit": {"topics": 5, "vocabulary": "words.txt"}}
    questions = [topics, *PLAN["questions"][1:3]]
    path = written(home, "few.yaml", corpus="few.jsonl", epsilon=1, questions=questions)
    # The noise has a seed: without one, two of ten draws find topics in so few documents.
    assert dplda("budget", "grant", "few", "--unbounded").status == 0
    answer = dplda("ask", str(path), "--simulate", "-o", "page.html")
    assert answer.status == 4
    assert "2 of 3 questions have no answer" in answer.err
    assert answer.out.count("These numbers are of the fit alone, which has 6") == 1
    dry = " ".join(dplda("ask", str(path), "--dry-run").out.split())
    named = "'What is it about?' and 'How do teams differ?': about 60 documents are too few for 5 topics"
    assert f"There will probably be no answer to {named}" in dry
    assert "The other questions are answered, and charged." in dry
    alone = written(home, "alone.yaml", corpus="few.jsonl", epsilon=1, questions=questions[:2])
    dry = " ".join(dplda("ask", str(alone), "--dry-run").out.split())
    assert "Do not run this: about 60 documents are too few for 5 topics at epsilon 0.8" in dry
    assert answer.out.count("No answer: ") == (home / "page.html").read_text().count("<p>No answer: ") == 2
    again = dplda("tables", Ledger().runs()[-1].id)
    assert again.status == 0, again.err
    assert again.out.count("No answer: ") == 2


@pytest.mark.parametrize("n_answered", full_after(1, [2, 1, 3]))
def test_a_killed_plan_shows_the_answers_that_it_has_on_screen_and_page(dplda, home, plan, n_answered):
    child = os.fork()
    if child == 0:
        keep, seen = Reservation.keep, []

        def kill(self: Reservation, **kept: Any) -> None:
            keep(self, **kept)
            seen.append(kept)
            if len(seen) == n_answered:
                os.kill(os.getpid(), signal.SIGKILL)

        Reservation.keep = kill  # type: ignore[method-assign]
        dplda("ask", plan, "--quiet")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (record,) = Ledger().runs()
    again, page = dplda("tables", record.id), dplda("report", record.id, "-o", "a.html")
    assert (again.status, page.status) == (0, 0), again.err + page.err
    html = (home / "a.html").read_text(encoding="utf-8")
    for place, question in enumerate(PLAN["questions"]):
        assert question["ask"] in again.out
        told = again.out.partition(question["ask"])[2].strip().startswith("No answer: the run has not come to this")
        assert told == (place >= n_answered)
    assert again.out.count("No answer: ") == html.count("<p>No answer: ") == 4 - n_answered
    assert "topic" in html
    assert [run.cost for run in Ledger().runs()] == [record.cost]
    assert dplda("budget", "verify").status == 0


def test_a_plan_is_told_which_epsilon_gives_its_fit_what_it_needs():
    advice = advise(1200)
    told = _in_plan(advice.topics, advice.epsilon, share=0.5, delta=1e-6)
    assert told.startswith(f"`topics: {advice.topics}` and an epsilon")
    assert _in_plan(advice.topics, None, share=0.5, delta=1e-6) == f"`topics: {advice.topics}`"
    assert _in_plan(None, advice.epsilon, share=0.5, delta=1e-6) == told.partition(" and ")[2]
    whole = float(told.split()[-1])
    questions = [Question("What?", "fit", weight=1.0), Question("How many?", "count", weight=1.0)]
    fit = fit_of(questions, FitOptions(epsilon=whole, delta=1e-6))
    assert fit is not None
    part, share = fit
    assert share == 0.5
    assert part.epsilon == pytest.approx(advice.epsilon, rel=0.1)
