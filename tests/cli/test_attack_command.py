"""`dplda audit attack` tells what was found beside what is allowed, resumes, and touches no ledger."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dplda.audit import shadow_models
from dplda.audit.shadow_models import System

ATTACK = ("audit", "attack", "tweets.jsonl", "--public", "--text-field", "text", "-k", 2, "--models", 8, "--epsilon", 4)


@pytest.fixture
def tweets(home: Path) -> Path:
    rng = np.random.default_rng(0)
    words = np.array([f"word{chr(97 + i)}{chr(97 + j)}" for i in range(4) for j in range(6)])
    lines = [json.dumps({"author": str(i % 9), "text": " ".join(rng.choice(words, 8))}) for i in range(90)]
    (home / "tweets.jsonl").write_text("\n".join(lines))
    return home / "tweets.jsonl"


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the models that were trained; training is replaced by counting words."""
    seeds: list[int] = []

    def learn(counts, seed: int) -> np.ndarray:
        seeds.append(seed)
        share = np.asarray(counts.sum(axis=0)).ravel() + 0.01
        return share[None] / share.sum()

    def system(targets, **chosen) -> System:
        real = dplda_system(targets, **chosen)
        return System(real.name, learn, real.statement)

    dplda_system = shadow_models.dplda_system
    monkeypatch.setattr(shadow_models, "dplda_system", system)
    monkeypatch.setattr(shadow_models, "ordinary_system", lambda topics: System(shadow_models._ORDINARY, learn))
    return seeds


def test_a_whole_attack(dplda, tweets, any_size, home) -> None:
    told = dplda(*ATTACK, "--draw", "curves.svg", "--canaries", 5)
    assert told.status == 0, told.err
    assert "default, epsilon 4" in told.out
    assert "8 shadow models with 2 topics over 24 words" in told.out
    assert (home / "curves.svg").read_text().startswith("<?xml")
    assert not (home / "ledger.db").exists()


def test_every_system_is_attacked(dplda, tweets, any_size, fitted) -> None:
    told = dplda(*ATTACK, "--epsilon", 1, "--placement", "none", "--placement", "default", "--ordinary", "--json")
    record = told.json
    names = ["ordinary LDA", "no noise", "default, epsilon 4", "default, epsilon 1"]
    assert list(dict.fromkeys(one["system"] for one in record["results"])) == names
    assert len(record["results"]) == 4 * 2 * 2
    assert (record["documents"], record["words"], record["models"], record["topics"]) == (90, 24, 8, 2)
    last = record["results"][-1]
    assert set(last) >= {"ratio", "targets", "false_alarms", "found", "low", "high", "gaussian", "definition"}
    assert record["results"][0]["gaussian"] is None
    assert 0.01 < last["gaussian"] < last["definition"] < 0.03


def test_a_second_call_trains_what_is_missing(dplda, tweets, fitted) -> None:
    first = dplda(*ATTACK, "--results", "kept", "--json")
    assert len(fitted) == 8
    assert dplda(*ATTACK, "--results", "kept", "--json").json == first.json
    assert len(fitted) == 8
    dplda(*ATTACK, "--results", "kept", "--models", 10)
    assert len(fitted) == 10
    told = dplda(*ATTACK, "--results", "kept", "-k", 3)
    assert told.status == 2
    assert "--results kept" in told.err
    assert "topics 2, not 3" in told.err
    assert len(fitted) == 10


def test_more_than_is_allowed_ends_with_status_5(dplda, tweets, monkeypatch) -> None:
    """A system that claims epsilon 4 and releases which documents it saw."""

    def leaking(targets, **chosen) -> System:
        real = dplda_system(targets, **chosen)

        def learn(counts, seed: int) -> np.ndarray:
            share = np.asarray(counts[:, -40:].sum(axis=0)).ravel() + 1e-3
            return np.concatenate([np.full(counts.shape[1] - 40, 1e-3), share])[None]

        return System(real.name, learn, real.statement)

    dplda_system = shadow_models.dplda_system
    monkeypatch.setattr(shadow_models, "dplda_system", leaking)
    told = dplda(*ATTACK, "--canaries", 40)
    assert told.status == 5
    assert "refuted: default, epsilon 4" in told.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--models", 4), "models must be a whole number in [8"),
        (("--canaries", -1), "canaries must be a whole number in [0"),
        (("--topics", 0), "topics must be"),
        (("--epsilon", 0), "epsilon must be"),
        (("--delta", 2), "delta must be"),
        (("--seed", -1), "seed must be"),
        (("--placement", "elsewhere"), "placement must be one of"),
        (("--draw", "tweets.jsonl"), "tweets.jsonl exists already"),
        (("--draw", "no/where.svg"), "the folder of no/where.svg does not exist"),
        (("--unit-field", "author"), "No such option"),
        (("--public-prior",), "--public-prior is about --prior"),
        (("--prior", "tweets.jsonl"), "say so with --public-prior"),
        (("--prior", "tweets.jsonl", "--public-prior"), "must not be learned from files of CORPUS"),
    ],
)
def test_mistakes_are_told_in_one_line(dplda, tweets, fitted, options, message) -> None:
    told = dplda(*ATTACK, "--quiet", *options)
    assert told.status == 2
    assert message in told.err
    assert len(told.err.splitlines()) == 1
    assert not told.out
    assert not fitted


def test_a_corpus_must_be_declared_public(dplda, tweets, fitted) -> None:
    told = dplda("audit", "attack", "tweets.jsonl", "--text-field", "text")
    assert told.status == 2
    assert "say so with --public" in told.err
    assert not fitted


def test_a_store_of_people_is_refused(dplda, tweets, fitted) -> None:
    people = ("--text-field", "text", "--unit-field", "author")
    assert dplda("corpus", "import", "tweets.jsonl", "people", *people).status == 0
    told = dplda("audit", "attack", "people", "--public", "-k", 2, "--models", 8)
    assert told.status == 2
    assert "'author'" in told.err
    assert not fitted


def test_an_interrupted_attack_says_how_to_go_on(dplda, tweets, monkeypatch) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shadow_models, "train", stop)
    told = dplda(*ATTACK, "--results", "kept")
    assert told.status == 130
    assert "kept in kept: the same command goes on" in told.err
    assert "takes --results FOLDER" in dplda(*ATTACK).err


def test_options_of_the_audit_are_not_taken_for_those_of_the_attack(dplda, tweets) -> None:
    told = dplda("audit", "--epsilon", 1, "attack", "tweets.jsonl", "--public")
    assert told.status == 2
    assert "behind its name" in told.err
