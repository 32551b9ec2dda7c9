"""Shadow models: halves by coins, results that survive a stop, and attacks that work where nothing is protected."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest
from scipy import sparse

from dplda import Corpus, PriorTopics
from dplda.audit.membership import outcomes
from dplda.audit.shadow_models import (
    _ORDINARY,
    _REPEATED,
    Results,
    System,
    Targets,
    dplda_system,
    find_targets,
    ordinary_system,
    settings_of,
    train,
)
from dplda.base.errors import InputError, UnsupportedByData
from dplda.base.progress import NoProgress
from dplda.runs.corpus import synthetic

QUIET = NoProgress()


def of_counts(counts, **chosen) -> Targets:
    words = [f"w{i}" for i in range(counts.shape[1])]
    corpus = Corpus.from_counts(counts, words, public_vocabulary=chosen.pop("public", False))
    options = {"words": None, "max_vocabulary": 2000, "canaries": 0} | chosen
    return find_targets(corpus, progress=QUIET, **options)


@pytest.fixture(scope="module")
def planted() -> Targets:
    return of_counts(synthetic(600, 60, 3, mean_length=20, seed=2)[0], canaries=12, public=True)


class Counting:
    """A system that says how many documents it saw, and notes the seeds; one of them may stop it."""

    def __init__(self, stop: int | None = None, fail: bool = False) -> None:
        self.seeds: list[int] = []
        self.stop, self.fail = stop, fail

    def __call__(self, counts: sparse.csr_matrix, seed: int) -> np.ndarray:
        if len(self.seeds) == self.stop:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        if self.fail:
            raise UnsupportedByData("too few documents.")
        share = np.asarray(counts.sum(axis=0)).ravel() + 1.0
        return share[None] / share.sum()


def test_words_are_those_of_most_documents_and_documents_without_them_are_left_out():
    counts = np.array([[1, 0, 0, 2], [3, 0, 1, 1], [0, 9, 0, 0], [0, 0, 2, 1]])
    found = of_counts(counts, max_vocabulary=2)
    assert found.words == ("w3", "w0")
    assert found.counts.toarray().tolist() == [[2, 1], [1, 3], [1, 0]]
    assert of_counts(counts, words=["w1", "w2"]).counts.toarray().tolist() == [[0, 1], [9, 0], [0, 2]]
    assert of_counts(counts, public=True).words == ("w0", "w1", "w2", "w3")
    with pytest.raises(InputError, match="two documents"):
        of_counts(counts, words=["w1"])


def test_canaries_repeat_a_word_of_their_own(planted):
    own = planted.counts[-12:].toarray()
    assert (own[:, -12:] == _REPEATED * np.eye(12)).all()
    assert own.sum() == 12 * _REPEATED
    assert planted.counts[:-12, -12:].nnz == 0
    assert len(set(planted.words)) == planted.counts.shape[1]


def test_half_of_the_targets_are_members_by_coins_of_their_own(planted):
    inside = planted.memberships(0, 200)
    assert abs(inside.mean() - 0.5) < 0.01
    assert inside.sum(axis=1).std() > 5  # the size of a half is not fixed
    assert not (inside[0] == planted.members(1, 0)).all()
    assert np.abs(np.corrcoef(inside[:, :20].T) - np.eye(20)).max() < 0.3


def test_a_stopped_attack_goes_on_and_says_the_same(planted, tmp_path):
    settings = settings_of(planted, 3, None, topics=1)
    whole, first, second = Counting(), Counting(stop=5), Counting()
    expected = train([System("x", whole)], planted, 8, 3, Results(None, settings), QUIET)
    with pytest.raises(KeyboardInterrupt):
        train([System("x", first)], planted, 8, 3, Results(tmp_path / "r", settings), QUIET)
    found = train([System("x", second)], planted, 8, 3, Results(tmp_path / "r", settings), QUIET)
    assert first.seeds + second.seeds == whole.seeds
    assert len(set(whole.seeds)) == 8
    np.testing.assert_array_equal(found["x"], expected["x"])
    more = train([System("x", second)], planted, 9, 3, Results(tmp_path / "r", settings), QUIET)
    np.testing.assert_array_equal(more["x"][:8], expected["x"])
    assert len(second.seeds) == 3 + 1


def test_a_model_is_kept_whole_or_not_at_all(planted, tmp_path, monkeypatch):
    results = Results(tmp_path / "r", {})

    def full(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match="No space left"):
            results.keep("x", 0, np.zeros(4))
    assert list((tmp_path / "r" / "x").iterdir()) == []
    assert results.get("x", 0, 4) is None


def test_results_of_another_attack_are_refused_in_one_line(planted, tmp_path):
    Results(tmp_path / "r", settings_of(planted, 0, None, topics=3, delta=1e-6))
    with pytest.raises(InputError, match="seed 0, not 1; topics 3, not 5"):
        Results(tmp_path / "r", settings_of(planted, 1, None, topics=5, delta=1e-6))
    prior = PriorTopics(np.eye(3), ("a", "b", "c"), "here", declared_public=True)
    with pytest.raises(InputError, match="prior None, not"):
        Results(tmp_path / "r", settings_of(planted, 0, prior, topics=3, delta=1e-6))
    other = of_counts(np.eye(4, dtype=int))
    with pytest.raises(InputError, match="corpus"):
        Results(tmp_path / "r", settings_of(other, 0, None, topics=3, delta=1e-6))


def test_folders_that_hold_something_else_are_refused(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="other files"):
        Results(tmp_path, {})
    with pytest.raises(InputError, match="--results"):
        Results(tmp_path / "mine.txt", {})
    (tmp_path / "settings.json").write_text("[")
    with pytest.raises(InputError, match="damaged"):
        Results(tmp_path, {})


@pytest.mark.parametrize("content", [b"", b"damaged", None])
def test_a_damaged_model_is_named(content, tmp_path):
    results = Results(tmp_path / "r", {})
    results.keep("x, epsilon 8", 2, np.zeros(3))
    (file,) = (tmp_path / "r").rglob("*.npy")
    assert file.parent.name == "x-epsilon-8"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"model-00002\.npy is damaged"):
        results.get("x, epsilon 8", 2, 4)


def test_a_model_without_topics_accuses_nobody_and_a_system_without_any_is_refused(planted):
    with pytest.raises(InputError, match=r"of x .*too few documents"):
        train([System("x", Counting(fail=True))], planted, 3, 0, Results(None, {}), QUIET)
    learned, failing = Counting(), Counting(fail=True)
    some = System("x", lambda counts, seed: (failing if len(learned.seeds) == 4 else learned)(counts, seed))
    likelihoods = train([some], planted, 8, 0, Results(None, {}), QUIET)["x"]
    assert np.isnan(likelihoods[4:]).all()
    assert (outcomes("x", likelihoods, planted.memberships(0, 8), 0, None)[0].scores[4:] == -np.inf).all()


def test_settings_tell_all_that_decides(planted):
    record = settings_of(planted, 0, None, topics=3)
    assert record == json.loads(json.dumps(record))
    changed = Targets(planted.counts, (*planted.words[:-1], "other"), planted.canaries)
    assert settings_of(changed, 0, None, topics=3)["corpus"] != record["corpus"]


def test_ordinary_topics_need_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(InputError, match=r"dplda\[attack\]"):
        ordinary_system(3)


def test_a_seed_gives_the_same_topics_and_words_that_are_left_out_none():
    pytest.importorskip("tomotopy")
    counts = sparse.csr_matrix(np.array([[5, 1, 0], [4, 2, 0], [0, 0, 0]]))
    first, second = (ordinary_system(2).learn(counts, 5) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first[:, 2].tolist() == [0, 0]
    assert first.sum(axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.full
def test_the_attack_finds_canaries_where_nothing_is_protected_and_no_more_than_is_allowed_elsewhere(planted):
    pytest.importorskip("tomotopy")
    systems = [ordinary_system(3)] + [
        dplda_system(planted, topics=3, placement=placement, epsilon=epsilon, delta=1e-6)
        for placement, epsilon in (("none", 8.0), ("default", 1.0))
    ]
    assert [system.name for system in systems] == [_ORDINARY, "no noise", "default, epsilon 1"]
    assert [system.statement and round(system.statement.epsilon, 1) for system in systems] == [None, None, 1.0]
    likelihoods = train(systems, planted, 12, 0, Results(None, {}), QUIET)
    for system in systems:
        found = outcomes(
            system.name, likelihoods[system.name], planted.memberships(0, 12), planted.canaries, system.statement
        )
        assert not any(outcome.exceeds for outcome in found)
        offline = next(outcome for outcome in found if outcome.targets == "canaries")
        share = offline.detections[-1].found
        assert share > 0.8 if system.statement is None else share < 0.5


def test_settings_that_a_fit_refuses_are_refused_at_once(planted):
    with pytest.raises(InputError, match="placement"):
        dplda_system(planted, topics=3, placement="elsewhere", epsilon=1.0)
    prior = PriorTopics(np.eye(3), ("w1", "w2", "w3"), "here", declared_public=True)
    with pytest.raises(InputError, match="prior"):
        dplda_system(planted, topics=3, placement="config2", epsilon=1.0, prior=prior)
    system = dplda_system(planted, topics=3, placement="default", epsilon=1.0, prior=prior)
    assert system.name == "default, epsilon 1, prior"
