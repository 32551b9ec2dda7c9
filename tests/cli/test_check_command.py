from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplda.base.config import DEFAULT_GRANT
from dplda.budget.accountant import capacity
from dplda.runs.corpus import read_corpus
from dplda.text.language_guess import guess_language

GERMAN = "Das ist nicht die Lieferung, die ich bei Ihnen bestellt habe, und sie ist auch noch kaputt"
SECRET = "haemorrhage"
MORE_RUNS = int(capacity(*DEFAULT_GRANT).mu_squared / capacity(2.0, 1e-6).mu_squared) - 1  # at epsilon 2, after one
FOR_FEW = "--topics 5 --epsilon 4"  # proposed for fewer than 1,500 documents or people
WITH_PRIOR = f"{FOR_FEW} --prior PUBLIC.jsonl --public-prior"  # if they are too few without public text


def write_csv(path: Path, n: int = 2000, text: str = GERMAN) -> Path:
    rows = [f"{number % 400};{text} {number};7,5" for number in range(n)]
    path.write_text("\n".join(["Kunde;Beschwerde;Betrag", *rows, ""]))
    return path


def test_the_columns_the_options_and_the_next_command_are_shown(dplda, home: Path) -> None:
    write_csv(home / "k.csv")
    answer = dplda("check", "k.csv")
    assert answer.status == 0
    assert "not private" in answer.out.splitlines()[0]
    assert "about 2,000 records" in answer.out
    assert "'Kunde' seems to name people" in answer.out
    expected = f"  dplda fit k.csv --text-field Beschwerde --language de --unit-field Kunde {WITH_PRIOR}"
    assert answer.out.splitlines()[-1] == expected  # for few people
    assert "different values in the first 1,000 records)" in answer.out
    assert answer.err == ""
    assert sorted(path.name for path in home.iterdir()) == ["k.csv"]  # no ledger, no cache, no log


def test_values_are_shown_on_a_screen_only_and_never_in_the_json(dplda, home: Path, monkeypatch) -> None:
    write_csv(home / "k.csv", text=f"{SECRET} {GERMAN}")
    answer = dplda("check", "k.csv", "--unit-field", "Kunde", "--json")
    record = answer.json
    assert SECRET not in answer.out
    assert SECRET not in dplda("check", "k.csv").out  # which may be a log
    monkeypatch.setattr("dplda.cli.check_command._is_screen", lambda: True)
    assert SECRET in dplda("check", "k.csv").out  # the screen shows it, marked as private
    assert (record["local"], record["format"], record["records"], record["sampled_records"]) == (
        True,
        "csv",
        None,
        1000,
    )
    assert record["estimated_records"] == pytest.approx(2000, rel=0.05)
    assert [column["name"] for column in record["columns"]] == ["Kunde", "Beschwerde", "Betrag"]
    assert [column["type"] for column in record["columns"]] == ["number", "text", "number"]
    assert record["command"] == f"dplda fit k.csv --unit-field Kunde --text-field Beschwerde --language de {WITH_PRIOR}"


def test_names_that_may_be_a_document_are_shown_on_a_screen_only(dplda, home: Path, monkeypatch) -> None:
    (home / "bare.csv").write_text(f'1,"{SECRET} said it all, and more than that"\n2,other\n')
    assert SECRET not in dplda("check", "bare.csv", "--json").out
    assert SECRET not in dplda("check", "bare.csv").out
    assert "columns have no plain names" in dplda("check", "bare.csv").out
    monkeypatch.setattr("dplda.cli.check_command._is_screen", lambda: True)
    assert SECRET in dplda("check", "bare.csv").out
    assert SECRET not in dplda("check", "bare.csv", "--json").out


def test_a_column_that_may_name_people_is_a_candidate_and_no_more(dplda, home: Path) -> None:
    rows = [f"{number % 400};{GERMAN} {number}" for number in range(2000)]
    (home / "k.csv").write_text("\n".join(["Nummer;Beschwerde", *rows, ""]))
    answer = dplda("check", "k.csv")
    assert "candidates: Nummer." in answer.out
    assert "--unit-field Nummer" not in answer.out


def test_a_folder_has_no_people_and_says_so(dplda, home: Path) -> None:
    (home / "notes").mkdir()
    for number in range(9):
        (home / "notes" / f"{number}.txt").write_text(GERMAN)
    assert "each file is one document" in dplda("check", "notes").out


def test_a_dry_run_prices_the_run_and_refuses_what_the_budget_does_not_allow(dplda, home: Path) -> None:
    write_csv(home / "k.csv")
    run = ("fit", "k.csv", "--text-field", "Beschwerde", "--dry-run", "--epsilon")
    grant = "epsilon {:g}, delta {:g}".format(*DEFAULT_GRANT)
    price = rf"takes? .* of the budget of dataset k \({grant}\), which leaves room for about {MORE_RUNS} more"
    assert re.search(price, answer := dplda(*run, 2).out)
    assert "dplda budget grant k --epsilon E --delta D" in answer
    assert "Before the first run, fix what all runs together may spend" not in answer, "that is for checks"
    assert "No total was fixed" not in dplda(*run, 2, "--simulate").out
    assert "This run has delta" not in dplda(*run, 2, "--delta", 1e-5).out
    assert "This run has delta 0.0001, and the grant of k has 1e-05" in dplda(*run, 2, "--delta", 1e-4).out
    assert not list(home.glob("**/ledger.db"))
    assert dplda("budget", "grant", "k", "--epsilon", 1, "--delta", 1e-5).status == 0
    refused = dplda(*run, 2)
    assert (refused.status, "cannot pay for this run" in refused.err) == (3, True)
    assert "budget grant" not in dplda(*run, 0.5).out, "the total is fixed already"
    assert dplda("budget", "grant", "k", "--unbounded").status == 0
    assert "may spend without limit" in dplda(*run, 2).out


def test_a_first_line_that_is_a_document_is_not_shown_as_a_name_of_people(dplda, home: Path) -> None:
    rows = "".join(f"some words here {n},answer {n % 3}\n" for n in range(400))
    (home / "n.csv").write_text(f"I have had pain,my name is {SECRET} and I am ill\n{rows}")
    for more in (("check",), ("check", "--json"), ("fit", "--dry-run"), ("fit", "--dry-run", "--json")):
        answer = dplda(more[0], "n.csv", *more[1:])
        assert SECRET not in answer.out + answer.err


def test_files_that_cannot_be_read_are_told_and_named_on_a_screen_alone(dplda, home: Path, monkeypatch) -> None:
    (home / "letters").mkdir()
    for i in range(9):
        (home / f"letters/smith{i}.txt").write_text("Chest pain after dinner, better on rest. " * 9)
    (home / "letters/smith4.txt").write_bytes(bytes(range(256)))
    (home / "letters/smith6.txt").write_bytes(bytes(range(256)))
    told = dplda("check", "letters")
    assert "2 (file 5: not text in a known encoding, file 7: " in told.out
    assert "smith" not in told.out
    monkeypatch.setattr("dplda.cli.check_command._is_screen", lambda: True)
    assert "2 (smith4.txt: not text in a known encoding, smith6.txt: " in dplda("check", "letters").out


def test_a_folder_is_judged_in_a_pipe_too(dplda, home: Path) -> None:
    (home / "de").mkdir()
    for number in range(9):
        (home / "de" / f"{number}.txt").write_text(GERMAN)
    record = dplda("check", "de", "--json").json
    assert record["language"] == "de"
    assert record["command"] == f"dplda fit de --language de {FOR_FEW}"
    priced = dplda("fit", "de", "--dry-run", "--json").json
    assert f"leaves room for about {MORE_RUNS} more" in priced["price"]


def test_a_unit_that_was_chosen_is_kept(dplda, home: Path) -> None:
    write_csv(home / "k.csv")
    typed = ("fit", "k.csv", "--text-field", "Beschwerde", "--dry-run")
    assert "--unit-field" not in dplda(*typed, "--unit", "document").out
    proposed = dplda(*typed).out
    assert "'Kunde' seems to name people" in proposed
    assert "--unit-field" not in proposed.splitlines()[-1], "a dry run is of what was typed"
    assert "--unit-field Kunde" in dplda("check", "k.csv").out.splitlines()[-1]


def test_the_price_counts_failure_probabilities_and_datasets_that_share_documents(dplda, home: Path) -> None:
    write_csv(home / "k.csv")
    shown = dplda("fit", "k.csv", "--text-field", "Beschwerde", "--dry-run", "--epsilon", "0.3").out
    assert "room for about 99 more" in shown  # 1e-9 each, of 1e-7


def test_fields_of_few_records_are_counted_and_not_named(dplda, home: Path) -> None:
    (home / "odd.jsonl").write_text(jsonl({"text": "a b c"}, {"text": "a b c", SECRET: 1}, {"text": "b c d"}))
    answer = dplda("check", "odd.jsonl", "--json")
    assert SECRET not in answer.out
    assert [column["name"] for column in answer.json["columns"]] == ["text"]
    assert "1 other fields occur in fewer than half" in answer.out


def test_the_command_that_is_shown_passes_the_public_checks(dplda, home: Path) -> None:
    write_csv(home / "a b.csv")
    words = dplda("check", "a b.csv", "--json").json["command"]
    assert words.startswith("dplda fit 'a b.csv'")
    assert dplda("corpus", "info", "a b.csv", "--text-field", "Beschwerde", "--language", "de").status == 0


def jsonl(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("name", "content", "options", "told"),
    [
        ("x.csv", "id,text\n", [], "There are no records"),
        ("x.csv", "id,text\n1,a b c\n", ["--text-field", "body"], "text_field 'body' is not a column"),
        ("x.csv", "id,text\n1,7\n", [], "'text' holds number, not text"),
        ("x.jsonl", jsonl({"text": ["a"]}, {"text": ["b"]}), [], "'text' holds list, not text"),
        ("x.jsonl", jsonl({"text": None}), [], "'text' has no values"),
        ("x.jsonl", jsonl({"text": "a", "u": None}), ["--unit-field", "u"], "'u' has no values"),
        ("x.json", '{\n "data": []\n}', [], "None of the first records can be read"),
        ("x.json", '[{"text": "a"}, {', [], "not well-formed JSON"),
        ("x.csv", 'id,text\n1,5" x\n', [], "not well-formed CSV"),
        ("x.txt", "words", [], "give --format lines"),
        ("x.xyz", "words", [], "cannot be told from its name"),
    ],
)
def test_what_would_make_a_fit_fail_is_a_problem(
    dplda, home: Path, name: str, content: str, options: list[str], told: str
) -> None:
    (home / name).write_text(content)
    answer = dplda("check", name, *options, "--json")
    assert answer.status == 2
    assert told in " ".join(answer.json["problems"])
    assert answer.json["command"] is None
    assert f"Problem: {answer.json['problems'][0]}" in dplda("check", name, *options).out


def test_half_a_surrogate_pair_is_checked_like_other_text(dplda, home: Path) -> None:
    (home / "x.txt").write_bytes(b"apple \xed\xa0\x80 pear\n" * 3)
    assert dplda("check", "x.txt", "--format", "lines").status == 0


def test_parquet_types_are_judged(dplda, home: Path) -> None:
    table = pa.table({"text": pa.nulls(2), "tags": [["a"], ["b"]], "words": ["the one", "the other"]})
    pq.write_table(table, home / "x.parquet")
    record = dplda("check", "x.parquet", "--json").json
    assert record["records"] == 2
    assert [column["type"] for column in record["columns"]] == ["null", "list<element: string>", "string"]
    assert record["problems"]


def test_a_folder_of_office_documents_is_a_problem(dplda, home: Path) -> None:
    (home / "d").mkdir()
    for name in ("a.doc", "b.pptx", "c.txt"):
        (home / "d" / name).write_text("x y z")
    answer = dplda("check", "d")
    assert answer.status == 2
    assert "1 .doc, 1 .pptx" in answer.out
    assert dplda("check", "d", "--pattern", "*.txt").status == 0


@pytest.mark.parametrize(("ids", "status"), [((2**53 + 1, 2**53, 7), 0), ((2.0**53, 1e16, 1e17), 2)])
def test_rounded_numbers_of_persons_are_told(dplda, home: Path, ids: tuple[float, ...], status: int) -> None:
    """Persons' numbers that a program has written as floating-point numbers may be those of others."""
    (home / "x.jsonl").write_text(jsonl(*({"text": "the one and only", "u": u} for u in (*ids, float(ids[0])))))
    answer = dplda("check", "x.jsonl", "--unit-field", "u")
    assert answer.status == status
    told = "4 of the first 4 records have" if status else "1 of the first 4 records has"
    assert f"{told} a value in 'u' that names no unit" in answer.out


def test_a_grant_under_another_spelling_is_refused_and_a_weak_one_noted(dplda, home: Path) -> None:
    write_csv(home / "letters.csv")
    dry = ("fit", "letters.csv", "--text-field", "Beschwerde", "--language", "de", "--dry-run")
    assert "another spelling" not in dplda(*dry).out
    dplda("budget", "grant", "leters", "--epsilon", 4, "--delta", 1e-6)
    refused = dplda(*dry)
    assert refused.status == 3
    assert "There is one for leters, which no run has charged. Is that another spelling?" in refused.err
    assert dplda(*dry[:-1]).status == 3
    assert "--epsilon 10 --delta 1e-05" in refused.err
    dplda("budget", "grant", "letters", "--epsilon", 40, "--delta", 0.01)
    weak = dplda(*dry, "--epsilon", 12, "--delta", 0.01).out
    assert "another spelling" not in weak
    assert re.search(r"Epsilon 1[12][.\d]* promises little", weak)
    assert re.search(r"Delta 0.01 is large with about [12],\d\d\d units", weak)


def test_what_seems_wrong_with_columns_is_noted(dplda, home: Path) -> None:
    def notes(rows: list[dict[str, object]], *options: str) -> str:
        (home / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(dplda("check", "r.jsonl", *options).out)

    rows = [
        {"id": i, "day": f"2024-05-{i % 28 + 1:02}", "kind": f"k{i % 3}", "text": f"{GERMAN} {i}"} for i in range(500)
    ]
    usual = notes(rows)
    for unusual in ("looks like a category", "repeat the text", "that an earlier one has", "in ISO 8601"):
        assert unusual not in usual
    assert "candidates: day" not in usual  # dates are no people
    assert "Column 'kind' looks like a category rather than text: it has 3 different" in notes(
        rows, "--text-field", "kind"
    )
    twice = [*rows, *rows[:60]]
    assert "60 of the first 560 records repeat the text of an earlier one." in notes(twice)
    empty = notes([*rows, *({"id": 500 + i, "kind": "k0", "text": "-- 1"} for i in range(60))])
    assert "60 of the first 560 records hold no word" in empty
    assert "repeat the text" not in empty
    assert "60 of the first 560 records have an id ('id') that an earlier one has. Each still counts" in notes(twice)
    assert "Records with the same id count as one document." in notes(twice, "--id-field", "id")
    told = notes([row | {"day": f"{i % 28 + 1}.5.2024"} for i, row in enumerate(rows)])
    assert "Not all dates in 'day' are in ISO 8601: to tabulate, give --date-format %d.%m.%Y." in told
    assert "candidates: day" not in told


def test_copies_beyond_the_first_records_are_counted_in_all_of_a_small_collection(dplda, home: Path) -> None:
    for folder, first in (("a", 0), ("b", 0), ("c", 1000)):
        (home / "letters" / folder).mkdir(parents=True)
        for i in range(first, first + 600):
            (home / "letters" / folder / f"{i}.txt").write_text(f"the letter {i} of somebody")
    told = " ".join(dplda("check", "letters", "--json").json["remarks"])
    assert "600 of all 1,800 texts repeat the text of an earlier one. Each counts" in told
    rows = [{"who": f"p{i % 40}", "title": "a", "text": f"the text {i % 1200} of it"} for i in range(1260)]
    (home / "r.jsonl").write_text(jsonl(*rows))
    given = ("--text-field", "title", "--text-field", "text")
    told = " ".join(dplda("check", "r.jsonl", *given, "--json").json["remarks"])
    assert "60 of all 1,260 texts repeat the text of an earlier one. Each counts" in told
    told = " ".join(dplda("check", "r.jsonl", *given, "--unit-field", "who", "--json").json["remarks"])
    assert "repeat the text" not in told, "the copies are of the same people"


def test_copies_are_told_by_whom_they_count_for(dplda, home: Path) -> None:
    rows = [{"id": i, "who": f"p{i % 40}", "text": f"the text {i} of it"} for i in range(100)]
    (home / "r.jsonl").write_text(jsonl(*rows, rows[0] | {"id": 100}, rows[1] | {"who": "p5"}))

    def told(*options: str) -> str:
        (line,) = [each for each in dplda("check", "r.jsonl", "--json", *options).json["remarks"] if "repeat" in each]
        return str(line)

    assert "2 of the first 102 records repeat the text of an earlier one. Each" in told()
    assert told().endswith("name the column of ids (--id-field) or people (--unit-field) that the copies share.")
    assert "1 of the first 102 records repeats the text of an earlier one with another 'who'." in told(
        "--unit-field", "who"
    )
    assert told("--unit-field", "who").endswith("is protected less: remove copies.")
    assert "1 of the first 102 records repeats the text of an earlier one with another 'id'." in told(
        "--id-field", "id"
    )
    assert told("--id-field", "id").endswith("or name the column of people (--unit-field) that the copies share.")


def test_people_are_counted_or_said_to_be_estimated(dplda, home: Path, monkeypatch) -> None:
    """The first records are of few people, and the others of one more each."""
    rows = [{"text": GERMAN, "u": number % 300 if number < 1500 else number} for number in range(3000)]
    (home / "x.jsonl").write_text(jsonl(*rows))
    for command in (("check",), ("fit", "--dry-run")):
        counted = dplda(*command, "x.jsonl", "--unit-field", "u").out
        assert "bout 1,800 different values of 'u'" in counted
        assert "estimated from the first 1,000 records: about" not in counted
    monkeypatch.setattr("dplda.text.sampling._COUNTED_RECORDS", 1000)
    told = "different values of 'u' is estimated from the first 1,000 records: about 300, and may be from 300 to 2,"
    assert told in dplda("check", "x.jsonl", "--unit-field", "u").out


def test_few_documents_and_missing_units_are_noted(dplda, home: Path) -> None:
    (home / "x.jsonl").write_text(
        jsonl({"text": "the one and only", "u": 1}, {"text": "the other", "u": None}, {"u": 2})
    )
    answer = dplda("check", "x.jsonl", "--unit-field", "u")
    assert answer.status == 0
    for told in (
        "Do not run this: about 2 different values of 'u' are too few for 5 topics at epsilon 4",
        "1 of the first 3 records has no unit and contributes nothing",
        "1 of the first 3 records has no text in",
    ):
        assert told in answer.out


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The cat sat on the mat and it was not amused by what they had to say about this " * 3, "en"),
        (GERMAN * 3, "de"),
        ("Je ne suis pas content de la livraison que vous avez faite dans la semaine pour nous " * 3, "fr"),
        ("No estoy contento con el pedido que me han enviado porque la caja estaba muy rota y sin los " * 3, "es"),
        ("我喜歡學習機器學習和自然語言處理", "zh"),
        ("自然言語処理を勉強しています", "ja"),
        ("ผมชอบเรียนภาษาไทย", "th"),
        ("Мне не понравился этот заказ", "ru"),
        ("xkq zzt qwv " * 20, None),
        ("", None),
    ],
)
def test_the_language_is_guessed_from_script_and_stop_words(text: str, language: str | None) -> None:
    assert guess_language([text]) == language


def test_text_without_spaces_is_noted(dplda, home: Path) -> None:
    (home / "x.jsonl").write_text(jsonl({"text": "我喜歡學習機器學習和自然語言處理"}))
    answer = dplda("check", "x.jsonl")
    assert "does not separate words by white space" in answer.out
    assert "of fewer than three words" not in answer.out
    assert "--language zh" in answer.out


def test_a_store_and_several_files_can_be_checked(dplda, home: Path) -> None:
    write_csv(home / "k-1.csv", 10)
    write_csv(home / "k-2.csv", 10)
    record = dplda("check", "k-1.csv", "k-2.csv", "--json").json
    assert (record["files"], record["records"]) == (2, 20)
    assert record["command"].startswith("dplda fit k-1.csv k-2.csv ")
    assert dplda("check", "k-*.csv", "--json").json["command"].startswith("dplda fit 'k-*.csv' ")
    assert dplda("corpus", "import", "k-*.csv", "store", "--text-field", "Beschwerde").status == 0
    assert dplda("check", "store", "--json").json["command"] == "dplda fit store"
    assert dplda("check", "-").status == 2


def test_a_dry_run_checks_settings_too_and_reserves_nothing(dplda, home: Path) -> None:
    write_csv(home / "k.csv")
    answer = dplda("fit", "k.csv", "--unit", "Kunde", "--topics", 5, "--epsilon", 3, "--dry-run", "--json")
    assert answer.status == 0
    assert answer.json["command"] == (
        "dplda fit k.csv --unit-field Kunde --text-field Beschwerde --language de --topics 5 --epsilon 3.0"
    )
    refused = dplda("fit", "k.csv", "--dry-run", "--epsilon", -1)
    assert refused.status == 2
    assert "epsilon must be" in refused.err
    assert dplda("fit", "k.csv", "--dry-run", "--text-field", "Betrag").status == 2
    assert sorted(path.name for path in home.iterdir()) == ["k.csv"]


@pytest.mark.full
def test_names_of_persons_are_mentioned_and_lists_of_stop_words_can_be_repeated(dplda, home: Path) -> None:
    (home / "a.csv").write_text("text\n" + "the letter of John about the movie and the heating\n" * 3)
    (home / "more.txt").write_text("movie\n")
    stopwords = ("--stopwords", "names", "--stopwords", "more.txt")
    assert "can be left out with --stopwords names" in dplda("check", "a.csv").out
    assert "--stopwords" not in dplda("check", "a.csv", "--json").json["command"]
    assert dplda("check", "a.csv", *stopwords, "--json").json["command"].endswith(" ".join((*stopwords, FOR_FEW)))
    assert dplda("corpus", "import", "a.csv", "store", *stopwords, "-q").status == 0
    assert set(read_corpus("store").open().words.to_pylist()) == {"letter", "heating"}
    refused = dplda("check", "a.csv", "--stopwords", "names:latin")
    assert (refused.status, "There is no list of names 'latin'" in refused.out) == (2, True)


@pytest.mark.parametrize(
    ("column", "value", "proposed"),
    [
        ("Subject", "printer number {} on fire", "--text-field Subject --text-field Description"),
        ("Subject", "printer on fire", "--text-field Description"),  # a category
        ("Title", "{}", "--text-field Description"),  # a number
        ("Betreff", "T-{}", "--text-field Description"),  # an id
        ("Remark", "printer number {} on fire", "--text-field Description"),  # no title
    ],
)
def test_a_column_of_titles_is_proposed_as_text(dplda, home: Path, column: str, value: str, proposed: str) -> None:
    rows = [f"{value.format(n)},the paper does not come out and it is not the ink" for n in range(400)]
    (home / "t.csv").write_text("\n".join([f"{column},Description", *rows, ""]))
    assert dplda("check", "t.csv", "--json").json["command"] == f"dplda fit t.csv {proposed} {WITH_PRIOR}"


def test_every_named_column_of_the_text_is_judged(dplda, home: Path) -> None:
    (home / "t.csv").write_text("Subject,Body,No\n" + "help,the rain in Spain stays,1\n" * 350 + ",,2\n" * 50)
    both = ("--text-field", "Subject", "--text-field", "Body")
    record = dplda("check", "t.csv", *both, "--json").json
    assert record["text_field"] == ["Subject", "Body"]
    assert (
        "50 of the first 400 records have no text in 'Subject' and 'Body' and contribute nothing." in record["remarks"]
    )
    assert record["command"] == f"dplda fit t.csv {' '.join(both)} {WITH_PRIOR}"
    answer = dplda("check", "t.csv", "--text-field", "Body", "--text-field", "No", "--json")
    assert (answer.status, answer.json["problems"]) == (
        2,
        ["Column 'No' holds number, not text. Name another with --text-field."],
    )


def test_the_settings_that_are_most_likely_to_give_topics_are_proposed(dplda, home: Path) -> None:
    for number, settings in ((700, "--topics 5 --epsilon 4"), (3000, "--topics 8 --epsilon 4"), (20_000, "")):
        (home / "x.jsonl").write_text(jsonl(*({"text": f"the one and only {n}"} for n in range(number))))
        record = dplda("check", "x.jsonl", "--json").json
        assert record["command"] == f"dplda fit x.jsonl {settings}".rstrip()
        assert record["condition"] == ("If hints are enough" if number == 700 else None)
    (home / "x.jsonl").write_text(jsonl(*({"text": f"the one and only {n}"} for n in range(300))))
    record = dplda("check", "x.jsonl", "--json").json
    assert record["command"] == f"dplda fit x.jsonl {WITH_PRIOR}"
    assert record["condition"] == "Once there is public text, PUBLIC.jsonl"
    assert dplda("check", "x.jsonl").out.splitlines()[-2] == "Once there is public text, PUBLIC.jsonl:"


@pytest.mark.parametrize(
    ("n_units", "told"),
    [
        (60, "they are too few for topics."),
        (140, "they are too few for topics, except those of public text"),
        (700, "about 1 of 5 topics would stand out at epsilon"),
        (1500, "about 3 of 5 topics would stand out at epsilon 4 if the texts are about many subjects, about 1 if"),
        (8000, "all 8 topics would stand out at epsilon 4 if the texts are about many subjects, about 8 if"),
    ],
)
def test_a_column_that_may_be_the_unit_is_judged_before_the_first_run(dplda, home, n_units, told) -> None:
    (home / "x.jsonl").write_text(
        jsonl(*({"reporter": f"r{n // 2}", "text": f"the one {n}"} for n in range(2 * n_units)))
    )
    record = dplda("check", "x.jsonl", "--json").json
    assert record["unit_candidates"] == ["reporter"]
    (line,) = [each for each in record["remarks"] if "As units" in each]
    assert line.startswith("Column 'reporter' has about ")
    assert f" different values. As units, {told}" in line
    if n_units == 8000:
        assert (
            dplda("check", "x.jsonl", "--json", "--unit-field", "reporter")
            .json["command"]
            .endswith("--unit-field reporter --topics 8 --epsilon 4")
        ), "what it proposes for that unit"
    assert "As units" not in " ".join(dplda("check", "x.jsonl", "--json", "--unit-field", "reporter").json["remarks"])
    assert "As units" not in " ".join(dplda("fit", "x.jsonl", "--dry-run", "--json").json["remarks"])


def test_a_dry_run_tells_what_to_expect_of_its_settings(dplda, home: Path) -> None:
    (home / "x.jsonl").write_text(jsonl(*({"text": f"the one and only {n}"} for n in range(3000))))

    def remark(*typed: str | int) -> str:
        record = dplda("fit", "x.jsonl", "--dry-run", "--json", *typed).json
        assert record["command"] == " ".join(map(str, ("dplda fit x.jsonl", *typed)))
        return " ".join(record["remarks"])

    assert "for 20 topics at epsilon 2. The run ends with topics, but" in remark()
    assert "What helps: --topics 8 --epsilon 4, if so much is left, instead; or --topics 4 at this" in remark()
    assert "What helps: --epsilon 4, if so much is left, instead; or" in remark("--topics", 8, "--epsilon", 1.0)
    assert "What helps: --topics 8 instead; or" in remark("--topics", 30, "--epsilon", 4.0)
    assert "Do not run this: about 3,100 documents are too few for 20 topics at epsilon 0.1" in remark("--epsilon", 0.1)
    assert "expect topics called weak, which are hints: " in remark("--topics", 8, "--epsilon", 4.0)
    assert "Expect topics called weak or noise" in remark("--topics", 12, "--epsilon", 1.5)
    assert "expect topics of which some are called clear" in remark("--topics", 5, "--epsilon", 8.0)
    assert "expect topics" not in remark("--placement", "config1")


def test_people_who_are_too_few_for_topics_can_be_counted(dplda, home: Path) -> None:
    rows = [{"text": f"the one and only {n}", "who": f"w{n % 140}"} for n in range(3000)]
    (home / "x.jsonl").write_text(jsonl(*rows))
    told = " ".join(dplda("check", "x.jsonl", "--unit-field", "who", "--json").json["remarks"])
    assert "Far fewer are enough for counts: `dplda count --persons`" in told
    plan = dplda("plan", "--documents", 140, "--topics", 5, "--epsilon", 4).out
    one, many = re.findall(r"([0-9,]+) documents would be enough for all 5", plan)
    enough = f"about {many} of them if the texts are about many subjects, {one} if they are about one, for all 5"
    assert enough in told, "what the forecast says, under the same conditions"
    assert "dplda count" not in " ".join(dplda("check", "x.jsonl", "--json").json["remarks"])


def test_a_folder_of_empty_files_is_a_problem(dplda, home: Path) -> None:
    (home / "empty").mkdir()
    for name in ("a.txt", "b.txt"):
        (home / "empty" / name).touch()
    answer = dplda("check", "empty")
    assert answer.status == 2
    assert "None of the first 2 records holds any text." in answer.out


def test_a_headline_that_begins_the_text_is_no_second_text_and_html_is_told(dplda, home: Path) -> None:
    words = ["prices", "rose", "again", "markets", "oil", "games", "final", "minister", "vote", "rain"]
    rows = [f"number {i} said {' '.join(words[(i + j) % 10] for j in range(25))}" for i in range(200)]
    for name, head in (("own", lambda row: f"{row[60:90]} {row[:11]}"), ("cut", lambda row: f"{row[:40]} ...")):
        lines = [json.dumps({"headline": head(row), "article": row}) for row in rows]
        (home / f"{name}.jsonl").write_text("\n".join(lines))
    assert "--text-field headline --text-field article" in dplda("check", "own.jsonl").out
    cut = dplda("check", "cut.jsonl").out
    assert ("--text-field article" in cut, "--text-field headline" in cut) == (True, False)
    assert "HTML" not in cut
    for mark in ("&lt;FONT&gt;", "it #39;s", "quot;well", '<FONT face="arial">', "<b>"):
        lines = [json.dumps({"text": f"{row} {mark}"}) for row in rows]
        (home / "html.jsonl").write_text("\n".join(lines))
        assert "100% of the texts hold HTML" in " ".join(dplda("check", "html.jsonl").out.split()), mark
    lines = [json.dumps({"title": row[:9], "text": "<b>"[: 3 * (n % 4 == 0)] + row}) for n, row in enumerate(rows)]
    (home / "html.jsonl").write_text("\n".join(lines))
    both = dplda("check", "html.jsonl", "--text-field", "title", "--text-field", "text").out
    assert "25% of the texts hold HTML" in " ".join(both.split())


def test_a_folder_with_a_file_of_the_name_of_a_store_is_none(dplda, home: Path) -> None:
    (home / "letters").mkdir()
    for n in range(30):
        (home / "letters" / f"{n}.txt").write_text(f"letter {n} about pain and sleep")
    (home / "letters" / "meta.json").write_text("{}")
    seen = dplda("check", "letters", "--pattern", "*.txt").out
    assert "30 records; format folder" in seen
    assert "prepared store" not in seen
    assert "mixes kinds of files" in dplda("check", "letters").out
    dplda("corpus", "import", "letters", "store", "--pattern", "*.txt")
    assert "This is a prepared store" in dplda("check", "store").out


def test_dates_that_fit_no_format_are_told(dplda, home: Path) -> None:
    for broken, told in ((0, ""), (30, "Of the first, 15% are in no such format.")):
        days = [f"{1 + n % 28}/{1 + n % 12}/2023" if n >= broken else "31/02/2023" for n in range(200)]
        lines = [json.dumps({"day": day, "text": f"some longer text about number {n}"}) for n, day in enumerate(days)]
        (home / "d.jsonl").write_text("\n".join(lines))
        seen = " ".join(dplda("check", "d.jsonl").out.split())
        assert "Not all dates in 'day' are in ISO 8601: to tabulate, give --date-format %d/%m/%Y." in seen
        assert (told in seen, "in no such format" in seen) == (True, bool(broken))
