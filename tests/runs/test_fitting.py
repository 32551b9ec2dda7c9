"""A run from end to end: what it promises, what it records, what it leaves behind when it fails."""

from __future__ import annotations

import json
import re
import warnings
from contextlib import suppress

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from full_helpers import full_after
from placement_lists import PRIVATE
from scipy import sparse

import dplda
from dplda.base import errors
from dplda.base.errors import (
    BudgetRefused,
    DefaultGrantWarning,
    DpldaError,
    InputError,
    SmallDeltaWarning,
    UnsupportedByData,
)
from dplda.base.progress import NoProgress
from dplda.budget.accountant import cost
from dplda.model.prior_topics import PriorTopics
from dplda.private.store.fingerprint import Fingerprinter
from dplda.runs.corpus import CountStore, synthetic

WORDS = [f"word{i}" for i in range(80)]


@pytest.fixture(scope="module")
def planted():
    return synthetic(n_documents=20_000, n_words=80, n_topics=4, mean_length=50, seed=3)


@pytest.fixture
def ledger(tmp_path):
    return dplda.Ledger(tmp_path / "ledger.db")


def corpus_of(counts, **options):
    return dplda.Corpus.from_counts(counts, WORDS, name="planted", **options)


def matched_error(found, planted, vocabulary=WORDS):
    columns = [vocabulary.index(word) for word in WORDS if word in vocabulary]
    kept = [WORDS.index(word) for word in WORDS if word in vocabulary]
    distance = np.abs(found[:, None, columns] - planted[None, :, kept]).sum(axis=2)
    return distance.min(axis=0).mean()


@pytest.fixture(scope="module")
def private_run(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    ledger = dplda.Ledger(folder / "ledger.db")
    seconds: dict[str, float] = {}
    model = dplda.fit(
        corpus_of(planted[0]),
        n_topics=4,
        ledger=ledger,
        max_document_frequency=1.0,
        models=folder / "models",
        seconds=seconds,
    )
    return model, ledger, folder, seconds


def test_planted_topics_are_found_at_epsilon_two_with_words_chosen_privately(private_run, planted):
    model = private_run[0]
    assert matched_error(model.topics, planted[1], model.vocabulary) < 0.25


def test_anyone_can_recompute_epsilon_from_the_saved_events(private_run):
    model, _, folder, _ = private_run
    record = json.loads((folder / "models" / model.facts.run / "model.json").read_text())
    accountant, failures = PLDAccountant(), 0.0
    for event in record["privacy"]["events"]:
        accountant.compose(GaussianDpEvent(event["noise_multiplier"]), event["count"])
        failures += event.get("delta", 0.0) * event["count"]
    epsilon = accountant.get_epsilon(record["privacy"]["delta"] - failures)
    assert epsilon <= 2.0
    assert epsilon == pytest.approx(record["privacy"]["epsilon"], rel=1e-3)


def test_the_ledger_holds_every_event_of_the_model_and_the_model_nothing_of_the_ledger(private_run, planted):
    model, ledger, folder, seconds = private_run
    run = ledger.run(model.facts.run)
    assert run.status == "done"
    assert sum(event.count for event in model.privacy.events) == len(run.events)
    assert all(planned.charged for planned in run.plan)
    saved = (folder / "models" / run.id / "model.json").read_text()
    assert "seconds" not in saved
    assert str(folder) not in saved
    assert ledger.dataset("planted").fingerprints[0] not in saved
    assert set(seconds) >= {"read", "vocabulary", "subspace", "tensor", "refine", "save"}
    exact = int((planted[0].sum(axis=1) >= 3).sum())
    assert model.facts.documents != exact or abs(model.facts.documents - exact) < 2000


def test_saved_and_loaded_models_are_the_same(private_run):
    model, _, folder, _ = private_run
    again = dplda.load(folder / "models" / model.facts.run)
    assert np.array_equal(again.topics, model.topics)
    assert again.privacy == model.privacy


def test_seeded_noise_repeats_a_run_and_marks_it(planted):
    runs = [
        dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=False, simulate_seed=7, vocabulary=WORDS) for _ in range(2)
    ]
    assert np.array_equal(runs[0].topics, runs[1].topics)
    assert not runs[0].privacy.sound
    assert "NOT PRIVATE" in runs[0].privacy.reason
    assert runs[0].privacy.epsilon == np.inf


def test_vanishing_noise_gives_the_topics_of_no_noise(planted):
    options = {"n_topics": 4, "vocabulary": WORDS, "ledger": False, "simulate_seed": 1}
    exact = dplda.fit(corpus_of(planted[0]), placement="none", **options)
    loud = dplda.fit(corpus_of(planted[0]), epsilon=100.0, **options)
    assert matched_error(exact.topics, planted[1]) < 0.06
    assert matched_error(loud.topics, planted[1]) < 0.15


def test_runs_that_are_not_private_need_an_unbounded_grant(planted, ledger):
    corpus = corpus_of(planted[0])
    with pytest.raises(BudgetRefused, match="unbounded"):
        dplda.fit(corpus, placement="none", ledger=ledger, n_topics=4)
    ledger.grant("planted", unbounded=True)
    assert not dplda.fit(corpus, placement="none", ledger=ledger, n_topics=4).privacy.sound
    with pytest.raises(InputError, match="not private"):
        dplda.fit(corpus, ledger=False)


@pytest.mark.parametrize("topics", [3, 4])
def test_the_number_of_topics_is_read_off_the_noisy_core(topics):
    counts = synthetic(n_documents=20_000, n_words=80, n_topics=topics, mean_length=50, seed=11)[0]
    model = dplda.fit(corpus_of(counts), n_topics="auto", epsilon=4.0, ledger=False, simulate_seed=2, vocabulary=WORDS)
    assert len(model.topics) == topics == model.facts.supported_topics


def test_a_person_counts_once_however_many_documents_they_have(planted, ledger):
    users = np.arange(20_000) % 2000
    model = dplda.fit(
        corpus_of(planted[0], units=[f"u{n}" for n in users]), n_topics=4, vocabulary=WORDS, ledger=ledger
    )
    assert model.privacy.unit == "unit"
    assert abs(model.facts.documents - 2000) < 600


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_both_adjacencies_are_fitted_and_stated(planted, ledger, adjacency):
    model = dplda.fit(
        corpus_of(planted[0]), n_topics=4, vocabulary=WORDS, adjacency=adjacency, ledger=ledger, epsilon=4.0
    )
    assert model.privacy.adjacency == adjacency
    assert model.privacy.epsilon <= 4.0
    assert matched_error(model.topics, planted[1]) < 0.4


def test_a_hopeless_run_ends_after_its_size_and_says_what_would_do(planted, ledger, tmp_path):
    with pytest.raises(UnsupportedByData) as refusal:
        dplda.fit(corpus_of(planted[0][:40]), n_topics=4, ledger=ledger, models=tmp_path / "models")
    said = (
        r"the corpus has about [\d,]+ documents \(noisy, standard deviation \d+\), too few at epsilon 2 to choose the "
        r"words for 4 topics privately\. With (?:this|any one of these), a run very probably goes on "
        r"\(good topics need more\): .*at least [\d,]+ documents.*\. "
        r"Spent: 0\.1% of the run's"
    )
    assert re.match(said, str(refusal.value))
    run = ledger.runs()[0]
    assert run.status == "unsupported"
    assert [p.event.stage for p in run.plan if p.charged] == ["size"]
    assert run.cost.mu_squared / cost(run.events).mu_squared < 0.0014
    assert not list((tmp_path / "models").iterdir())


NO_WORDS = ["no", "document", "has", "these", "words", "at", "all", "eight"]


@pytest.fixture
def never_by_chance(monkeypatch):
    """A run is credited with its size less three deviations, so that chance lets none go on with too few documents."""
    monkeypatch.setattr("dplda.runs.enough._DEVIATIONS", -3.0)


@pytest.mark.parametrize("placement", full_after(2, PRIVATE))
def test_words_that_no_document_has_end_a_run_of_any_placement_after_its_size(
    planted, ledger, never_by_chance, placement
):
    with pytest.raises(UnsupportedByData) as refusal:
        dplda.fit(corpus_of(planted[0]), n_topics=4, vocabulary=NO_WORDS, placement=placement, ledger=ledger)
    said = (
        r"the corpus has about [\d,]+ documents with words of the word list \(noisy, .*, too few at epsilon 2 to learn"
    )
    assert re.match(said, str(refusal.value))
    (run,) = ledger.runs()
    assert [p.event.stage for p in run.plan if p.charged] == ["size"]
    assert ledger.dataset("planted").spent.mu_squared == pytest.approx(run.cost.mu_squared), "the rest is refunded"


@pytest.mark.parametrize("public", [True, False])
def test_a_run_with_a_prior_ends_after_its_size_too(planted, ledger, never_by_chance, public):
    prior = PriorTopics(np.full((4, len(WORDS)), 1 / len(WORDS)), tuple(WORDS), "a test", True)
    asked = {"vocabulary": NO_WORDS} if public else {}
    with pytest.raises(
        UnsupportedByData, match="too few at epsilon 2 to tell whether they are about the topics of the"
    ):
        dplda.fit(corpus_of(planted[0][:3]), n_topics=4, prior=prior, ledger=ledger, **asked)
    (run,) = ledger.runs()
    assert [p.event.stage for p in run.plan if p.charged] == ["size"]


def test_a_prior_that_does_not_explain_few_documents_leaves_them_to_the_same_rule(planted, ledger, monkeypatch):
    monkeypatch.setattr("dplda.runs.enough._LEAST_FOR_PRIOR", 0.0)
    monkeypatch.setattr("dplda.runs.enough._LEAST_SIGNAL", 1e9)
    topics = np.random.default_rng(0).dirichlet(np.full(len(WORDS), 0.5), size=8)
    prior = PriorTopics(topics, tuple(WORDS), "a test", True)
    told = "^the prior does not explain the documents, and without it the corpus has about .* to learn topics from them"
    with pytest.raises(UnsupportedByData, match=told):
        dplda.fit(corpus_of(planted[0]), n_topics=4, prior=prior, vocabulary=WORDS, ledger=ledger)
    (run,) = ledger.runs()
    assert [p.event.stage for p in run.plan if p.charged] == ["size", "frequency", "vote total", "prior gain"]


def test_a_run_without_noise_goes_on_however_few_documents_there_are(planted):
    model = dplda.fit(corpus_of(planted[0][:40]), n_topics=4, vocabulary=WORDS, placement="none", ledger=False)
    assert model.topics.shape[0] == 4


def test_a_run_of_a_larger_delta_than_its_grant_warns_before_its_charge(planted, ledger):
    ledger.grant("small", epsilon=8, delta=1e-7)
    told = r"This run has delta 1e-06, and the grant of small has 1e-07: .* delta=1e-07 leaves room for more runs\."
    with pytest.warns(SmallDeltaWarning, match=told), suppress(UnsupportedByData):
        dplda.fit(corpus_of(planted[0][:40]), n_topics=4, dataset="small", ledger=ledger)
    with warnings.catch_warnings(action="error", category=SmallDeltaWarning), suppress(UnsupportedByData):
        dplda.fit(corpus_of(planted[0][:40]), n_topics=4, dataset="small", ledger=ledger, delta=1e-7, vocabulary=WORDS)


def test_the_first_run_without_a_grant_warns_before_its_charge_which_total_it_fixes(planted, ledger):
    corpus = corpus_of(planted[0][:40])

    def told(**options) -> list[str]:
        with (
            warnings.catch_warnings(record=True, action="always", category=DefaultGrantWarning) as caught,
            suppress(UnsupportedByData),
        ):
            dplda.fit(corpus, **{"n_topics": 4, "ledger": ledger} | options)
        return [str(each.message) for each in caught if each.category is DefaultGrantWarning]

    assert told(ledger=False, simulate_seed=1) == []
    with warnings.catch_warnings(action="error", category=DefaultGrantWarning), pytest.raises(DefaultGrantWarning):
        dplda.fit(corpus, n_topics=4, ledger=ledger)
    assert not any(run.dataset == "planted" for run in ledger.runs())
    (line,) = told()
    assert line.startswith("No total was fixed for dataset planted: from its first run on, the default is guaranteed, ")
    assert line.endswith("To fix another one first: ledger.grant('planted', epsilon=E, delta=D)")
    assert told() == [], "the total is fixed"
    ledger.grant("granted", 4.0, 1e-6)
    ledger.grant("open", unbounded=True)
    assert told(dataset="granted") == told(dataset="open") == []


def test_nothing_passing_the_threshold_costs_only_size_and_vocabulary(ledger, tmp_path):
    texts = sparse.csr_array(3 * np.eye(3000, dtype=np.int32))  # everyone has a word of their own
    corpus = dplda.Corpus.from_counts(texts, [f"own{i}" for i in range(3000)], name="planted")
    with pytest.raises(UnsupportedByData, match="only 0 words") as refusal:
        dplda.fit(corpus, n_topics=4, epsilon=8.0, ledger=ledger, models=tmp_path / "models")
    run = ledger.runs()[0]
    share = run.cost.mu_squared / cost(run.events).mu_squared
    assert 0 < share < 0.5
    assert str(refusal.value).endswith(
        f" Spent: {share:.1%} of the run's budget (counted as the filter counts), recorded as run {run.id}. "
        "To others, quote the total of dataset planted (dplda budget show planted)."
    )
    assert run.status == "unsupported"
    assert [p.event.stage for p in run.plan if p.charged] == ["size", "vocabulary", "vote total"]
    assert run.cost.mu_squared == pytest.approx(sum(p.event.noise_multiplier**-2 for p in run.plan if p.charged))
    assert not list((tmp_path / "models").iterdir())


def test_a_refused_run_that_is_not_private_claims_no_epsilon(planted, ledger):
    corpus = corpus_of(planted[0][:40])
    with pytest.raises(UnsupportedByData) as unrecorded:
        dplda.fit(corpus, n_topics=4, ledger=False, simulate_seed=0)
    assert str(unrecorded.value).endswith(" NOT PRIVATE: simulated noise from a known seed.")
    assert "recorded" not in str(unrecorded.value)
    ledger.grant("planted", unbounded=True)
    with pytest.raises(UnsupportedByData) as recorded:
        dplda.fit(corpus, n_topics=4, ledger=ledger, simulate_seed=0)
    (run,) = ledger.runs()
    told = f" NOT PRIVATE: simulated noise from a known seed; recorded as run {run.id}."
    assert str(recorded.value).endswith(told)
    assert "Spent" not in str(recorded.value)


def test_words_above_the_frequency_limit_are_told_apart_from_words_below_the_threshold(planted, ledger):
    with pytest.raises(UnsupportedByData, match="--max-document-frequency"):
        dplda.fit(corpus_of(planted[0]), n_topics=20, ledger=ledger, max_document_frequency=0.05)


def test_a_refused_run_leaves_nothing_behind(planted, ledger, tmp_path):
    ledger.grant("planted", 0.5, 1e-6)
    with pytest.raises(BudgetRefused):
        dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert not ledger.runs()


def test_a_model_that_cannot_be_saved_leaves_no_space_taken(planted, ledger, monkeypatch, tmp_path):
    def fail(self, directory):
        raise InputError("no space")

    monkeypatch.setattr(dplda.TopicModel, "save", fail)
    with pytest.raises(InputError, match="no space"):
        dplda.fit(corpus_of(planted[0]), n_topics=4, vocabulary=WORDS, ledger=ledger, models=tmp_path / "models")
    assert not list((tmp_path / "models").iterdir())
    assert ledger.runs()[0].status == "cancelled"


def test_a_fit_takes_no_fingerprint_of_a_store_that_has_its_ledgers_already(planted, ledger, monkeypatch, tmp_path):
    taken, read = [], []
    add, blocks = Fingerprinter.add, CountStore.blocks
    monkeypatch.setattr(Fingerprinter, "add", lambda self, block: taken.append(block) or add(self, block))
    monkeypatch.setattr(CountStore, "blocks", lambda self, *chosen: read.append(0) or blocks(self, *chosen))
    source = corpus_of(planted[0][:3000])
    ledger.grant("public", unbounded=True)
    source.write(tmp_path / "ours", key=ledger.key)
    source.write(tmp_path / "theirs", key=b"another")
    passes = []
    for name, of in (("ours", ledger), ("theirs", ledger), ("ours", False)):
        taken.clear(), read.clear()
        corpus = dplda.read_corpus(tmp_path / name)
        dplda.fit(corpus, "public", n_topics=2, vocabulary=WORDS, ledger=of, simulate_seed=1)
        passes.append((len(taken), len(read)))
    assert passes == [(0, passes[2][1]), (1, passes[2][1] + 1), (0, passes[2][1])]
    assert len({run.fingerprint for run in ledger.runs()}) == 1


def test_a_fit_of_raw_text_takes_the_fingerprint_while_it_reads(ledger, monkeypatch, tmp_path):
    lines = [json.dumps({"text": "apple banana cherry " * 5}) for _ in range(300)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(Fingerprinter, "add_words", _once(Fingerprinter.add_words))
    ledger.grant("c", unbounded=True)
    for _ in range(2):
        corpus = dplda.read_corpus(tmp_path / "c.jsonl", tokenizer="fast", cache=tmp_path / "cache")
        dplda.fit(
            corpus, "c", n_topics=2, vocabulary=["apple", "banana", "cherry", "date"], ledger=ledger, simulate_seed=1
        )
    assert len({run.fingerprint for run in ledger.runs()}) == 1


def _once(method):
    """`method`, which fails when it is called again."""
    calls = []

    def call(*arguments):
        assert not calls
        calls.append(0)
        return method(*arguments)

    return call


def test_a_run_that_fails_before_it_asks_costs_nothing(planted, ledger, monkeypatch, tmp_path):
    def fail(self, progress=None, key=None, by_id=None):
        raise OSError("a private word")

    monkeypatch.setattr(dplda.Corpus, "open", fail)
    with pytest.raises(OSError, match="private"):
        dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger, out=tmp_path / "model")
    run = ledger.runs()[0]
    assert (run.status, run.cost.mu_squared) == ("failed", 0.0)
    assert "private" not in run.reason
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("error", "described"),
    [
        (InputError, "cancelled: bad input"),
        (errors.LedgerError, "cancelled: the ledger could not be used"),
        (errors.BudgetRefused, "cancelled: the budget does not allow it"),
        (UnsupportedByData, "unsupported: the data could not support the request"),
        (errors.DeviceError, "cancelled: the GPU failed"),
        (errors.ClusterError, "cancelled: the cluster failed"),
        (KeyboardInterrupt, "cancelled: interrupted"),
        (MemoryError, "failed: unexpected MemoryError"),
    ],
)
def test_the_ledger_says_in_plain_words_why_a_run_ended(planted, ledger, monkeypatch, error, described):
    def fail(self, progress=None, key=None, by_id=None):
        raise error("a secret word")

    monkeypatch.setattr(dplda.Corpus, "open", fail)
    with pytest.raises(error, match="secret"):
        dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger)
    assert ledger.runs()[0].status_in_words == described


class _StopsAt(NoProgress):
    def __init__(self, stage):
        self.stage = stage

    def start(self, stage, total=None):
        if stage == self.stage:
            raise KeyboardInterrupt


@pytest.mark.parametrize("stage", ["read", "core", "model"])
def test_an_interrupt_passes_with_a_note_on_what_the_ledger_keeps(planted, ledger, stage):
    with pytest.raises(KeyboardInterrupt) as caught:
        dplda.fit(corpus_of(planted[0]), n_topics=4, epsilon=2.0, ledger=ledger, progress=_StopsAt(stage))
    (run,) = ledger.runs()
    (note,) = caught.value.__notes__
    assert note.startswith(f"Run {run.id} had charged ")
    whole = cost(run.events).mu_squared
    if stage == "read":
        assert run.cost.mu_squared == 0
        assert "charged nothing: the ledger has returned its whole budget, but reports count it in full" in note
        assert "What may be run again, so that reports still state a total: dplda budget show" in note
    else:
        assert 0 < run.cost.mu_squared <= whole
        assert f"{run.cost.mu_squared / whole:.1%} of its budget" in note
        assert "is still that of the whole run, epsilon 1.99" in note
        assert (run.cost.mu_squared < 0.9 * whole) == (stage == "core")


@pytest.mark.parametrize("recorded", [False, True])
def test_an_interrupt_while_the_budget_is_reserved_returns_it(planted, ledger, monkeypatch, recorded):
    def interrupted(self, **plan):
        if recorded:
            reserve(self, **plan)
        raise KeyboardInterrupt

    reserve = dplda.Ledger.reserve
    monkeypatch.setattr(dplda.Ledger, "reserve", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger)
    runs = ledger.runs()
    assert [(run.status_in_words, run.is_charged) for run in runs] == [("cancelled: interrupted", False)] * recorded
    notes = getattr(caught.value, "__notes__", [])
    assert [note.split(":")[0] for note in notes] == [f"Run {run.id} had charged nothing" for run in runs]


def test_an_interrupted_run_that_is_not_private_says_so(planted, ledger):
    ledger.grant("planted", unbounded=True)
    with pytest.raises(KeyboardInterrupt) as caught:
        dplda.fit(corpus_of(planted[0]), n_topics=4, placement="none", ledger=ledger, progress=_StopsAt("core"))
    assert "NOT PRIVATE" in caught.value.__notes__[0]


def test_a_model_is_found_by_the_name_of_its_run(planted, ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"n_topics": 4, "ledger": ledger, "epsilon": 8.0}
    for place in ({"out": "here"}, {"models": "models"}):
        ledger.grant("planted", 90.0, 1e-3)
        model = dplda.fit(corpus_of(planted[0]), **options, **place)
        run = str(model.facts.run)
        for name in (run, run[:-2]):
            assert np.array_equal(dplda.load(name, ledger=ledger).topics, model.topics)
    assert np.array_equal(dplda.load("here").topics, dplda.load(tmp_path / "here").topics)


def test_a_run_without_a_model_and_a_model_that_moved_are_told_in_one_line(planted, ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger.grant("planted", 90.0, 1e-3)
    run = dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger).facts.run
    with pytest.raises(InputError, match=f"{run}.*`out` or `models`"):
        dplda.load(run, ledger=ledger)
    run = dplda.fit(corpus_of(planted[0]), n_topics=4, ledger=ledger, out="here").facts.run
    (tmp_path / "here").rename(tmp_path / "there")
    with pytest.raises(InputError, match=r"/here\."):
        dplda.load(run, ledger=ledger)
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "none.db"))
    with pytest.raises(InputError, match=r"'nobody'.*no ledger"):
        dplda.load("nobody")
    assert not (tmp_path / "none.db").exists()


def test_every_error_has_its_own_reason_for_the_ledger():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DpldaError)]
    assert len({kind.reason for kind in kinds}) == len(kinds) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a number"),
        ({"epsilon": float("nan")}, "epsilon must be a number"),
        ({"delta": 1}, "delta must be a number"),
        ({"n_topics": 0}, "topics must be a whole number"),
        ({"n_topics": 81, "vocabulary": WORDS}, "topics must not exceed the number of words"),
        ({"vocabulary": ["a", "a", "b"]}, "vocabulary has the word"),
        ({"placement": "config9"}, "placement must be one of"),
        ({"engine": "spark"}, "engine must be one of"),
        ({"device": "tpu"}, "device must be one of"),
        ({"calibration": "hopeful"}, "calibration must be one of"),
        ({"scheduler": "tcp://x"}, "scheduler is for --engine dask"),
    ],
)
def test_bad_parameters_are_named_and_nothing_is_reserved(planted, ledger, options, message):
    with pytest.raises(InputError, match=message):
        dplda.fit(corpus_of(planted[0]), **{"n_topics": 4, "ledger": ledger} | options)
    assert not ledger.runs()
