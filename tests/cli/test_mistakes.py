"""Ordinary mistakes: what public facts show reserves nothing; what only the documents show costs 0.1 % of a run."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from full_helpers import full_after

import dplda as package
from dplda.budget.accountant import cost

_WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]
_HOPELESS = "too few at epsilon"


def _texts(n: int) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(_WORDS, [1 / (i + 1) for i in range(400)], k=40)) for _ in range(n)]


def _write(path: Path, rows: list[str]) -> None:
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, texts = tmp_path_factory.mktemp("mistakes"), _texts(2000)
    _write(folder / "good.csv", ["text,who", *(f"{text},{i}" for i, text in enumerate(texts))])
    _write(folder / "numbers.csv", ["id,text", *(f"{i},{7 * i}" for i in range(2000))])
    _write(folder / "header.csv", ["id,text"])
    _write(folder / "ten.csv", ["text", *texts[:10]])
    _write(folder / "nobody.csv", ["text,who", *(f"{text}," for text in texts)])
    _write(folder / "notes.txt", texts)
    _write(folder / "three", ["apple", "banana", "cherry"])
    _write(folder / "codes", [f"A-{i}/b" for i in range(50)])
    _write(folder / "stop.yaml", ["sky: [the, above]"])
    chinese = "我们今天讨论了天气和经济的问题他们认为城市交通需要改善"
    _write(folder / "chinese.jsonl", [f'{{"text": "{chinese[i % 20 :]}{i}"}}' for i in range(2000)])
    for name, column in (("nulls", pa.nulls(9)), ("lists", pa.array([["a"]] * 9)), ("integers", pa.array(range(9)))):
        pq.write_table(pa.table({"text": column}), folder / f"{name}.parquet")
    pq.write_table(pa.table({"text": texts, "who": pa.nulls(2000)}), folder / "nobody.parquet")
    (folder / "empty").mkdir()
    (folder / "word").mkdir()
    for i in range(9):
        (folder / "word" / f"{i}.doc").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(range(256)))
    return folder


REFUSED = {  # by names of files, columns, types and options alone
    "null text column": (["nulls.parquet"], "holds null, not text"),
    "list column": (["lists.parquet"], "holds list"),
    "whole numbers as text": (["integers.parquet"], "holds int64, not text"),
    "unit column of nulls": (["nobody.parquet", "--unit-field", "who"], "holds no values"),
    "a folder of Word 97 files": (["word"], "have no reader (9 .doc)"),
    "an empty folder": (["empty"], "holds no files to read"),
    "a column that is not there": (["good.csv", "--text-field", "body"], "Its columns: text, who"),
    "a text file": (["notes.txt"], "give --format lines"),
    "a typing error": (["goood.csv"], "does not exist"),
    "fewer words than topics": (["good.csv", "--vocabulary", "three"], "At least 40 are needed, two for each topic"),
    "words that the tokenizer splits": (
        ["good.csv", "--vocabulary", "codes"],
        "0 of the 50 words of the word list can",
    ),
    "stop words as seed words": (["good.csv", "--seed-words", "stop.yaml"], "0 of the 2 seed words of topic 'sky' can"),
    "a seed without --simulate": (["good.csv", "--seed", "1"], "--seed requires --simulate"),
    "an unknown language": (["good.csv", "--language", "xx1"], "is not available"),
    "a pattern for a file": (["good.csv", "--pattern", "*.csv"], "pattern chooses files of a folder"),
    "more topics than words": (["good.csv", "--topics", "300", "--max-vocabulary", "100"], "topics must not exceed"),
}
ENDED = {  # by the noisy size
    "numbers instead of text": ["numbers.csv"],
    "a header and nothing else": ["header.csv"],
    "ten documents": ["ten.csv"],
    "a unit column without values": ["nobody.csv", "--unit-field", "who"],
    "300 topics": ["good.csv", "--topics", "300"],
    "a frequency limit below the threshold": ["good.csv", "--max-document-frequency", "0.001"],
    "a tiny epsilon": ["good.csv", "--epsilon", "0.01"],
    "Chinese read as English": ["chinese.jsonl"],
}


def _runs(folder: Path) -> list[package.ledger.RunRecord]:
    return package.Ledger(folder / "ledger.db").runs() if (folder / "ledger.db").exists() else []


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_public_facts_show_is_refused_in_one_line_before_anything_is_reserved(
    dplda, mistakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(mistakes)
    typed, expected = REFUSED[mistake]
    answer = dplda("fit", *typed, "--ledger", tmp_path / "ledger.db", "--out", tmp_path / "model")
    assert answer.status == 2
    assert expected in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not _runs(tmp_path)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("mistake", ["words that the tokenizer splits", "stop words as seed words"])
def test_a_dry_run_refuses_public_words_as_the_run_would(
    dplda, mistakes: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(mistakes)
    typed, expected = REFUSED[mistake]
    answer = dplda("fit", *typed, "--dry-run", "--json")
    assert (answer.status, answer.out) == (2, "")
    assert expected in answer.err


@pytest.mark.filterwarnings("default::dplda.base.errors.DpldaWarning")
def test_a_dry_run_tells_how_many_words_of_a_list_can_occur(
    dplda, mistakes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mistakes)
    _write(mistakes / "mixed", [*_WORDS, "the", "e-mail"])
    answer = dplda("fit", "good.csv", "--vocabulary", "mixed", "--dry-run", "--json")
    assert answer.status == 0
    assert answer.err == (
        "dplda: warning: 400 of the 402 words of the word list can occur in the documents as they are read. The "
        "others: 'the' (a stop word), 'e-mail' (read as mail). They are left out.\n"
    )
    assert answer.json["problems"] == []


@pytest.mark.parametrize("mistake", full_after(3, ENDED))
def test_what_only_the_documents_show_costs_a_thousandth_of_the_run(
    dplda, mistakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(mistakes)
    answer = dplda("fit", *ENDED[mistake], "--ledger", tmp_path / "ledger.db", "--out", tmp_path / "model")
    assert answer.status == 4
    assert _HOPELESS in answer.err
    assert ", a run very probably goes on (good topics need more): " in answer.err
    (run,) = _runs(tmp_path)
    assert [planned.event.stage for planned in run.plan if planned.charged] == ["size"]
    assert cost([p.event for p in run.plan if p.charged]).mu_squared / cost(run.events).mu_squared < 0.0015
    assert not (tmp_path / "model").exists()


def test_german_read_as_english_ends_when_the_chosen_words_show_it(dplda, tmp_path: Path) -> None:
    function_words = ["und", "der", "die", "das", "ist", "nicht", "mit", "von", "den", "auf"]
    texts = (f"{text} {' '.join(function_words)}" for text in _texts(3000))
    _write(tmp_path / "deutsch.jsonl", [f'{{"text": "{text}"}}' for text in texts])
    asked = ("fit", tmp_path / "deutsch.jsonl", "--ledger", tmp_path / "ledger.db", "--topics", 4)
    answer = dplda(*asked, "--out", tmp_path / "model")
    assert answer.status == 4
    assert "language 'de', and the documents were read as 'en'" in answer.err
    (run,) = _runs(tmp_path)
    assert cost([p.event for p in run.plan if p.charged]).mu_squared / cost(run.events).mu_squared < 0.15
    assert dplda(*asked, "--out", tmp_path / "model", "--language", "de").status == 0
