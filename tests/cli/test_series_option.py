"""`dplda fit --series`, `dplda topics --series` and the report of a series through the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dplda.budget import Ledger

FIT = (
    "--unit",
    "document",
    "--epsilon",
    4,
    "--tokenizer",
    "fast",
    "--max-document-frequency",
    0.3,
    "--quiet",
    "--vocabulary",
    "english:3000",
)


@pytest.fixture
def weeks(sample_3000: list[str], home: Path) -> list[Path]:
    """Three weeks of texts."""
    files = [home / f"week-{number}.jsonl" for number in (1, 2, 3)]
    for number, week in enumerate(files):
        week.write_text("".join(sample_3000[1000 * number : 1000 * (number + 1)]))
    return files


def test_weeks_go_on_from_one_another_and_are_shown_together(dplda, weeks: list[Path], home: Path) -> None:
    first = dplda("fit", weeks[0], *FIT, "--series", "support", "--topics", 4)
    assert first.status == 0, first.err
    assert "A series of one batch (week-1)" in first.err
    assert "Series support begins with this batch." in first.out
    dry = dplda("fit", weeks[1], *FIT, "--series", "support", "--unit", "document", "--dry-run")
    assert dry.status == 0, dry.err
    second = dplda("fit", weeks[1], *FIT, "--series", "support")
    assert second.status == 0, second.err
    [run, _] = Ledger().runs()
    assert f"Batch week-2 of series support continues from run {run.id}: topics keep their numbers; new: " in second.out
    third = dplda("fit", weeks[2], *FIT, "--prior", "support", "--batch", "third")
    assert third.status == 0, third.err
    assert [(run.dataset, run.batch) for run in Ledger().runs()] == [
        *(("support", "week-1"), ("support", "week-2"), ("support", "third"))
    ]
    record = json.loads(dplda("topics", "--series", "support", "--json").out)
    assert record["batches"] == ["week-1", "week-2", "third"]
    assert record["private"] is True
    assert all(len(topic["shares"]) == 3 for topic in record["topics"])
    shown = dplda("topics", "--series", "support", "--csv", home / "t.csv", "--all").out
    assert "Series support: 3 batches, the last one third." in shown
    assert "19 times out of 20" in shown
    with open("t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["batch"] for row in rows} == {"week-1", "week-2", "third"}
    assert sum(float(row["share"]) for row in rows if row["batch"] == "third") == pytest.approx(1.0, abs=1e-6)
    assert dplda("report", "support", "-o", "r.html").status == 0
    page = Path("r.html").read_text()
    assert "Batch by batch" in page
    assert "These are the topics of batch <bdi>third</bdi> of the series <bdi>support</bdi>." in " ".join(page.split())
    assert "each document pays for one batch" in dplda("budget", "show", "support").out
    assert "Series with a model: 'support'. Begin one" in dplda("topics", "--series", "suport").err
    assert dplda("topics", "--series", "support", "--sure", 0.5).status == 2
    repeated = dplda("fit", weeks[2], *FIT, "--series", "support", "--batch", "third", "--epsilon", 1)
    assert "Batch third was fitted before (support-" in repeated.out
    again = dplda("fit", weeks[2], *FIT, "--series", "support")
    assert (again.status, "series 'support' would be in 2" in again.err) == (3, True)


def test_ids_decide_to_which_batch_a_document_belongs(dplda, weeks: list[Path], home: Path) -> None:
    """A document counts in the batch under which its id was first charged, whatever its text, and in reruns too."""
    records = [[json.loads(line) for line in week.read_text().splitlines()] for week in weeks]
    first, second = records[0], records[1][:800] + records[0][:199]
    for number, record in enumerate(first):
        record["ticket"] = number
    for number, record in enumerate(second):
        record["ticket"] = 5000 + number if number < 800 else float(number - 800)
    second += [dict(second[0], text="the same ticket again, in other words"), {"text": "a ticket without an id"}]
    for name, batch in (("a", first), ("b", second), ("c", first[:150] + second[:100])):
        (home / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in batch))
    options = (*FIT, "--series", "support", "--id-field", "ticket")
    assert dplda("fit", "a.jsonl", *options, "--topics", 3).status == 0
    answer = dplda("fit", "b.jsonl", *options)
    assert answer.status == 0, answer.err
    assert "201 contribute nothing" in answer.err
    again = dplda("fit", "b.jsonl", *options, "--epsilon", 1)
    assert (again.status, "201 contribute nothing" in again.err) == (0, True)
    refused = dplda("fit", "c.jsonl", *options)
    assert (refused.status, "have an id that another batch" in refused.err) == (3, True)
    for other in ([], ["--id-field", "section"]):
        without = dplda("fit", "b.jsonl", *FIT, "--series", "support", *other)
        assert without.status == 3
        assert "apart by ids (--id-field ticket)" in without.err
    assert "ids (ticket)" in dplda("budget", "show", "support").out
    record = Ledger().dataset("support")
    assert (record.batches, record.batches_per_document) == (("a", "b"), 1)
    imported = dplda("corpus", "import", "b.jsonl", "store", "--id-field", "ticket", "--tokenizer", "fast")
    assert imported.status == 0, imported.err
    stored = dplda("fit", "store", *FIT[:2], *FIT[4:], "--series", "support", "--batch", "b", "--epsilon", 1)
    assert (stored.status, "201 contribute nothing" in stored.err) == (0, True), stored.err


def test_rows_of_one_id_are_one_document_in_every_run(dplda, weeks: list[Path], home: Path) -> None:
    """A table of a series that ids tell apart counted each of the 500 rows of one ticket."""
    records = [json.loads(line) | {"ticket": number} for number, line in enumerate(weeks[0].read_text().splitlines())]
    records += [records[0]] * 500 + [{"text": records[1]["text"]}] * 100
    (home / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    reading = ("--tokenizer", "fast", "--quiet", "--id-field", "ticket")
    assert dplda("fit", "a.jsonl", *FIT, "--series", "s", "--topics", 3, "--id-field", "ticket").status == 0
    for dataset in ("s", "a"):
        for command in (("tabulate", "s", "a.jsonl"), ("evaluate", "s", "a.jsonl")):
            yes = ("--yes",) * (command[0] == "tabulate")
            refused = dplda(*command, "--dataset", dataset, "--epsilon", 1, *reading[:3], *yes)
            assert (refused.status, "apart by ids (--id-field ticket)" in refused.err) == (3, True), refused.err
        table = dplda("tabulate", "s", "a.jsonl", "--dataset", dataset, "--epsilon", 2, *reading, "--yes", "--json")
        assert table.status == 0, table.err
        (row,) = json.loads(table.out)["groups"]
        assert abs(row["units"]["value"] - 1000) < 60
        assert "600 contribute nothing" in table.err
    wrong = dplda("fit", "a.jsonl", *FIT, "--topics", 3, "--dataset", "other", "--id-field", "section")
    assert (wrong.status, "Most rows have no id in column 'section'" in wrong.err) == (2, True)


def test_a_batch_is_read_like_the_batch_before(dplda, weeks: list[Path]) -> None:
    assert dplda("fit", weeks[0], *FIT, "--series", "s", "--topics", 3).status == 0
    answer = dplda("fit", weeks[0], *FIT, "--series", "s", "--batch", "again", "--ngrams", 2)
    assert (answer.status, "ngrams 2" in answer.err) == (2, True)


def test_declared_batches_are_charged(dplda, weeks: list[Path]) -> None:
    grant = ("budget", "grant", "support", "--epsilon", 10, "--delta", 1e-5, "--batches-per-document", 2)
    assert dplda(*grant).status == 0
    assert dplda("fit", weeks[0], *FIT, "--series", "support", "--topics", 3).status == 0
    assert dplda("fit", weeks[0], *FIT, "--series", "support", "--batch", "copy").status == 0
    shown = dplda("budget", "show", "support").out
    assert "each document pays for 2 batches, those that spent most, as declared" in shown
    assert "a document is in up to 2 batches" in dplda("budget", "history", "support").out
    assert dplda("budget", "grant", "x", "--unbounded", "--batches-per-document", 2).status == 2
    for paper in ("checklist", "assessment"):
        assert dplda("report", "support", f"--{paper}", f"{paper}.md").status == 0
        assert "Each document is in one batch" not in Path(f"{paper}.md").read_text()
        assert "in 2 batches at most" in " ".join(Path(f"{paper}.md").read_text().split())
    again = dplda("fit", weeks[0], *FIT, "--series", "support", "--batch", "third")
    assert (again.status, "--batches-per-document 3" in again.err) == (3, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--batch", "one"], "batch 'one' must be of a series"),
        (["--series", "s", "--dataset", "d"], "its name is 's' or 'd', not both"),
        (["--series", "s", "--adjacency", "replace"], "a series needs adjacency add-remove"),
        (["--series", "s", "--batch", "a\nb"], "batch must be a printable name"),
    ],
)
def test_what_is_no_batch_of_a_series_is_refused_before_anything_is_spent(
    dplda, weeks: list[Path], given: list[str], message: str
) -> None:
    answer = dplda("fit", weeks[0], *FIT, "--topics", 4, *given)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert Ledger().runs() == []


def test_more_topics_than_the_series_has_and_unknown_series_are_refused(dplda, weeks: list[Path]) -> None:
    assert "has no model of a batch of series 's'. Begin one: dplda fit" in dplda("topics", "--series", "s").err
    assert dplda("topics").status == 2
    assert dplda("fit", weeks[0], *FIT, "--series", "s", "--topics", 4).status == 0
    answer = dplda("fit", weeks[1], *FIT, "--series", "s", "--topics", 12)
    assert answer.status == 2
    assert "continues with 4 topics, got topics=12" in answer.err


def test_a_private_batch_does_not_go_on_from_one_that_is_not(dplda, weeks: list[Path]) -> None:
    dplda("budget", "grant", "s", "--unbounded")
    assert dplda("fit", weeks[0], *FIT, "--series", "s", "--topics", 4, "--simulate").status == 0
    answer = dplda("fit", weeks[1], *FIT, "--series", "s")
    assert answer.status == 2
    assert "the batch before 'week-2' was fitted without privacy" in answer.err
    assert dplda("fit", weeks[1], *FIT, "--series", "s", "--simulate").status == 0
