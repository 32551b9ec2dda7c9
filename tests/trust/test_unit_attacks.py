"""Attacks on the way from a file to privacy units, and on what a ledger believes a unit to be.

Each was reproduced on a finished program whose mechanisms were sound, and is numbered as in docs/threat-model.md.
"""

from __future__ import annotations

import csv
import io
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from full_helpers import full_after
from scipy import sparse
from sklearn.base import clone

import dplda
from dplda.base.config import PrivacySettings
from dplda.base.errors import BudgetRefused, InputError
from dplda.budget import Ledger
from dplda.budget.accountant import capacity
from dplda.budget.events import Event
from dplda.budget.sketches import Fingerprint
from dplda.cli.main import main
from dplda.private.store.fingerprint import fingerprint
from dplda.runs.corpus import Corpus
from dplda.text.counted_files import whole_counts
from dplda.text.records import Defect

ROOT = Path(__file__).resolve().parents[2]
WHOLE = capacity(10.0, 1e-5).mu_squared


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    return tmp_path


def ask(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def n_units(corpus: Corpus) -> int:
    keys = np.concatenate([block.units for block in corpus.open().blocks()])
    return len(np.unique(keys, axis=0))


def written(records: Sequence[Sequence[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([("customer", "body"), *records])
    return out.getvalue().encode()


def table(folder: Path, records: Sequence[Sequence[str]], edit: Callable[[bytes], bytes] = bytes) -> Corpus:
    (folder / "tickets.csv").write_bytes(edit(written(records)))
    return dplda.read_corpus(folder / "tickets.csv", text_field="body", unit_field="customer", tokenizer="fast")


# 1 and 2. Records torn apart, deleted or forged by what another record holds.


def lost(corpus: Corpus) -> int:
    """The number of records that are no documents; those with few words are."""
    return sum(n for defect, n in corpus.open().defects.items() if not Defect[defect].has_text)


CUSTOMERS = [(f"customer {i}", "the printer\ndoes not\r\nprint, again") for i in range(400)]
LOG = "\n".join(f"error {i}, the word sesame" for i in range(400))
FORGED = "\n".join(f'customer {i},"forged forged forged"' for i in range(5000))


@pytest.mark.parametrize("text", [LOG, FORGED, FORGED.replace("\n", "\r\n"), 'a "quoted" word,\n' * 50])
def test_attack_1_line_breaks_inside_a_text_make_nobody(home: Path, text: str) -> None:
    corpus = table(home, [*CUSTOMERS, ("mallory", text)])
    assert corpus.open().n_documents == 401
    assert n_units(corpus) == 401
    assert lost(corpus) == 0


@pytest.mark.parametrize(
    ("inside", "spoilt"), [("\0", b"\0"), ("X", b"\xc3"), ("X", b"\xff\xfe"), ("X", b"\xed\xa0\x80"), ("X", b"\x1a")]
)
def test_attack_2_a_spoilt_character_before_a_quotation_mark_deletes_nobody(
    home: Path, inside: str, spoilt: bytes
) -> None:
    people = [(f"customer {i}", 'one "line"\nand another') for i in range(651)]
    people[300] = ("mallory", f"three words more\n{inside}")
    content = written(people).replace(f'more\n{inside}"'.encode(), b'more\n%b"' % spoilt)
    (home / "tickets.csv").write_bytes(content)
    corpus = dplda.read_corpus(home / "tickets.csv", text_field="body", unit_field="customer", tokenizer="fast")
    assert corpus.open().n_documents == n_units(corpus) == 651


@pytest.mark.parametrize(
    "size", [11_000_000, *(pytest.param(size, marks=pytest.mark.full) for size in (30_000_000, 70_000_000))]
)
def test_attack_2_a_field_of_any_length_forges_nobody(home: Path, size: int) -> None:
    forged = '\n"' + '"\n"'.join(f'customer {i}"",""forged' for i in range(3000))
    long = ("x" * 1000 + " ") * (size // 1001)
    corpus = table(home, [*CUSTOMERS, ("mallory", forged + long + forged)])
    assert n_units(corpus) == 400 + (size < 25_000_000)  # a longer document contributes nothing
    assert lost(corpus) == (size >= 25_000_000)


@pytest.mark.parametrize("bad", ['mallory,"never closed\n', 'mallory,a 5" screen\n', 'mallory,"said \\"no\\""\n'])
def test_attack_2_a_file_that_no_writer_wrote_is_refused_before_anything_is_charged(
    home: Path, capsys: pytest.CaptureFixture[str], bad: str
) -> None:
    content = written(CUSTOMERS[:200]) + bad.encode() + written(CUSTOMERS[200:])
    (home / "tickets.csv").write_bytes(content)
    options = ["--text-field", "body", "--unit-field", "customer", "--tokenizer", "fast"]
    assert ask("fit", home / "tickets.csv", *options) == 2
    assert "--one-line" in capsys.readouterr().err
    assert Ledger().dataset("tickets").spent.mu_squared == 0
    assert Ledger().runs()[0].cost.mu_squared == 0


# 3. The same documents, divided into other units under the same name.

WORDS = [f"word{i:02d}" for i in range(24)]


def counts(rows: int, seed: int = 0) -> np.ndarray:
    themes = np.kron(np.eye(2), np.ones(12)) * 0.9 + 0.1
    random = np.random.default_rng(seed)
    return random.poisson(2.0 * themes[random.integers(0, 2, rows)])


def spent_on(ledger: Ledger, dataset: str, corpus: Corpus, share: float = 0.1) -> None:
    """A run on `corpus` that takes `share` of a whole grant."""
    reservation = ledger.reserve(
        dataset=dataset, unit=corpus.unit, privacy=PrivacySettings(), parameters={}, sound=True,
        events=[Event(stage="core", noise_multiplier=(share * WHOLE) ** -0.5)],
    )  # fmt: skip
    reservation.bind(fingerprint(corpus.open(), ledger.key))
    for event in reservation.events:
        reservation.charge(event)
    reservation.finish(model=None, seconds={})


PEOPLE = np.arange(2000) // 20
REGROUPED = {
    "each document alone": np.arange(2000),
    "two people in one": PEOPLE // 2,
    "everybody in one": np.zeros(2000, int),
    "documents exchanged": np.roll(PEOPLE, 10),
    "one document in twenty split off everybody": np.where(np.arange(2000) % 20 == 0, 5000 + np.arange(2000), PEOPLE),
}


@pytest.mark.parametrize("name", REGROUPED)
@pytest.mark.parametrize("edited", full_after(1, [True, False]))
def test_attack_3_the_same_documents_in_other_units_are_refused(home: Path, name: str, edited: bool) -> None:
    ledger, rows = Ledger(), counts(2000)
    spent_on(ledger, "tickets", Corpus.from_counts(rows, WORDS, units=PEOPLE, unit="customer"))
    if edited:  # then it is another corpus, which shares most of its documents with the first
        rows = np.vstack([rows[:-40], counts(40, seed=1)])
    other = Corpus.from_counts(rows, WORDS, units=REGROUPED[name], unit="customer")
    decoy = Corpus.from_counts(
        np.vstack([rows, rows]), WORDS, units=[*REGROUPED[name], *([9999] * 2000)], unit="customer"
    )
    for dataset, regrouped in (("tickets", other), ("copy", other), ("tickets", decoy)):
        with pytest.raises(BudgetRefused, match="groups them otherwise"):
            spent_on(ledger, dataset, regrouped)
    assert [run.status for run in ledger.runs()] == ["done", *["refused"] * 3]
    renamed = Corpus.from_counts(rows, WORDS, units=[f"pseudonym {p}" for p in PEOPLE], unit="customer")
    spent_on(ledger, "tickets", renamed)
    assert ledger.dataset("tickets").spent.mu_squared == pytest.approx(0.2 * WHOLE)


def test_attack_3_a_column_read_otherwise_is_refused_by_the_program(
    home: Path, any_size: None, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [" ".join(np.repeat([f"word{chr(97 + i)}" for i in range(24)], row)) for row in counts(120)]
    for name, people in (("tickets", PEOPLE), ("again", np.arange(120))):
        lines = [json.dumps({"text": text, "who": int(p)}) for text, p in zip(texts, people[:120], strict=True)]
        (home / f"{name}.jsonl").write_text("\n".join(lines))
    (home / "words").write_text("\n".join(f"word{chr(97 + i)}" for i in range(24)))
    fit = ["--vocabulary", home / "words", "--topics", 2, "--epsilon", 1, "--unit-field", "who"]
    assert ask("fit", home / "tickets.jsonl", *fit, "--out", home / "one") == 0
    capsys.readouterr()
    for dataset in ("tickets", "again"):
        command = ["fit", home / "again.jsonl", *fit, "--dataset", dataset, "--out", home / dataset]
        assert ask(*command) == 3
        assert "groups them otherwise" in capsys.readouterr().err


def test_attack_3_counts_say_what_their_units_are(home: Path) -> None:
    spent_on(Ledger(), "tickets", Corpus.from_counts(counts(100), WORDS, units=PEOPLE[:100], unit="customer"))
    assert Ledger().dataset("tickets").unit == "customer"
    with pytest.raises(BudgetRefused, match="unit 'customer'"):
        spent_on(Ledger(), "tickets", Corpus.from_counts(counts(100), WORDS, units=PEOPLE[:100], unit="ticket"))


# 4. The habit of naming a random state.


def test_attack_4_random_state_makes_nothing_silently_public(home: Path) -> None:
    with pytest.raises(InputError, match="simulate_seed"):
        dplda.PrivateLDA(n_components=2, random_state=0)
    rows, words = counts(200), [f"word{i}" for i in range(24)]
    spent_on(Ledger(), "survey", Corpus.from_counts(rows, words))
    Ledger().grant("toys", unbounded=True)
    for dataset in (None, "survey", "toys"):  # documents with a bounded budget, under whatever name
        with pytest.raises(BudgetRefused, match="--unbounded"):
            dplda.PrivateLDA(n_components=2, simulate_seed=0, dataset=dataset, public_vocabulary=words).fit(rows)


# 5. Grants raised after looking.


@pytest.mark.full
def test_attack_5_forty_raises_are_not_quoted_as_if_they_had_been_fixed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = Corpus.from_counts(counts(50), WORDS)
    grant = ["budget", "grant", "tickets", "--delta", 1e-6, "--epsilon"]
    spent = 0.0
    for epsilon in np.linspace(1.0, 5.0, 40):
        assert ask(*grant, epsilon) == 0
        shown = capsys.readouterr().out
        assert ("chosen after looking" in shown) == (epsilon > 1)
        whole = capacity(epsilon, 1e-6).mu_squared
        spent_on(Ledger(), "tickets", corpus, (0.999 * whole - spent) / WHOLE)
        spent = 0.999 * whole
    assert ask("budget", "show", "tickets", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["guaranteed"] == {"epsilon": None, "delta": None, "basis": "chosen after looking"}
    assert record["guarantee"].startswith("no guarantee fixed beforehand")


# 6. What the sketch overlooked.


def longer(rows: int, seed: int) -> np.ndarray:
    """Counts (rows, 200) of documents of ten words, no two alike."""
    random = np.random.default_rng(seed)
    return np.apply_along_axis(np.bincount, 1, random.integers(0, 200, (rows, 10)), minlength=200)


VOCABULARY = [f"w{i}" for i in range(200)]


def test_attack_6_documents_diluted_by_others_of_one_word_are_seen(home: Path) -> None:
    ledger, documents = Ledger(), longer(1500, 0)
    single = sparse.eye_array(24 * 1500, dtype=int, format="csr")
    for name in ("one", "two", "three"):
        words = [*VOCABULARY, *(f"{name}{i}" for i in range(24 * 1500))]
        corpus = Corpus.from_counts(sparse.block_diag([sparse.csr_array(documents), single]), words)
        if name == "one":
            spent_on(ledger, name, corpus, 0.9)
        else:
            with pytest.raises(BudgetRefused, match="cannot pay"):
                spent_on(ledger, name, corpus, 0.9)


@pytest.mark.full
@pytest.mark.parametrize("rows", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_attack_6_random_samples_of_one_corpus_are_charged_together(home: Path, rows: int) -> None:
    ledger, documents = Ledger(), longer(rows, 1)
    random = np.random.default_rng(2)
    samples = [random.choice(rows, int(0.03 * rows), replace=False) for _ in range(50)]
    for place, sample in enumerate(samples):
        spent_on(ledger, f"sample {place}", Corpus.from_counts(documents[sample], VOCABULARY), 1e-6)
    most = np.bincount(np.concatenate(samples)).argmax()
    holders = {f"sample {place}" for place, sample in enumerate(samples) if most in sample}
    assert len(holders) >= 5
    assert holders <= set(ledger.dataset(min(holders)).linked)


# 7. Smaller ones.


def test_attack_7_what_a_run_shares_does_not_tell_that_its_documents_are_linked(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger()
    spent_on(ledger, "first", Corpus.from_counts(counts(50), WORDS), 0.9)
    with pytest.raises(BudgetRefused):
        spent_on(ledger, "second", Corpus.from_counts(counts(50), WORDS), 0.9)
    event = Event(stage="core", noise_multiplier=(0.9 * WHOLE) ** -0.5)
    cancelled = ledger.reserve(
        dataset="third", unit="document", privacy=PrivacySettings(), parameters={}, sound=True, events=[event]
    )
    cancelled.bind(Fingerprint("other documents"))
    cancelled.abandon("cancelled", "interrupted")
    assert ask("runs", "--json") == 0
    _, refused, ended = json.loads(capsys.readouterr().out)["runs"]
    assert refused["local"].pop("status") == "refused"
    for run in (refused, ended):
        del run["local"], run["id"], run["dataset"]
    assert refused == ended


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64, np.float32, np.bool_])
def test_attack_7_counts_of_no_type_wrap(kind: type) -> None:
    limits = np.iinfo(kind) if np.issubdtype(kind, np.integer) else None
    values = np.array([0, 1, limits.max if limits else 1], kind)
    expected = [int(value) if value <= 2**31 - 1 else -1 for value in values.astype(object)]
    assert whole_counts(values).tolist() == expected
    if limits and limits.min < 0:
        assert whole_counts(np.array([limits.min, -1], kind)).tolist() == [-1, -1]


def test_attack_7_an_estimator_with_a_ledger_can_be_cloned_and_sent_to_another_process(home: Path) -> None:
    estimator = dplda.PrivateLDA(ledger=Ledger(), public_vocabulary=True)
    for copy in (clone(estimator), pickle.loads(pickle.dumps(estimator))):
        assert copy.ledger.path == home / "ledger.db"


# 8. Budget spent on a mistake.


def test_attack_8_the_folder_of_the_sample_is_the_sample(home: Path) -> None:
    assert ask("corpus", "sample", home / "sample", "--documents", 300) == 0
    corpus = dplda.read_corpus(home / "sample", tokenizer="fast")
    assert corpus.open().n_documents == 300
    assert dplda.read_corpus(ROOT / "corpora").reading["language"] == "en"


@pytest.mark.parametrize("names", [["a.jsonl", "b.csv"], ["a.jsonl", "notes.txt"], ["docword.x.txt", "vocab.x.txt"]])
def test_attack_8_a_folder_of_mixed_kinds_is_refused_before_anything_is_reserved(
    home: Path, capsys: pytest.CaptureFixture[str], names: list[str]
) -> None:
    (home / "mixed").mkdir()
    for name in names:
        (home / "mixed" / name).write_text('{"text": "apple banana cherry"}\n')
    assert ask("fit", home / "mixed") == 2
    assert "mixes kinds of files" in capsys.readouterr().err
    assert Ledger().runs() == []
