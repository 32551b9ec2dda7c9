from __future__ import annotations

import gzip
import json
from pathlib import Path

from dplda.budget import Ledger
from dplda.private.store.fingerprint import _read_stored
from dplda.runs.corpus import CountStore


def test_sample_writes_readable_documents(dplda, home: Path) -> None:
    record = dplda("corpus", "sample", home / "s", "--documents", 30, "--seed", 4, "--json").json
    assert record == {"directory": str(home / "s"), "documents": 30, "seed": 4}
    with gzip.open(home / "s" / "sample.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    assert len(documents) == 30
    assert {"id", "user", "text"} <= set(documents[0])
    assert dplda("corpus", "sample", home / "s").status == 2


def test_sample_writes_notes(dplda, home: Path) -> None:
    assert dplda("corpus", "sample", home / "n", "--kind", "notes", "--documents", 30).status == 0
    header, *notes = (home / "n" / "notes.csv").read_text(encoding="utf-8").splitlines()
    assert header == "patient,ward,date,text"
    assert len(notes) == 30


def test_an_imported_store_is_a_corpus_with_the_same_public_facts(dplda, home: Path) -> None:
    dplda("corpus", "sample", home / "s", "--documents", 30)
    source = home / "s" / "sample.jsonl.gz"
    made = dplda("corpus", "import", source, home / "store", "--text-field", "text", "--unit-field", "user", "--json")
    assert made.status == 0
    assert made.json["unit"] == "user"
    facts = dplda("corpus", "info", home / "store", "--json").json
    assert facts["unit"] == "user"
    assert facts["public_vocabulary"] is None


def test_an_imported_store_keeps_its_fingerprint_under_the_key_of_the_ledger(dplda, home: Path) -> None:
    dplda("corpus", "sample", home / "s", "--documents", 30)
    command = ["corpus", "import", home / "s" / "sample.jsonl.gz", "--text-field", "text", "--tokenizer", "fast"]
    assert dplda(*command, home / "one").status == 0
    assert dplda(*command, home / "two", "--ledger", home / "other.db").status == 0
    for name, path in (("one", home / "ledger.db"), ("two", home / "other.db")):
        store = CountStore.open(home / name)
        assert _read_stored(store, Ledger(path).key) is not None
        assert _read_stored(store, b"another") is None


def test_an_import_does_without_a_default_ledger_and_not_without_one_that_was_named(dplda, home: Path) -> None:
    dplda("corpus", "sample", home / "s", "--documents", 30)
    command = ["corpus", "import", home / "s" / "sample.jsonl.gz", "--text-field", "text", "--tokenizer", "fast"]
    (home / "ledger.db").write_text("damaged " * 1000)
    answer = dplda(*command, home / "store", "--ledger", home / "ledger.db")
    assert answer.status != 0
    assert not (home / "store").exists()
    answer = dplda(*command, home / "store")
    assert answer.status == 0
    assert "is not a ledger" in answer.err
    assert "no fingerprint" in " ".join(answer.err.split())
    assert not (home / "store" / "fingerprint.json").exists()


def test_info_tells_people_public_facts_only(dplda, home: Path) -> None:
    dplda("corpus", "sample", home / "s", "--documents", 37)
    answer = dplda("corpus", "info", home / "s" / "sample.jsonl.gz", "--text-field", "text")
    assert answer.status == 0
    assert "sample" in answer.out
    assert "37" not in answer.out


def test_a_missing_corpus_is_one_line(dplda) -> None:
    answer = dplda("corpus", "info", "nowhere.jsonl", "--text-field", "text")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
