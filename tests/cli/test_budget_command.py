from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.budget import Ledger
from dplda.budget.events import Event


def test_show_says_guarantee_and_spent_in_words(dplda, saved: str) -> None:
    for answer in (dplda("budget", "show"), dplda("budget", "show", "reviews")):
        assert answer.status == 0
        assert "the guarantee is the whole grant: epsilon {:g} at delta {:g}".format(*DEFAULT_GRANT) in answer.out
        assert "spent of epsilon" in answer.out
        assert "one document is protected, adjacency add-remove" in answer.out


def test_a_run_that_died_stays_spent_and_says_so(dplda, saved: str) -> None:
    dead = Ledger().reserve(
        dataset="reviews",
        unit="document",
        privacy=PrivacySettings(epsilon=1.0),
        events=[Event(stage="size", noise_multiplier=10.0)],
        parameters={},
        sound=True,
    )
    told = f"started and never finished (or still running), counted as wholly spent: {dead.run}"
    assert told in dplda("budget", "show", "reviews").out
    assert dplda("budget", "show", "reviews", "--json").json["unfinished"] == [dead.run]
    for command in (("runs",), ("budget", "history")):
        assert "counted as wholly spent" in " ".join(dplda(*command).out.split())


def test_show_json_is_one_dataset_or_all(dplda, saved: str) -> None:
    one = dplda("budget", "show", "reviews", "--json").json
    assert one["name"] == "reviews"
    assert dplda("budget", "show", "--json").json == {"datasets": [one]}


def test_an_empty_ledger_says_what_a_dataset_may_spend(dplda) -> None:
    assert "epsilon {:g} at delta {:g}".format(*DEFAULT_GRANT) in dplda("budget", "show").out
    assert dplda("budget", "history", "--json").json == {"datasets": []}
    assert "No datasets" in dplda("budget", "history").out


def test_an_unknown_dataset_is_bad_input(dplda) -> None:
    for command in ("show", "history"):
        answer = dplda("budget", command, "nobody")
        assert answer.status == 2
        assert answer.err.count("\n") == 1


def test_a_misspelt_dataset_is_told_which_one_may_be_meant(dplda, saved: str) -> None:
    answer = dplda("budget", "show", "revews")
    assert answer.status == 2
    assert "is not in the ledger. Did you mean reviews? See: dplda budget show" in answer.err


def test_a_grant_replaces_the_one_before_and_is_in_the_history(dplda, saved: str) -> None:
    before = str(dplda("budget", "show", "reviews", "--json").json["grant"]["epsilon"]).removesuffix(".0")
    granted = dplda("budget", "grant", "reviews", "--epsilon", 20, "--delta", "1e-6")
    assert granted.status == 0
    assert f"This replaces epsilon {before}, delta 1e-05." in " ".join(granted.out.split())
    assert "This replaces" not in dplda("budget", "grant", "other", "--epsilon", 20, "--delta", "1e-6").out
    record = dplda("budget", "show", "reviews", "--json").json
    assert record["grant"] == {"epsilon": 20.0, "delta": 1e-6, "unbounded": False, "lapsed": False}
    texts = [line["text"] for line in dplda("budget", "history", "reviews", "--json").json["history"]]
    assert len(texts) == 3
    assert "epsilon 20" in texts[-1]
    assert "epsilon 20" in dplda("budget", "history").out


def test_a_grant_raised_after_outputs_says_what_is_left_of_the_guarantee(dplda, saved: str) -> None:
    raised = dplda("budget", "grant", "reviews", "--epsilon", 20, "--delta", "1e-5")
    assert raised.err == ""  # the sentence is said once, and warns nobody
    for told in (raised.out, dplda("budget", "show", "reviews").out):
        assert "the grant now in force (epsilon 20, delta 1e-05) was chosen after looking" in " ".join(told.split())
    assert "to a level not listed before the first" in " ".join(dplda("budget", "history", "reviews").out.split())
    assert dplda("budget", "show", "reviews", "--json").json["guaranteed"]["epsilon"] == DEFAULT_GRANT[0]


def test_a_run_that_ends_the_guarantee_says_so_before_it_is_charged(dplda, home) -> None:
    (home / "t.jsonl").write_text("".join(json.dumps({"text": f"heating pipe cold {i}"}) + "\n" for i in range(300)))
    assert dplda("budget", "grant", "t", "--epsilon", 1, "--delta", "1e-5").status == 0
    (home / "c.yaml").write_text("heat: [heating]\n")
    count = ("count", "t.jsonl", "--categories", "c.yaml", "--quiet", "--epsilon")
    first = dplda(*count, 0.5)
    assert first.status == 0, first.err
    assert "fixed before" not in first.err
    assert dplda("budget", "grant", "t", "--epsilon", 5, "--delta", "1e-5").status == 0
    told = dplda(*count, 2).err
    assert "more is spent than epsilon 1 at delta 1e-05, the total that was fixed before its first output" in told


def test_levels_listed_beforehand_keep_a_guarantee(dplda) -> None:
    grant = ("budget", "grant", "fresh", "--delta", "1e-6", "--epsilon")
    assert (
        "the guarantee is the whole grant: epsilon 1 at delta 1e-06"
        in dplda(*grant, 1, "--then", 2, "--then", 4).out.lower()
    )
    assert "may be raised to 2, 4" in " ".join(dplda("budget", "history", "fresh").out.split())
    assert dplda("budget", "show", "fresh", "--json").json["listed"] == [2.0, 4.0]
    privacy = PrivacySettings(epsilon=1.0, delta=1e-7, adjacency="replace")
    asked = {"unit": "document", "privacy": privacy, "parameters": {}, "sound": True}
    Ledger().reserve(dataset="fresh", events=[Event(stage="size", noise_multiplier=6.0)], **asked)
    assert "epsilon 1 at delta 1e-06; once more" in " ".join(dplda(*grant, 4).out.split())
    Ledger().reserve(dataset="fresh", events=[Event(stage="core", noise_multiplier=2.0)], **asked)
    shown = " ".join(dplda("budget", "show", "fresh").out.split())
    assert "those listed before the first output: epsilon 4 at delta 3e-06" in shown
    assert "epsilon 4 at delta 1e-06 holds" in shown


@pytest.mark.parametrize("wrong", [["--epsilon", 2, "--delta", 1e-6, "--then", 1], ["--unbounded", "--then", 1]])
def test_levels_that_do_not_rise_are_refused(dplda, wrong: list[object]) -> None:
    assert dplda("budget", "grant", "fresh", *wrong).status == 2
    assert dplda("budget", "show", "--json").json == {"datasets": []}


def test_a_grant_that_promises_little_says_so(dplda) -> None:
    usual = dplda("budget", "grant", "a", "--epsilon", 10, "--delta", 1e-5)
    assert "promises little" not in usual.out + usual.err
    assert "is large" not in usual.out + usual.err
    much = dplda("budget", "grant", "a", "--epsilon", 4, "--then", 20, "--delta", 0.001).out
    assert "Epsilon 20 promises little: an attacker who knows all other data may tell, in up to 9" in much
    assert "Delta 0.001 is large with more than 1,000 units" in much


def test_a_grant_for_a_name_without_runs_names_the_one_that_is_like_it(dplda, saved: str) -> None:
    meant = "No such dataset yet: reviws (did you mean reviews?)."
    assert meant in dplda("budget", "grant", "reviws", "--epsilon", 4, "--delta", 1e-6).out
    for name in ("reviews", "letters"):
        assert "did you mean" not in dplda("budget", "grant", name, "--epsilon", 4, "--delta", 1e-6).out


def test_grants_that_may_be_a_slip_are_told(dplda) -> None:
    assert (
        "give your runs --delta 1e-08" in dplda("budget", "grant", "tickets", "--epsilon", "1", "--delta", "1e-8").out
    )
    told = dplda("budget", "grant", "ticket", "--epsilon", "1", "--delta", "1e-6").out
    assert "There is also a grant for tickets" in told
    assert "--delta" not in told


def test_an_unbounded_grant_says_so(dplda) -> None:
    assert "unbounded" in dplda("budget", "grant", "toys", "--unbounded").out
    assert dplda("budget", "grant", "toys", "--unbounded", "--json").json["grant"]["unbounded"] is True


@pytest.mark.parametrize(("epsilon", "delta"), [("nan", "1e-6"), ("-1", "1e-6"), ("1", "0"), ("1", "2")])
def test_a_grant_out_of_range_is_refused_and_not_recorded(dplda, epsilon: str, delta: str) -> None:
    assert dplda("budget", "grant", "reviews", "--epsilon", epsilon, "--delta", delta).status == 2
    assert dplda("budget", "show", "--json").json == {"datasets": []}


def test_verify_finds_an_intact_ledger_intact(dplda, saved: str) -> None:
    assert "intact" in dplda("budget", "verify").out
    record = dplda("budget", "verify", "--json").json
    assert record["ok"] is True
    assert record["length"] > 0


def test_verify_ends_with_2_for_an_altered_ledger(dplda, saved: str, home: Path) -> None:
    with sqlite3.connect(home / "ledger.db") as connection:
        (table,) = connection.execute(
            "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE c.name = 'epsilon' "
            "AND m.name LIKE '%run%'"
        ).fetchone()
        connection.execute(f"UPDATE {table} SET epsilon = 0.01")
    connection.close()
    answer = dplda("budget", "verify")
    assert answer.status == 2
    assert saved in answer.out
    assert answer.err.count("\n") == 1
    assert dplda("budget", "verify", "--json").json["ok"] is False


@pytest.fixture
def older(dplda, saved: str, home: Path) -> Path:
    """A folder in which an older copy of the ledger was put back."""
    content = (home / "ledger.db").read_bytes()
    assert dplda("budget", "grant", "reviews", "--epsilon", "9", "--delta", "1e-6").status == 0
    (home / "ledger.db").write_bytes(content)
    return home


def test_every_command_ends_with_2_and_one_line_for_an_older_copy(dplda, older: Path) -> None:
    for command in (["budget", "show"], ["budget", "verify"], ["runs"], ["budget", "grant", "reviews", "--unbounded"]):
        answer = dplda(*command)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith("dplda: The ledger ")
        assert "is an older copy: it has " in answer.err
        assert answer.err.endswith("or, if it is lost: dplda budget accept-copy\n")
        assert answer.err.count("\n") == 1


def test_verify_tells_what_the_witness_knows(dplda, saved: str, witness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = dplda("budget", "verify", "--json").json
    assert record["witness"] == {"place": str(witness), "length": record["length"]}
    assert f"{witness} knows of {record['length']} of them" in dplda("budget", "verify").out
    monkeypatch.setenv("DPLDA_WITNESS", "off")
    assert "Its witness is off" in dplda("budget", "verify").out
    monkeypatch.setenv("DPLDA_WITNESS", str(saved and witness.parent))
    assert "does not know it yet" in dplda("budget", "verify").out


def test_an_older_copy_is_accepted_only_when_asked_for(dplda, older: Path) -> None:
    answer = dplda("budget", "accept-copy")
    assert answer.status == 2
    assert "add --yes" in answer.err
    assert dplda("budget", "show").status == 2
    answer = dplda("budget", "accept-copy", "--yes")
    assert answer.status == 0
    assert "is accepted" in answer.out
    assert "every grant lapsed" in dplda("budget", "show").out
    assert "every grant lapsed" in dplda("budget", "history", "reviews").out
    assert dplda("budget", "grant", "reviews", "--epsilon", "9", "--delta", "1e-6").status == 0
    assert "No guarantee: an older copy" in dplda("budget", "grant", "reviews", "--unbounded").out
    assert dplda("budget", "accept-copy", "--yes").status == 2


def test_accepting_tells_programs_what_was_accepted(dplda, older: Path) -> None:
    record = dplda("budget", "accept-copy", "--yes", "--json").json
    assert record["witness"]["length"] == record["accepted"] + 1


def test_a_grant_for_a_path_is_refused_and_names_the_dataset(dplda, home: Path) -> None:
    (home / "my letters").mkdir()
    (home / "notes.csv").write_text("text\na\n")
    for path, name in (("./my letters", "'my letters'"), ("notes.csv", "notes"), ("elsewhere/other.jsonl", "other")):
        answer = dplda("budget", "grant", path, "--epsilon", 4, "--delta", 1e-6)
        assert answer.status == 2
        assert f"dplda budget grant {name} ..." in answer.err
    assert dplda("budget", "show", "--json").json == {"datasets": []}
    assert dplda("budget", "grant", "notes", "--epsilon", 4, "--delta", 1e-6).status == 0
