"""What is attacked: for each target its inputs, and what is done with one of them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

import dplda
from dplda.base.config import PrivacySettings
from dplda.budget import Ledger, accountant
from dplda.budget.events import Event, PrivacyStatement
from dplda.budget.ledger import _GRANT_RANGES
from dplda.budget.sketches import Fingerprint
from dplda.learning.settings import FitSettings
from dplda.model import TopicModel
from dplda.model.run_facts import RunFacts
from dplda.private.store.fingerprint import fingerprint
from dplda.text.formats import FORMATS
from dplda.text.word_files import read_word_list
from fuzz.commands import COMMAND_LINES, run_command
from fuzz.malformed import SAMPLES, any_json, any_number, changed, file_contents

ACCEPTED, REFUSED = "accepted", "refused"
ENCODINGS = (None, None, None, "utf-8", "utf-16", "latin-1", "utf-7", "punycode", "idna", "rot13", "hex", "\0", "")
FIELDS = (None, None, "text", "id", "who", "", "\ud800", "nowhere")
WORDS = ["red", "green", "blue", "gold"]


@dataclass(frozen=True)
class Target:
    """`inputs` to `attempt` in a folder that was made ready by `prepare`; `weight` is its share of all inputs."""

    inputs: st.SearchStrategy[Any]
    attempt: Callable[[Any, Any], str]
    prepare: Callable[[Path], Any] = lambda folder: folder
    weight: int = 1


def _read(path: Path, folder: Path, **options: Any) -> str:
    """Read every document of a corpus, and what a fit would take of it before the curator does."""
    corpus = dplda.read_corpus(path, tokenizer="fast", cache=folder / "cache", **options)
    fingerprint(corpus.open(), b"key")
    assert all("\n" not in note for note in corpus.notes)
    return ACCEPTED


def _readers(given: tuple[str, bytes, bool, dict[str, Any]], folder: Path) -> str:
    name, content, plain, options = given
    place = folder / "corpus"
    shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    place.mkdir()
    path = place / ("docword.x.txt" if name == "uci" else f"x.{name}")
    (place / "vocab.x.txt").write_text("\n".join(WORDS))
    (place / f"x.{name}.vocab").write_text("\n".join(WORDS))
    packed = gzip.compress(content)
    path = path if plain else path.with_name(path.name + ".gz")
    path.write_bytes(content if plain else packed[: len(packed) - len(content) % 3])  # a third of them whole
    return _read(path, folder, format=name, **options)


def _folder_of_files(given: list[tuple[str, bytes]], folder: Path) -> str:
    place = folder / "texts"
    shutil.rmtree(place, ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    place.mkdir()
    for name, content in given:
        (place / name).write_bytes(content)
    return _read(place, folder)


def _word_list(content: bytes, folder: Path) -> str:
    path = folder / "words.txt"
    path.write_bytes(content)
    read_word_list(path)
    return ACCEPTED


def _stored(folder: Path) -> Path:
    """A prepared store."""
    counts = np.random.default_rng(0).integers(0, 3, (20, len(WORDS)))
    dplda.Corpus.from_counts(counts, WORDS, units=list(range(20))).write(folder / "whole")
    return folder


def _damaged(given: tuple[int, Callable[[bytes], bytes]], whole: Path, copy: Path) -> Path:
    """A copy of the folder `whole`, one of whose files is changed."""
    which, change = given
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    files = sorted(copy.iterdir())
    file = files[which % len(files)]
    file.write_bytes(change(file.read_bytes()))
    return copy


def _store(given: tuple[int, Callable[[bytes], bytes]], folder: Path) -> str:
    return _read_prepared(_damaged(given, folder / "whole", folder / "copy"))


def _read_prepared(path: Path) -> str:
    fingerprint(dplda.read_corpus(path).open(), b"key")
    return ACCEPTED


def _saved(folder: Path) -> Path:
    """A saved model."""
    topics = np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), 2)
    statement = PrivacyStatement(
        epsilon=1.0, delta=1e-6, unit="document", adjacency="add-remove", sound=True,
        events=(Event(stage="size", noise_multiplier=8.0),),
    )  # fmt: skip
    facts = RunFacts(run="x-aaaaaa", alpha=(0.5, 0.5), documents=20)
    TopicModel(
        topics=topics, prevalence=np.array([0.5, 0.5]), vocabulary=tuple(WORDS), privacy=statement, facts=facts
    ).save(folder / "whole")
    return folder


def _model(given: tuple[int, Callable[[bytes], bytes]], folder: Path) -> str:
    model = dplda.load(_damaged(given, folder / "whole", folder / "copy"))
    model.privacy.to_json()
    return ACCEPTED


def _model_record(change: Callable[[Any], Any], folder: Path) -> str:
    """A model whose JSON is well formed, with any value in the place of one."""
    copy = _damaged((0, lambda content: content), folder / "whole", folder / "copy")
    record = json.loads((copy / "model.json").read_text())
    (copy / "model.json").write_text(json.dumps(change(record)))
    dplda.load(copy)
    return ACCEPTED


def _counts(given: tuple[Any, Any, Any], _: Path) -> str:
    counts, words, units = given
    fingerprint(dplda.Corpus.from_counts(counts, words, units).open(), b"key")
    return ACCEPTED


def _parameters(given: dict[str, Any], _: Path) -> str:
    FitSettings.of(**given)
    return ACCEPTED


def _accountant(given: tuple[list[dict[str, Any]], Any, Any], _: Path) -> str:
    """Whatever events can be made are added up, at every epsilon and delta that a grant may have."""
    records, epsilon, delta = given
    events = []
    for record in records:
        try:
            events.append(Event(stage="x", **record))
        except (ValueError, TypeError):  # the one answer to an event that cannot be; events come from plans, not users
            return REFUSED
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        _GRANT_RANGES[name].check(name, value)
    cost, whole = accountant.cost(events), accountant.capacity(epsilon, delta)
    found = accountant.gaussian_epsilon(cost.mu_squared**0.5, delta)
    assert not cost.mu_squared < 0
    assert found >= 0
    assert not (cost.fits(whole) and found > epsilon * (1 + 1e-6))
    return ACCEPTED


def _ledger_calls(given: list[tuple[str, dict[str, Any]]], folder: Path) -> str:
    ledger, refused = Ledger(folder / "ledger.db"), 0
    for name, values in given:
        try:
            if name == "grant":
                ledger.grant(**values)
            else:
                plan = {"dataset": "d", "unit": "document", "parameters": {}} | values
                asked = {name: plan.pop(name) for name in ("adjacency", "epsilon", "delta") if name in plan}
                privacy = PrivacySettings(**{"adjacency": "replace", "epsilon": 1.0, **asked})
                events = [Event(stage="x", noise_multiplier=100.0)]
                run = ledger.reserve(**plan, privacy=privacy, events=events, sound=True)
                run.bind(Fingerprint("f"))
                run.abandon("failed", "")
        except dplda.base.errors.DpldaError:
            refused += 1
    assert ledger.verify().ok
    return REFUSED if refused == len(given) else ACCEPTED


def _kept(folder: Path) -> tuple[Path, bytes, bytes]:
    """A ledger with a run, and its two files."""
    ledger = Ledger(folder / "whole.db")
    ledger.grant("d", 5.0, 1e-5)
    run = ledger.reserve(
        dataset="d", unit="document", privacy=PrivacySettings(epsilon=1.0, adjacency="replace"),
        events=[Event(stage="x", noise_multiplier=3.0)], parameters={}, sound=True,
    )  # fmt: skip
    run.bind(Fingerprint("f"))
    return folder, ledger.path.read_bytes(), ledger.key


def _ledger_file(change: Callable[[bytes], bytes], kept: tuple[Path, bytes, bytes]) -> str:
    folder, content, key = kept
    (folder / "copy.db").write_bytes(change(content))
    (folder / "copy.db.key").write_bytes(key)
    ledger = Ledger(folder / "copy.db")
    if ledger.verify().ok:
        ledger.datasets(), ledger.runs(), ledger.history("d")
        return ACCEPTED
    return REFUSED


def _value_replaced(path: list[int], value: Any) -> Callable[[Any], Any]:
    """Put `value` somewhere in a record of nested lists and dictionaries."""

    def change(record: Any) -> Any:
        if not path or not isinstance(record, (dict, list)) or not record:
            return value
        keys = list(record) if isinstance(record, dict) else list(range(len(record)))
        key = keys[path[0] % len(keys)]
        record[key] = _value_replaced(path[1:], value)(record[key])
        return record

    return change


_options = st.fixed_dictionaries(
    {},
    optional={
        "encoding": st.sampled_from(ENCODINGS),
        "text_field": st.sampled_from(FIELDS),
        "id_field": st.sampled_from(FIELDS),
        "unit_field": st.sampled_from(FIELDS),
        "one_line": st.booleans(),
    },
)
_arrays = st.one_of(
    st.lists(st.lists(any_number, max_size=5), max_size=5),
    st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=4),
    any_json,
    st.sampled_from(
        [
            np.zeros((2, 2, 2)), np.full((2, 4), np.nan), np.full((2, 4), 2.0**63), np.zeros((0, 4)), np.zeros((2, 0)),
            np.array([[object()] * 4]), np.array([["1"] * 4]), np.full((1, 4), 1j), np.float64(3),
            scipy.sparse.coo_array(([5, 5], ([0, 0], [1, 1])), shape=(1, 4)), scipy.sparse.eye_array(4, format="dia"),
        ]
    ),
)  # fmt: skip
_words = st.just(WORDS) | st.lists(any_json, max_size=5) | st.text(max_size=5)
_events = st.fixed_dictionaries(
    {},
    optional={
        "mechanism": st.sampled_from(["gaussian", "gaussian-threshold", "pure", "exact", "none"]),
        "noise_multiplier": st.none() | any_number | st.floats(1e-3, 1e6),
        "epsilon": st.none() | any_number,
        "delta": any_number | st.just(0.0),
        "count": any_number | st.integers(1, 3),
    },
)
_calls = st.one_of(
    st.tuples(
        st.just("grant"),
        st.fixed_dictionaries({"dataset": st.text() | any_json}, optional={"epsilon": any_number, "delta": any_number}),
    ),
    st.tuples(
        st.just("reserve"),
        st.fixed_dictionaries(
            {},
            optional={
                "dataset": st.text() | any_json,
                "unit": st.text() | any_json,
                "adjacency": st.sampled_from(["replace", "add-remove", "", "both"]),
                "epsilon": any_number,
                "delta": any_number,
                "parameters": st.dictionaries(st.text(max_size=5), any_json, max_size=3),
            },
        ),
    ),
)
_settings = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("topics", "epsilon", "delta", "placement", "adjacency", "max_vocabulary", "alpha0", "split"),
        any_json | any_number,
    )
    | {"max_document_frequency": any_number, "simulate_seed": any_number | any_json},
)
_file_names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
_damage = st.tuples(st.integers(0, 3), changed())

TARGETS = {
    "readers": Target(
        st.sampled_from([name for name in FORMATS if name != "folder"]).flatmap(
            lambda name: st.tuples(st.just(name), file_contents(SAMPLES[name]), st.integers(0, 4).map(bool), _options)
        ),
        _readers,
        weight=40,
    ),
    "folders of texts": Target(
        st.lists(
            st.tuples(_file_names.filter(lambda name: name not in (".", "..") and len(name.encode()) < 200),
                      file_contents(SAMPLES["text"])),
            max_size=4, unique_by=lambda pair: pair[0],
        ),
        _folder_of_files,
        weight=4,
    ),
    "word lists": Target(file_contents(SAMPLES["text"]), _word_list, weight=3),
    "counts": Target(
        st.tuples(_arrays, _words, st.none() | st.lists(any_json, max_size=5)),
        _counts,
        weight=12,
    ),
    "prepared stores": Target(_damage, _store, _stored, weight=12),
    "models": Target(_damage, _model, _saved, weight=6),
    "model records": Target(
        st.builds(_value_replaced, st.lists(st.integers(0, 9), max_size=4), any_json | any_number),
        _model_record, _saved, weight=12,
    ),
    "parameters": Target(_settings, _parameters, weight=8),
    "accountant": Target(
        st.tuples(st.lists(_events, max_size=3), any_number | st.floats(1e-6, 1e3), any_number | st.floats(1e-15, 0.1)),
        _accountant,
        weight=10,
    ),
    "ledger calls": Target(st.lists(_calls, min_size=1, max_size=2), _ledger_calls, weight=3),
    "ledger files": Target(changed(), _ledger_file, _kept, weight=8),
    "command line": Target(COMMAND_LINES, run_command, weight=12),
}  # fmt: skip
