from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from handmade import make_model, with_facts

import dplda.runs.corpus
from dplda.base.config import DEFAULT_GRANT, PrivacySettings
from dplda.base.errors import BudgetRefused, InputError, UnsupportedByData
from dplda.base.progress import Progress
from dplda.budget import Ledger
from dplda.model import TopicModel, load
from dplda.runs.fit_options import OPTIONS, FitOptions

NOTE = "17 documents contributed nothing"


class Recorder:
    """Stands for `plan_fit`, its run and `read_corpus`: keeps what they were given."""

    def __init__(self) -> None:
        self.fit: dict[str, Any] = {}
        self.read: dict[str, Any] = {}
        self.facts: dict[str, Any] = {}
        self.error: Exception | None = None

    def plan(self, corpus: Any, ledger: Ledger, options: FitOptions) -> SimpleNamespace:
        self.fit = vars(options) | {"ledger": ledger}
        dataset = options.dataset or corpus.name

        def execute(ledger: Ledger, *, folder: Path, progress: Progress, seconds: dict[str, float]) -> TopicModel:
            progress.start("read")
            if self.error:
                raise self.error
            seconds["read"] = 1.26
            ledger.grant(dataset, 10, 1e-5)
            model = with_facts(make_model(), dataset=dataset, placement="default", calibration="sound", **self.facts)
            model.save(folder)
            return model

        plan = {
            "reason": "NOT PRIVATE" if options.simulate_seed is not None else "",
            "parameters": {},
            "events": (),
            "privacy": PrivacySettings(),
            "batch": None,
            "corpus": corpus,
            "quote": lambda ledger: SimpleNamespace(warning=""),
        }
        return SimpleNamespace(id="toy-aaaaaa", dataset=dataset, execute=execute, **plan)

    def open(self, path: str, **given: Any) -> SimpleNamespace:
        self.read = {"path": path, **given}
        unit = given.get("unit_field", "document")
        reading = {"language": "en"}
        return SimpleNamespace(
            name="reviews", unit=unit, notes=[NOTE], reading=reading, tokenization=None, identity="reviews"
        )


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setitem(sys.modules, "dplda.runs.fitting", SimpleNamespace(plan_fit=recorder.plan))
    monkeypatch.setattr(dplda.runs.corpus, "read_corpus", recorder.open, raising=False)
    return recorder


def test_json_has_the_keys_of_the_interface_and_nothing_else_on_stdout(dplda, recorder: Recorder, home: Path) -> None:
    answer = dplda("fit", "reviews.jsonl", "--json")
    assert answer.status == 0
    record = answer.json
    assert set(record) == {
        *("run", "model", "topics", "vocabulary_size", "documents", "placement", "calibration", "privacy"),
        *("seconds", "seconds_are_local"),
    }
    assert record["topics"] == dplda("topics", record["model"], "--json").json["topics"]
    assert (record["documents"], record["vocabulary_size"], record["seconds"]) == (100, 12, {"read": 1.3})
    assert set(record["privacy"]) == {"epsilon", "delta", "unit", "adjacency", "sound", "events"}
    np_model = load(record["model"])
    assert np_model.privacy.to_json() == record["privacy"]


def test_private_notes_go_to_stderr_only(dplda, recorder: Recorder) -> None:
    for answer in (dplda("fit", "x", "--json"), dplda("fit", "x", "--out", "elsewhere")):
        assert NOTE in answer.err
        assert "Local diagnostics" in answer.err
        assert NOTE not in answer.out


def test_people_read_promise_topics_place_and_budget(dplda, recorder: Recorder) -> None:
    answer = dplda("fit", "x")
    for expected in ("differentially private for one", "epsilon 1.25", "models/toy-aaaaaa", "w0"):
        assert expected in answer.out
    last = answer.err.splitlines()[-1]
    spent = "Dataset reviews: nothing spent of epsilon 10 (at delta 1e-05)."
    quoted = "To others, quote the total of all runs: epsilon 10 at delta 1e-05."
    assert last == f"{spent} {quoted} (The run's own epsilon, 1.25, is at delta 1e-06.)"
    assert "spent of" not in answer.out  # an exact fact about linked datasets
    assert "the guarantee is" not in answer.err  # that of the whole grant is the usual one


def test_a_first_run_without_a_grant_says_before_its_charge_which_total_it_fixes(dplda, recorder: Recorder) -> None:
    assert "No total was fixed" not in dplda("fit", "x", "--out", "a", "--simulate", "--dataset", "other").err
    first = dplda("fit", "x", "--out", "b")
    epsilon, delta = DEFAULT_GRANT
    told = (
        f"No total was fixed for dataset reviews: from its first run on, the default is guaranteed, epsilon {epsilon:g}"
    )
    assert told in (line := " ".join(first.err.split()))
    assert f"delta {delta:g}, and no other can be; if another name has its documents, that of the other name" in line
    assert "counts, too. To fix another one first: dplda budget grant reviews --e" in line
    assert "No total" not in first.out
    assert "No total" not in dplda("fit", "x", "--out", "c").err, "the total is fixed"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"words": "listed"}, "12 words, those that characterise these texts most, compared with other text, as far"),
        ({"vocabulary": "public"}, "12 words, the most frequent ones of the word list, as far as the noise lets"),
        ({"words": "private"}, "12 words."),
    ],
)
def test_words_that_may_be_there_by_chance_are_not_called_certain(
    dplda, recorder: Recorder, facts: dict[str, str], told: str
) -> None:
    for topics, least in ((1, False), (2, True)):  # of which the 12 words are more, and fewer, than a run takes
        recorder.facts = {"topics": topics, **facts}
        answer = " ".join(dplda("fit", "x", "--out", f"model-{topics}").out.split())
        assert told in answer
        assert ("even if no text contains them" in answer) == (told != "12 words.")
        assert ("however few can be told" in answer) == (told != "12 words." and least)


def test_defaults_are_those_of_the_interface(dplda, recorder: Recorder) -> None:
    dplda("fit", "x")
    given = {name: value for name, value in recorder.fit.items() if name not in ("ledger", "progress")}
    assert given == {name: OPTIONS[name].default for name in given}
    assert {name: given[name] for name in ("n_topics", "epsilon", "delta", "placement", "calibration")} == {
        "n_topics": None,
        "epsilon": 2.0,
        "delta": 1e-6,
        "placement": "default",
        "calibration": "sound",
    }


def test_options_arrive(dplda, recorder: Recorder, home: Path) -> None:
    (home / "words.txt").write_text("\ufeffalpha\nbeta\n\n gamma \n", encoding="utf-8")
    command = "fit x --topics auto --epsilon 0.5 --delta 1e-7 --placement none --adjacency replace --dataset d"
    command += " --vocabulary words.txt --max-vocabulary 50 --max-document-frequency 0.3 --alpha0 2 --device auto"
    command += " --out m --ledger l.db --simulate --seed 7 --text-field t --id-field i --unit-field u --format csv"
    command += " --language de --lemmas --tokenizer fast --one-line --pattern *.csv --encoding cp1252"
    assert dplda(*command.split()).status == 0
    assert (recorder.fit["n_topics"], recorder.fit["epsilon"], recorder.fit["delta"]) == ("auto", 0.5, 1e-7)
    assert (recorder.fit["placement"], recorder.fit["adjacency"], recorder.fit["dataset"]) == ("none", "replace", "d")
    assert recorder.fit["vocabulary"] == ["alpha", "beta", "gamma"]
    assert (recorder.fit["out"], recorder.fit["simulate_seed"]) == (Path("m"), 7)
    assert (home / "m").is_dir()
    assert recorder.fit["ledger"].path == home / "l.db"
    assert recorder.read == {
        **{"path": "x", "format": "csv", "text_field": "t", "id_field": "i", "unit_field": "u"},
        **{"language": "de", "lemmas": True, "tokenizer": "fast", "encoding": "cp1252"},
        **{"one_line": True, "pattern": "*.csv"},
    }


@pytest.mark.parametrize(
    ("given", "column"),
    [([], None), (["--unit", "document"], None), (["--unit", "user"], "user"), (["--unit-field", "user"], "user")],
)
def test_the_unit_is_the_document_or_a_column(dplda, recorder: Recorder, given: list[str], column: str | None) -> None:
    assert dplda("fit", "x", *given).status == 0
    assert recorder.read.get("unit_field") == column


@pytest.mark.parametrize("given", [["--seed", "1"], ["--unit", "document", "--unit-field", "user"]])
def test_contradictions_are_wrong_usage_and_nothing_is_asked(dplda, recorder: Recorder, given: list[str]) -> None:
    assert dplda("fit", "x", *given).status == 2
    assert not recorder.read
    assert not recorder.fit


@pytest.mark.parametrize(
    ("error", "status"), [(InputError("bad"), 2), (BudgetRefused("no"), 3), (UnsupportedByData("none passed"), 4)]
)
def test_refusals_keep_their_status_and_stdout_stays_empty(
    dplda, recorder: Recorder, error: Exception, status: int
) -> None:
    recorder.error = error
    answer = dplda("fit", "x", "--json")
    assert (answer.status, answer.out) == (status, "")
    assert answer.err.endswith(f"dplda: {error}\n")


def test_a_run_that_is_not_private_says_so_first(dplda, recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses

    import handmade

    statement = dataclasses.replace(handmade.STATEMENT, epsilon=float("inf"), sound=False, reason="seeded noise")
    monkeypatch.setattr(handmade, "STATEMENT", statement)
    assert dplda("fit", "x").out.startswith("NOT PRIVATE: seeded noise")


@pytest.mark.parametrize(("content", "message"), [("", "contains no words"), ("\n \n", "contains no words")])
def test_a_vocabulary_without_words_is_bad_input(dplda, home: Path, content: str, message: str) -> None:
    (home / "words").write_text(content)
    (home / "x.jsonl").write_text('{"text": "film"}')
    answer = dplda("fit", "x.jsonl", "--vocabulary", "words")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err


def test_a_vocabulary_that_is_not_there_is_bad_input(dplda) -> None:
    assert dplda("fit", "x", "--vocabulary", "nowhere").status == 2
