"""`dplda tabulate` and `dplda tables`: from a file to tables, their files and the report."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from full_helpers import full_after
from handmade import with_facts

from dplda.budget import Ledger
from dplda.cli.main import main
from dplda.cli.table_commands import show_topic_tables
from dplda.private.attributes import OTHER
from dplda.runs.series import load
from dplda.runs.tabulation import topic_tables

THEMES = ("boiler pipe heating cold radiator", "invoice money payment bank refund")


FIT = ("fit", "tickets.jsonl", "--topics", "2", "--epsilon", "4", "--max-document-frequency", "0.9", "--quiet")


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """A folder with tickets and a run on them, at a path of which every test gets the same contents."""
    folder = tmp_path_factory.mktemp("tables") / "home"
    (folder / "witness").mkdir(parents=True)
    with open(folder / "tickets.jsonl", "w") as file:
        for i in range(4000):
            words = random.Random(i).choices(THEMES[i % 2].split(), k=12)
            record = {"text": " ".join(words), "team": ("heat", "cash")[i % 2], "day": f"2024-0{i % 3 + 1}-11"}
            file.write(json.dumps(record | ({} if i % 50 else {"team": "SECRETGROUP"})) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        live_in(folder, patch)
        assert main(list(FIT)) == 0
    shutil.copytree(folder, folder.parent / "kept")
    return folder


def live_in(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Work in `folder`, which holds the ledger, its witness and the cache."""
    patch.chdir(folder)
    for name, file in (("LEDGER", "ledger.db"), ("WITNESS", "witness"), ("CACHE", "cache")):
        patch.setenv(f"DPLDA_{name}", str(folder / file))


@pytest.fixture
def home(kept: Path, witness: Path, default_ledger: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder as it was after the run."""
    shutil.rmtree(kept)
    shutil.copytree(kept.parent / "kept", kept)
    live_in(kept, monkeypatch)
    return kept


@pytest.fixture
def tickets(home: Path) -> str:
    return "tickets.jsonl"


@pytest.fixture
def fitted(home: Path) -> str:
    return Ledger().runs()[0].id


def test_a_path_that_is_read_otherwise_than_for_the_topics_is_asked_about(dplda, tickets, fitted, home):
    asked = ("tabulate", fitted, tickets, "--by", "team", "--epsilon", "2", "--encoding", "utf-8-sig")
    answer = dplda(*asked)
    told = f"These are not known to be the documents that the topics of run {fitted} were learned from: this run reads"
    assert (answer.status, told in answer.err) == (2, True)
    assert (
        "read it with the options of the run, such as --text-field, or give --yes to read it otherwise." in answer.err
    )
    assert charged(dplda) == 1
    assert dplda(*asked, "--yes").status == 0
    lines = (home / tickets).read_text().splitlines(keepends=True)
    (home / "part.jsonl").write_text("".join(lines[::2]))
    part = dplda("tabulate", fitted, "part.jsonl", "--dataset", "tickets", "--by", "team", "--epsilon", "2")
    assert (part.status, told in part.err) == (0, True), "another path is told, and not asked about"


def test_the_name_of_a_dataset_says_which_run_it_means(dplda, fitted, home):
    name = Ledger().runs()[0].dataset
    told = f"Topics of run {fitted}, the latest of {name} with topics."
    for asked in (("topics", name), ("tree", name), ("merge", name, "0,1", "--out", "merged"), ("report", name)):
        assert told in dplda(*asked).err
    assert told not in dplda("topics", fitted).err


def test_a_period_with_days_outside_of_the_range_is_said_to_be_whole(dplda, tickets, fitted):
    days = ("--from", "2024-01-15", "--to", "2024-03-31")
    answer = dplda("tabulate", fitted, tickets, "--by", "month(day)", *days, "--epsilon", "2", "--dry-run")
    told = "month(day) from 2024-01-15 to 2024-03-31 counts all days from 2024-01-01 to 2024-03-31."
    assert told in " ".join(answer.err.split())


def test_tables_are_shown_kept_written_and_drawn(dplda, tickets, fitted, home):
    days = ("--from", "2024-01-01", "--to", "2024-03-31")
    answer = dplda("tabulate", fitted, tickets, "--by", "team", "--by", "month(day)", *days, "--epsilon", "2", "--json")
    assert answer.status == 0, answer.err
    assert "Periods are whole" not in answer.err
    record = answer.json
    assert (record["run"], record["by"]) == (fitted, ["team"])
    shares = {group["group"]: [topic["share"] for topic in group["topics"]] for group in record["groups"]}
    assert set(shares) >= {"heat", "cash", OTHER}
    assert max(shares["heat"]) > 0.9
    assert shares["heat"].index(max(shares["heat"])) != shares["cash"].index(max(shares["cash"]))
    assert [group["group"] for group in record["others"][0]["groups"]] == ["2024-01", "2024-02", "2024-03", OTHER]
    assert record["privacy"]["epsilon"] <= 2
    shown = dplda("tables", fitted)
    assert shown.status == 0, shown.err
    assert "2024-02" in shown.out
    assert "more in heat than elsewhere" in shown.out
    assert dplda("tables", record["table"], "--json").json["groups"] == record["groups"]
    assert dplda("tables", fitted, "--csv", "t.csv").status == 0
    assert dplda("tables", fitted, "--out", "t.parquet").status == 0
    with open("t.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["table"] for row in rows} == {"team", "month(day)"}
    assert len(rows) == pyarrow.parquet.read_table("t.parquet").num_rows
    assert dplda("report", record["table"], "-o", "r.html").status == 0  # that of the run of its topics
    page = Path("r.html").read_text()
    assert "Groups and time" in page
    assert "How topics change by month<" in page
    assert re.search("learned from about [34],", page.split("Counted are")[1][:200]), (
        "the number of all is beside that of those counted"
    )
    assert "table" in dplda("runs", "show", record["table"]).out
    assert dplda("budget", "verify").status == 0
    listed = [topic["share"]["value"] for topic in dplda("topics", fitted, "--json").json["topics"]]
    singles = dplda("tree", fitted, "--json").json["cuts"]["2"]
    assert {group["topics"][0]: group["share"] for group in singles} == pytest.approx(dict(enumerate(listed)))
    assert dplda("topics", fitted, "--csv", "topics.csv").status == 0
    with open("topics.csv") as file:
        written = {int(row["topic"]): float(row["share"]) for row in csv.DictReader(file)}
    assert written == pytest.approx(dict(enumerate(listed))), "one share for a topic"
    for command in (["label", fitted], ["label", fitted, "--undo"]):
        labelled = [topic["share"]["value"] for topic in dplda(*command, "--json").json["topics"]]
        assert labelled == pytest.approx(listed)
    merged = dplda("merge", fitted, "0,1", "--out", "merged", "--json").json["topics"]
    assert merged[0]["share"]["value"] == pytest.approx(sum(listed))
    assert dplda("report", "./merged", "-o", "merged.html").status == 0
    told = dplda("export", fitted, "--to", "csv", "--out", "exported")
    assert "Shares in it are those of the model" in told.out


def test_a_part_of_the_dataset_in_another_file_changes_no_share_of_a_topic(dplda, tickets, fitted, home):
    """Its number of documents is not told beside that of all documents of the run, either."""
    lines = Path(tickets).read_text().splitlines(keepends=True)
    Path("cash.jsonl").write_text("".join(lines[1::4]))
    before = dplda("topics", fitted, "--json").json
    answer = dplda("tabulate", fitted, "cash.jsonl", "--dataset", "tickets", "--epsilon", "2")
    assert answer.status == 0, answer.err
    assert "topics were learned from about" not in answer.out
    told = f"These are not known to be the documents that the topics of run {fitted} were learned from (other files, or"
    assert told in " ".join(answer.out.split())
    assert dplda("topics", fitted, "--json").json == before
    assert dplda("report", fitted, "-o", "part.html").status == 0
    page = Path("part.html").read_text()
    assert "How much of the text in the documents of run" in page
    assert "topics were learned from about" not in page
    answer = dplda("tabulate", fitted, tickets, "--epsilon", "2")
    assert "not known to be" not in answer.out
    assert "The topics were learned from about" in answer.out
    assert dplda("topics", fitted, "--json").json != before


def run_named_in(shown: str) -> str:
    """Return the run in the command that a table ends with."""
    return re.findall(r"dplda tables (\S+) --csv", shown)[0]


def test_two_groups_are_compared_shown_written_and_drawn(dplda, tickets, fitted, home):
    asked = ("tabulate", fitted, tickets, "--epsilon", "2", "--between")
    record = dplda(*asked, "team=heat", "team=cash", "--json").json
    assert (record["by"], record["others"]) == (["between(team)"], [])
    assert [group["group"] for group in record["groups"]] == ["heat", "cash", OTHER]
    assert [event["stage"] for event in record["privacy"]["events"]] == ["table"]
    assert {(*each["from"], *each["to"]) for each in record["changes"]} == {("heat", "cash")}
    assert sorted(each["value"] > 0 for each in record["changes"]) == [False, True]
    shown = dplda(*asked, "day=2024-01..2024-02", "day=2024-03")
    assert shown.status == 0, shown.err
    found = json.loads(dplda("tables", run_named_in(shown.out), "--json").out)["changes"]  # by chance, once in twenty
    assert (
        "No difference between the two groups holds, if all are to hold together with 95 % probability;" in shown.out
    ) == (found == [])
    again = dplda("tables", record["table"]).out
    assert "between(" not in again, "the column is called what it is"
    assert "Differences between the two groups that hold, all of them together, with 95 % probability:" in again
    assert re.search(r"points more in cash than in heat\n", again)
    assert dplda("tables", record["table"], "--csv", "t.csv").status == 0
    with open("t.csv") as file:
        assert [row["between(team)"] for row in csv.DictReader(file)] == ["heat"] * 2 + ["cash"] * 2 + [OTHER] * 2
    assert dplda("report", fitted, "-o", "r.html").status == 0
    page = Path("r.html").read_text()
    assert "How topics differ between heat and cash<" in page
    assert "How topics differ between 2024-01..2024-02 and 2024-03<" in page
    assert "points more in cash than in heat" in page


def test_two_groups_may_be_few_of_the_documents(dplda, tickets, fitted, home):
    lines = map(json.loads, (home / tickets).read_text().splitlines())
    dated = [line | {"day": f"11.0{i % 6 + 1}.2024"} for i, line in enumerate(lines)]
    (home / tickets).write_text("\n".join(map(json.dumps, dated)))
    asked = ("tabulate", fitted, tickets, "--epsilon", "2")
    few = (*asked, "--between", "day=2024-03..2024-03", "day=2024-02", "--date-format", "%d.%m.%Y")
    dry = dplda(*few, "--dry-run", "--json").json
    told = "Of the first 1,000 records, by day: 67 % are in neither group."
    assert (dry["problems"], dry["remarks"][-1]) == ([], told)
    assert charged(dplda) == 1
    answer = dplda(*few)
    assert answer.status == 0, answer.err
    assert told in answer.err
    assert "Most documents are in" not in answer.out
    absent = dplda(*asked, "--between", "team=heat", "team=Cash")
    assert (absent.status, absent.out) == (2, "")
    assert "are in neither group, none is in Cash." in absent.err
    assert "SECRETGROUP" not in absent.err + answer.err + answer.out
    assert charged(dplda) == 2


def test_a_prepared_store_keeps_the_columns_that_it_was_told_to(dplda, tickets, fitted, home):
    assert dplda("corpus", "import", tickets, "store", "--group-field", "team").status == 0
    answer = dplda("tabulate", fitted, "store", "--by", "team", "--epsilon", "1", "--dataset", "tickets", "--json")
    assert answer.status == 0, answer.err
    refused = dplda("tabulate", fitted, "store", "--by", "day", "--epsilon", "1")
    assert refused.status == 2
    assert "It keeps team." in refused.err
    assert "--group-field day" in refused.err


def test_public_groups_come_from_a_file(dplda, tickets, fitted, home):
    (home / "g.yaml").write_text("team: [cash]")
    answer = dplda("tabulate", fitted, tickets, "--by", "team", "--groups", "g.yaml", "--epsilon", "1", "--json")
    assert [group["group"] for group in answer.json["groups"]] == ["cash", OTHER]
    assert [event["stage"] for event in answer.json["privacy"]["events"]] == ["table"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--by", "colour"], "group_field 'colour' is not a column"),
        (["--by", "month(day)", "--from", "2024-01-01"], "give the first day and the last day"),
        (["--by", "team", "--out", "t.txt"], "must end in .csv, .parquet, .json"),
        (["--by", "team", "--groups", "absent.yaml"], "cannot read absent.yaml"),
        (["--by", "team", "--seed", "1"], "--seed requires --simulate"),
        (["--between", "2024-01", "2024-02"], "must name the column of the two groups: COLUMN=2024-01 COLUMN=2024-02"),
        (["--between", "day=2024-01..2024-02", "day=2024-02..2024-03"], "overlap"),
        (["--between", "team=heat", "team=cash", "--between", "team=a", "team=b"], "--between is given twice"),
        (["--between", "team=heat"], "requires 2 arguments"),
    ],
)
def test_mistakes_get_one_line(dplda, tickets, fitted, home, words, told):
    answer = dplda("tabulate", fitted, tickets, *words)
    assert answer.status == 2
    assert told in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert "SECRETGROUP" not in answer.err


def test_two_names_that_are_no_ranges_of_dates_are_told_how_to_write_ranges(dplda, tickets, fitted, home):
    halves = ("tabulate", fitted, tickets, "--between", "day=2024-S1", "day=2024-S2", "--epsilon", "0.5")
    ranges = "compare ranges of dates, such as 2024-01..2024-06 and 2024-07..2024-12."
    assert ranges in dplda(*halves, "--date-format", "%d/%m/%Y").err
    assert ranges.replace("ranges of dates", "ranges of them") in dplda(*halves).err


def charged(dplda) -> int:
    return len(dplda("runs", "--json").json["runs"])


def test_a_dry_run_prices_the_tables_and_charges_nothing(dplda, tickets, fitted, home):
    wanted = ("tabulate", fitted, tickets, "--by", "team", "--by", "month(day)", "--epsilon", "2")
    answer = dplda(*wanted, "--out", "shares.csv", "--dry-run")
    assert answer.status == 0, answer.err
    assert re.search(
        r"would take [\d.]+% of the budget of dataset tickets .*, which leaves room for about \d", answer.out
    )
    assert "SECRETGROUP" not in answer.out + answer.err
    told = " ".join(answer.out.split())
    assert re.search(r"Groups by team and month\(day\) would be found privately: one of about \d+ documents with", told)
    assert "list them: --groups FILE (in a plan, groups) and --from and --to (in a plan, from and to)." in told
    assert re.search(r"A group with fewer than about \d+ documents would be too small to tell\.", told)
    (home / "g.yaml").write_text("team: [cash]")
    listed = dplda(*wanted[:5], "--groups", "g.yaml", "--dry-run")
    assert (listed.status, "privately" in listed.out) == (0, False), listed.err
    assert "No run has charged" not in answer.out
    elsewhere = dplda(*wanted, "--dataset", "third", "--dry-run").out
    assert "No run has charged dataset third yet. Documents that another name was charged for" in " ".join(
        elsewhere.split()
    )
    for advice in ("--unit-field", "--stopwords", "Next:", "dplda fit"):
        assert advice not in answer.out
    record = dplda(*wanted, "--dry-run", "--json").json
    assert (record["local"], record["problems"], record["command"]) == (True, [], None)
    (share,) = map(float, re.findall(r"take ([\d.]+)%", record["price"]))
    less = dplda(*wanted[:-1], "0.1", "--dry-run", "--json").json["price"]
    assert "limited by delta" in less
    assert "a smaller epsilon costs the same" in less
    assert charged(dplda) == 1
    assert not (home / "shares.csv").exists()
    before = Ledger().dataset("tickets")
    assert dplda(*wanted, "--quiet").status == 0
    taken = Ledger().dataset("tickets").spent.mu_squared - before.spent.mu_squared
    assert share == pytest.approx(100 * taken / before.grant.capacity.mu_squared, abs=0.06)


def test_a_dry_run_makes_no_ledger(dplda, tickets, fitted, home, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", str(home / "other.db"))
    (model,) = (home / "models").iterdir()
    for command in (("tabulate", model, tickets, "--by", "team"), ("evaluate", model, tickets)):
        assert dplda(*command, "--dry-run").status == 0
    assert not (home / "other.db").exists()


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--by", "colour"], 2, "group_field 'colour' is not a column"),
        (["--between", "colour=red", "colour=blue"], 2, "group_field 'colour' is not a column"),
        (["--by", "team", "--epsilon", "20"], 3, "cannot pay for this run"),
        (["--by", "team", "--simulate"], 3, "needs an unbounded grant"),
        (["--by", "team", "--text-field", "team", "--unit-field", "nobody"], 2, "unit_field 'nobody' is not a column"),
    ],
)
def test_a_dry_run_is_refused_where_the_run_would_be(dplda, tickets, fitted, words, status, told):
    for more in ([], ["--dry-run"]):
        answer = dplda("tabulate", fitted, tickets, *words, *more)
        assert (answer.status, answer.out) == (status, "")
        assert told in answer.err
    assert charged(dplda) == 1


def test_an_evaluation_has_a_dry_run_too(dplda, tickets, fitted):
    answer = dplda("evaluate", fitted, tickets, "--epsilon", "0.5", "--dry-run", "--json")
    assert answer.status == 0
    assert re.search(r"would take [\d.]+% of the budget of dataset tickets", answer.json["price"])
    assert dplda("evaluate", fitted, tickets, "--epsilon", "20", "--dry-run").status == 3
    free = dplda("evaluate", fitted, tickets, "--reference", "--dry-run")
    assert (free.status, "--dry-run has no effect with --reference" in free.err) == (2, True)
    assert charged(dplda) == 1


BAD_DATES = "Of the first 1,000 records, by month(team): 100 % hold no date in ISO 8601, such as 2024-03-31."
UNLISTED = (
    "Of the first 1,000 records, by team: 100 % are in none of the listed groups, none is in warmth, none is in money."
)


@pytest.mark.parametrize(
    ("words", "told"), [(["--by", "month(team)"], BAD_DATES), (["--by", "team", "--groups", "g.yaml"], UNLISTED)]
)
@pytest.mark.parametrize("stored", full_after(1, [False, True]))
def test_a_column_that_fits_no_group_is_asked_about_before_it_is_charged(
    dplda, tickets, fitted, home, words, told, stored
):
    (home / "g.yaml").write_text("team: [warmth, money]")
    if stored:
        assert dplda("corpus", "import", tickets, "store", "--group-field", "team").status == 0
        told = told.replace("1,000", "4,000")
    asked = ("tabulate", fitted, "store" if stored else tickets, *words, "--epsilon", "0.5", "--dataset", "tickets")
    refused = dplda(*asked)
    assert (refused.status, refused.out) == (2, "")
    assert told in refused.err
    assert "without a terminal: pass --yes" in refused.err
    assert "SECRETGROUP" not in refused.err
    dry = dplda(*asked, "--dry-run", "--json")
    assert dry.status == 2
    assert dry.json["problems"] == [f"{told} Pass --yes to go on all the same, or name another column or list."]
    assert charged(dplda) == 1
    assert told in dplda(*asked, "--yes", "--dry-run", "--json").json["remarks"]
    agreed = dplda(*asked, "--yes")
    assert agreed.status == 0
    assert told in agreed.err
    assert "SECRETGROUP" not in agreed.err
    assert charged(dplda) == 2


@pytest.fixture
def dated(tickets, home):
    """The tickets, with days as they are written in some countries."""
    lines = [json.loads(line) for line in (home / tickets).read_text().splitlines()]
    for i, line in enumerate(lines):
        line["day"] = f"{i % 28 + 1:02}/{i % 3 + 1:02}/2024"
    (home / "tickets.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "tickets.jsonl"


def test_dates_of_another_format_are_read_where_it_is_declared_and_never_guessed(dplda, dated, fitted, home):
    asked = ("tabulate", fitted, dated, "--by", "month(day)", "--epsilon", "0.5")
    for wrong in ([], ["--date-format", "%m/%d/%Y"]):  # the second reads the first days of the months, wrongly
        refused = dplda(*asked, *wrong)
        assert (refused.status, refused.out) == (2, "")
        assert "Their dates can be read with --date-format %d/%m/%Y." in refused.err
        assert charged(dplda) == 1
    assert "such as %d.%m.%Y for 31.12.2024" in dplda(*asked, "--date-format", "%d.%m").err
    by_team = (*asked[:3], "--by", "team", "--date-format", "%d/%m/%Y")
    assert "no table is by period" in dplda(*by_team).err
    read = dplda(*asked, "--date-format", "%d/%m/%Y", "--from", "2024-01-01", "--to", "2024-03-31", "--json")
    assert read.status == 0, read.err
    assert "Of the first" not in read.err
    assert Ledger().run(read.json["table"]).parameters["date_format"] == "%d/%m/%Y"
    checked = dplda("check", dated).out
    assert "Not all dates in 'day' are in ISO 8601: to tabulate, give --date-format %d/%m/%Y." in checked


def test_nothing_is_grouped_by_the_text(dplda, tickets, fitted):
    for command in (
        ("tabulate", fitted, tickets, "--by", "text"),
        ("corpus", "import", tickets, "s", "--group-field", "text"),
    ):
        refused = dplda(*command)
        assert (refused.status, refused.out) == (2, "")
        assert "'text' is the column of the text, by which nothing can be grouped." in refused.err


def test_the_last_line_says_what_is_spent_and_a_new_name_is_noticed(dplda, tickets, fitted, home):
    (home / "batch.jsonl").write_text((home / tickets).read_text())
    suggested = "Dataset batch is a new name, with a total of its own. If its documents belong to tickets"
    for command in ("tabulate", "evaluate"):
        new = dplda(command, fitted, "batch.jsonl", "--epsilon", "0.5", "--dry-run")
        assert suggested in new.out
        known = dplda(command, fitted, "batch.jsonl", "--epsilon", "0.5", "--dataset", "tickets")
        assert known.status == 0, known.err
        assert "is a new name" not in known.err
        assert known.err.splitlines()[-1].startswith("Dataset tickets: epsilon ")
        assert "spent of" not in known.out
    charged = dplda("tabulate", fitted, "batch.jsonl", "--epsilon", "0.5")
    assert suggested in charged.err


def test_the_terminal_is_asked(dplda, tickets, fitted, monkeypatch):
    asked = []
    monkeypatch.setattr("dplda.cli.table_commands.confirm", lambda question, otherwise: asked.append(question))
    assert dplda("tabulate", fitted, tickets, "--by", "month(team)", "--epsilon", "0.5").status == 0
    assert asked == ["A table of these would say little. Charge the budget all the same?"]


def test_few_misfits_are_told_and_nothing_is_asked(dplda, tickets, fitted, home):
    (home / "g.yaml").write_text("team: [heat, cash]")
    answer = dplda("tabulate", fitted, tickets, "--by", "team", "--groups", "g.yaml", "--epsilon", "0.5")
    assert answer.status == 0
    assert "Of the first 1,000 records, by team: 2 % are in none of the listed groups." in answer.err
    assert "SECRETGROUP" not in answer.err


def test_standard_input_is_not_inspected_first(dplda, tickets, fitted, monkeypatch):
    options = ("--format", "jsonl", "--by", "month(team)", "--dataset", "tickets", "--epsilon", "0.5")
    with open(tickets) as file:
        monkeypatch.setattr("sys.stdin", file)
        answer = dplda("tabulate", fitted, "-", *options)
    assert answer.status == 0, answer.err
    assert "Standard input is read once" in answer.err


def test_merged_topics_have_the_sums_of_the_tables_of_their_run(dplda, tickets, fitted, home):
    asked = dplda("tabulate", fitted, tickets, "--by", "team", "--epsilon", "2", "--json")
    assert asked.status == 0, asked.err
    assert dplda("merge", fitted, "0,1", "--out", "together").status == 0
    summed = dplda("tables", "together", "--json")
    assert summed.status == 0, summed.err
    for before, after in zip(asked.json["groups"], summed.json["groups"], strict=True):
        assert before["units"]["value"] == pytest.approx(after["units"]["value"])
        assert len(after["topics"]) == len(before["topics"]) - 1
        if not before["too_small_to_tell"]:
            both = sum(topic["share"] for topic in before["topics"][:2])
            assert both == pytest.approx(after["topics"][0]["share"], abs=0.02)  # shares below 0 are told as 0
    assert dplda("report", "together", "-o", "together.html").status == 0
    assert "by team" in (home / "together.html").read_text()
    shown = dplda("tables", "./together").out
    assert "All shares with their intervals: dplda tables ./together --csv FILE" in shown
    assert "All certain differences: dplda tables ./together --json" in shown
    assert dplda("tabulate", fitted, tickets, "--by", "team", "--epsilon", "2", "-q", "--yes").status == 0
    assert len(dplda("tables", "together", "--json").json) == 2
    assert dplda("tables", "together", "--csv", "both.csv").status == 0
    files = sorted(home.glob("both-*.csv"))
    assert len(files) == 2
    assert asked.json["table"] in " ".join(map(str, files))
    for file in files:
        assert {row["topic"] for row in csv.DictReader(file.read_text().splitlines())} == {"0"}, "both topics are one"


def test_tables_of_topics_that_were_merged_otherwise_are_not_shown_as_those_of_a_model(dplda, tickets, fitted, home):
    assert dplda("merge", fitted, "0,1", "--out", "together").status == 0
    own = dplda("tabulate", "./together", tickets, "--by", "team", "--epsilon", "2", "--json").json["table"]
    answer = dplda("tables", "./together")
    assert answer.status == 2
    assert f"Run {fitted} has no tables of all its topics." in answer.err
    assert dplda("tables", own).status == 0
    assert dplda("tabulate", fitted, tickets, "--by", "team", "--epsilon", "2", "-q", "--yes").status == 0
    assert "shares" in dplda("tables", "./together").out


def test_a_difference_of_a_topic_called_noise_is_said_to_be_one_of_its_words(dplda, tickets, fitted, home, capsys):
    assert dplda("tabulate", fitted, tickets, "--by", "team", "--epsilon", "2", "-q", "--yes").status == 0
    model, tables = load(fitted), topic_tables(Ledger().runs()[-1], Ledger().runs())
    for verdicts, n in (("weak", "weak"), 0), (("weak", "noise"), 1), (("noise", "noise"), 1):
        capsys.readouterr()
        show_topic_tables(tables, with_facts(model, verdicts=verdicts))
        told = capsys.readouterr().out
        assert "that hold, all of them together" in told
        assert told.count("(noise)") >= n
        assert told.count("A topic called noise is one that an ordinary fit would probably not find.") == n


def test_a_run_without_tables_says_how_to_make_one(dplda, fitted):
    answer = dplda("tables", fitted)
    assert answer.status == 2
    assert "dplda tabulate" in answer.err


@pytest.mark.filterwarnings("default:The documents are read with lemmas")
def test_topics_are_evaluated_with_intervals_and_exactly_in_public_text(dplda, tickets, fitted, home):
    answer = dplda("evaluate", fitted, tickets, "--epsilon", "2", "--json")
    assert answer.status == 0, answer.err
    low, value, high = (answer.json["coherence"][name] for name in ("low", "value", "high"))
    assert -1 <= low <= value <= high <= 1
    assert {event["stage"] for event in answer.json["privacy"]["events"]} >= {"pairs", "pair totals", "prediction"}
    again = dplda("tables", answer.json["evaluation"], "--json")
    assert again.json == answer.json
    assert "Perplexity: " in dplda("tables", answer.json["evaluation"]).out
    assert dplda("tables", answer.json["evaluation"], "--csv", "e.csv").status == 2
    dry = dplda("evaluate", fitted, tickets, "--epsilon", "2", "--dry-run")
    assert f"free of charge: dplda tables {answer.json['evaluation']}" in dry.out
    for name in ("c_v", "perplexity", "gain"):
        assert answer.json[name]["low"] <= answer.json[name]["value"] <= answer.json[name]["high"]
    (home / "public.jsonl").write_text(Path(tickets).read_text().replace('"text": "', '"text": "public '))
    free = dplda("evaluate", fitted, "public.jsonl", "--reference")
    assert free.status == 0, free.err
    assert "exact, and free of charge" in free.out
    assert "Perplexity:" in free.out
    assert "warning" not in free.err
    other = dplda("evaluate", fitted, "public.jsonl", "--reference", "--lemmas")
    (warning,) = [line for line in other.err.splitlines() if "arning" in line]
    assert warning.startswith("dplda: warning: The documents are read with lemmas True, and those of the topics")
    refused = dplda("evaluate", fitted, tickets, "--reference")
    assert refused.status == 3, refused.err
    refused = dplda("evaluate", fitted, "public.jsonl", "--reference", "--epsilon", "1")
    assert (refused.status, "--epsilon has no effect with --reference" in refused.err) == (2, True)
