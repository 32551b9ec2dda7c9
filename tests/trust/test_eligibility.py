"""Documents that contribute nothing contribute nothing: no exact integer before noise, and no name, depends on them.

The law of docs/privacy.md, section 0. A row is eligible by itself: it can be read, its counts are whole and not
negative, it has three tokens, and a unit where units are declared.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_helpers import full_after
from hypothesis import given
from hypothesis import strategies as st
from placement_lists import EVERY

import dplda
import dplda.private.statistics as released
from dplda.base.errors import BudgetRefused, UnsupportedByData
from dplda.budget import Ledger
from dplda.cli.main import main
from dplda.private.attributes import OTHER, Attribute, Axis, TableRows
from dplda.private.curator import Curator
from dplda.private.passes.local_passes import LocalPasses
from dplda.private.statistics import Contribution, Statistic
from dplda.private.statistics.expected_counts import document_completion, table_proportions
from dplda.private.statistics.third_moment_products import has_products
from dplda.private.statistics.word_indicators import cell_counts, word_indicators
from dplda.private.statistics.word_pairs import pair_totals, word_pairs
from dplda.private.store.fingerprint import fingerprint
from dplda.runs.corpus import Corpus, synthetic

KEY = b"k" * 32
D = 10
WORDS = [f"w{word}" for word in range(D)]
PRODUCT, MONTH = Attribute("product"), Attribute("day", "month")
ROWS = TableRows((Axis(PRODUCT, ("phone", "tablet")), Axis(MONTH, ("2024-01",))))
_DRAW = np.random.default_rng(0)
ONES, X, WIDE = np.ones(D), np.linalg.qr(_DRAW.normal(size=(D, 2)))[0], _DRAW.normal(size=(D, 40))
TOPICS = _DRAW.dirichlet(np.ones(D), 2).T
CONTRIBUTIONS: dict[str, Contribution] = {
    "mean": released.first_moment(ONES),
    "pairs of words": released.second_moment(ONES),
    "subspace": released.second_moment_times(ONES, X),
    "core": released.core(ONES, X),
    "tensor": released.third_moment(X),
    "tensor by matrix products": released.third_moment(WIDE),
    "tensor, projected": released.projected_third_moment(ONES, X),
    "tensor, along a vector": released.third_moment_along(X, np.array([[1.0], [0.0]])),
    "refine": released.expected_counts(TOPICS, 0.5),
    "start": released.topic_proportions(TOPICS, 0.5),
    "prior gain": released.likelihood_gain(TOPICS, 0.5, ONES / D),
    "table": table_proportions(TOPICS, 0.5, len(ROWS)),
    "words by group": word_indicators(ONES, 1.0, len(ROWS)),
    "persons by group": cell_counts(ONES),
    "first words": word_pairs([range(D)], D),
    "totals of first words": pair_totals([range(D)], D),
    "predicted halves": document_completion(TOPICS, 0.5, ONES / D),
}

Row = tuple[list[float], Any, str | None, str | None]  # counts, unit, product, day

_units = st.integers(0, 4)
_groups = st.tuples(st.sampled_from(["phone", "tablet", "toaster", None]), st.sampled_from(["2024-01-31", "no day"]))
_counts = st.lists(st.integers(0, 3), min_size=D, max_size=D)
_enough = _counts.filter(lambda counts: sum(counts) >= 3)
_spoilt = st.builds(
    lambda counts, word, value: [value if w == word else float(count) for w, count in enumerate(counts)],
    _enough,
    st.integers(0, D - 1),
    st.sampled_from([float("nan"), 0.5, -1.0, 2.0**31, float("inf")]),
)
_short = st.lists(st.integers(0, D - 1), max_size=2).map(lambda words: [float(words.count(w)) for w in range(D)])


def _row(counts: Any, units: Any = _units) -> st.SearchStrategy[Row]:
    return st.builds(lambda counts, unit, groups: (counts, unit, *groups), counts, units, _groups)


ELIGIBLE = _row(_enough)
INELIGIBLE = st.one_of(_row(_short), _row(_spoilt))
WITHOUT_UNIT = _row(_enough, st.sampled_from([None, "", float("nan"), 2.0**53, 1e300]))


def corpus(rows: list[Row], by_person: bool) -> Corpus:
    counts, units, products, days = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Corpus.from_counts(
        np.array(counts, float).reshape(-1, D),
        WORDS,
        list(units) if by_person else None,
        groups={"product": list(products), "day": list(days)},
        refuse_weights=False,
        name="c",
    )


def exact(source: Corpus, n_ranges: int | None = None) -> dict[str, Any]:
    """Everything that the curator could add noise to, by name, and what the ledger sees."""
    store = source.open()
    passes = LocalPasses(store, n_ranges)
    (votes, full), groups = passes.count_votes(), passes.count_group_votes(PRODUCT, 1)
    found: dict[str, Any] = {
        "words": {word: vote for word, vote in zip(passes.dictionary, votes.tolist(), strict=True) if vote},
        "vote total": full,
        "size": passes.count_units(),
        "coins": passes.n_units(),
        "products": groups,
        "months": passes.count_group_votes(MONTH, 10),
    }
    passes.use_words(tuple(WORDS), ROWS)
    for name, contribution in CONTRIBUTIONS.items():
        total, mass = passes.clipped_sum(contribution, 0.7)
        bins = passes.clip_histogram(contribution, np.arange(passes.n_units()))
        found[name] = total.tolist(), mass, bins.tolist()
    passes.use_words(tuple(WORDS[:4]))
    found["size among other words"] = passes.count_units()
    moments = LocalPasses(store)
    moments.use_words(tuple(WORDS))
    found["moments"] = [np.asarray(part).tolist() for part in vars(moments.exact_moments(ONES / 2)).values()]
    seen = fingerprint(store, KEY)
    found["ledger"] = seen.code, seen.grouping, seen.sketch.to_text(), seen.sketch.members_to_text()
    return found


def test_every_statistic_of_the_package_is_tried() -> None:
    modules = [
        importlib.import_module(f"dplda.private.statistics.{found.name}")
        for found in pkgutil.iter_modules(released.__path__)
    ]
    statistics = {value for module in modules for value in vars(module).values() if isinstance(value, Statistic)}
    assert {contribution.statistic.name for contribution in CONTRIBUTIONS.values()} == {
        each.name for each in statistics
    }
    assert has_products(CONTRIBUTIONS["tensor by matrix products"])


@pytest.mark.filterwarnings("ignore:Most rows of counts hold values that are not counts")
@pytest.mark.parametrize("by_person", [True, False])
@given(st.data())
def test_an_ineligible_row_changes_no_exact_integer_and_no_name(by_person: bool, data: st.DataObject) -> None:
    rows = data.draw(st.lists(ELIGIBLE, max_size=12))
    more = data.draw(st.lists(INELIGIBLE | WITHOUT_UNIT if by_person else INELIGIBLE, min_size=1, max_size=6))
    mixed = list(rows)
    for row in more:
        mixed.insert(data.draw(st.integers(0, len(mixed))), row)
    alone = exact(corpus(rows, by_person))
    assert exact(corpus(mixed, by_person)) == alone
    assert exact(corpus(mixed, by_person), 3) == alone


@given(
    st.lists(st.tuples(st.integers(0, 3), st.text("abc ", min_size=0, max_size=12), st.sampled_from(["x", "y", None])))
)
def test_short_texts_change_nothing_wherever_they_stand_in_a_file(tmp_path_factory: Any, records: list[Any]) -> None:
    """Words that only short texts have enter the store's dictionary, and no vote names them."""
    records = [(0, "", "x"), *records]  # the columns of such a file are those of its records
    eligible = [{"text": f"alpha beta gamma w{unit}", "person": unit, "product": group} for unit, _, group in records]
    short = [{"text": text[:5], "person": unit, "product": group} for unit, text, group in records]
    short = [record for record in short if len(str(record["text"]).split()) < 3]
    nobody = [{**record, "person": person} for record in eligible for person in (None, 1e16)]
    folder = tmp_path_factory.mktemp("files")
    sides = []
    for name, listed in (("alone", eligible), ("mixed", [*short[:2], *nobody, *eligible, *short[2:]])):
        (folder / f"{name}.jsonl").write_text("\n".join(["", *map(json.dumps, listed)]) + "\n")
        store = dplda.read_corpus(
            folder / f"{name}.jsonl", unit_field="person", group_fields=["product"], cache=folder / "cache"
        ).open()
        passes = LocalPasses(store)
        votes, full = passes.count_votes()
        words = {word: vote for word, vote in zip(passes.dictionary, votes.tolist(), strict=True) if vote}
        seen = fingerprint(store, KEY)
        sides.append((words, full, passes.n_units(), passes.count_group_votes(PRODUCT, 2), seen, seen.sketch.to_text()))
    assert sides[0] == sides[1]


# Whole runs. With the columns of a matrix for words, a seeded run draws the same noise: what it releases is equal bit
# for bit.

N, K = 1500, 3
COUNTS = synthetic(N, 40, K, mean_length=40, seed=4)[0].toarray()
COLUMNS = [f"w{word:02}" for word in range(40)]


def planted(ineligible: int, by_person: bool, **options: Any) -> Corpus:
    """The planted documents, and `ineligible` rows among them."""
    rng = np.random.default_rng(1)
    counts, units = COUNTS.astype(float), [f"person {row // 3}" for row in range(N)]
    products, places = [("phone", "tablet")[row % 2] for row in range(N)], sorted(rng.integers(0, N, ineligible))[::-1]
    rows: list[Any] = list(zip(counts, units, products, strict=True))
    for number, place in enumerate(places):
        short, spoilt = np.zeros(40), counts[number].copy()
        short[number % 40] = number % 3
        spoilt[number % 40] = [np.nan, 0.5, -2.0][number % 3]
        nobody = by_person and number % 3 == 0
        unit = None if nobody else f"person {number % 400}"
        row = counts[number] if nobody else (short if number % 3 == 1 else spoilt)
        rows.insert(place, (row, unit, f"product {number % 4}"))
    matrix, owners, groups = zip(*rows, strict=True)
    return Corpus.from_counts(
        np.array(matrix), COLUMNS, owners if by_person else None, groups={"product": groups}, name="c", **options
    )


def seeded(source: Corpus, **options: Any) -> dict[str, Any]:
    try:
        model = dplda.fit(
            source,
            **{"n_topics": K, "epsilon": 8.0, "simulate_seed": 2, "ledger": False, "max_document_frequency": 1.0}
            | options,
        )
    except UnsupportedByData as error:
        return {"ended": str(error)}
    drop = ("run", "software")
    return {
        "topics": model.topics.tolist(),
        "words": list(model.vocabulary),
        "parameters": {name: value for name, value in model.facts.to_json().items() if name not in drop},
    }


RUNS: dict[str, dict[str, Any]] = {
    "private words": {},
    "public words": {"vocabulary": COLUMNS},
    "pairs of words": {"epsilon": 0.5, "vocabulary": COLUMNS},
    **{name: {"placement": name} for name in EVERY if name != "default"},
    "replacement": {"adjacency": "replace"},
    "seed words": {"seed_words": {"first": ["w01", "w02"]}},
}


@pytest.mark.parametrize("by_person", full_after(1, [True, False]))
@pytest.mark.parametrize("run", RUNS)
def test_a_seeded_fit_is_the_same_with_ineligible_rows(run: str, by_person: bool) -> None:
    assert seeded(planted(300, by_person), **RUNS[run]) == seeded(planted(0, by_person), **RUNS[run])


@pytest.fixture(scope="module")
def model() -> dplda.TopicModel:
    found = dplda.fit(planted(0, False), n_topics=K, epsilon=50.0, vocabulary=COLUMNS, ledger=False, simulate_seed=1)
    return replace(found, privacy=replace(found.privacy, sound=True, reason="", epsilon=1.0))


@pytest.mark.parametrize("by_person", [False, True])
def test_a_prior_is_tested_and_chosen_from_alike(model: dplda.TopicModel, by_person: bool) -> None:
    from dplda.runs.series import released_prior

    prior = released_prior(model)
    found = [seeded(planted(rows, by_person), prior=prior) for rows in (0, 300)]
    assert found[0] == found[1]
    assert found[0]["parameters"]["prior_used"]


QUERIES: dict[str, Callable[..., Any]] = {
    "tables of private groups": lambda model, source, **o: dplda.tabulate(model, source, ["product"], 8.0, **o),
    "tables of public groups": lambda model, source, **o: dplda.tabulate(
        model, source, ["product"], 8.0, groups={"product": ["phone", "product 1"]}, **o
    ),
    "evaluation": lambda model, source, **o: dplda.evaluate(model, source, 8.0, **o),
}


@pytest.mark.parametrize("by_person", full_after(1, [True, False]))
@pytest.mark.parametrize("query", QUERIES)
def test_a_seeded_query_is_answered_the_same(model: dplda.TopicModel, query: str, by_person: bool) -> None:
    answers = [
        QUERIES[query](model, planted(rows, by_person), simulate_seed=3, ledger=False).released() for rows in (0, 300)
    ]
    for answer in answers:
        answer.pop("run", None), answer.pop("evaluation", None)
    assert answers[0] == answers[1]


def test_a_series_goes_on_alike(tmp_path: Path) -> None:
    released = []
    for rows in (0, 300):
        ledger = Ledger(tmp_path / f"{rows}.db")
        ledger.grant("s", unbounded=True)
        weeks = [
            seeded(planted(rows, False), vocabulary=COLUMNS, ledger=ledger, series="s", batch=f"week {number}")
            for number in (1, 2)
        ]
        released.append([(week["topics"], week["words"]) for week in weeks])
    assert released[0] == released[1]


# What was shown by runs on earlier code, through the command line and from Python.


def ask(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_short_texts_name_no_groups_however_often_they_are_copied(model: dplda.TopicModel, home: Path) -> None:
    """Twelve copies of 900 documents "yes", "no" or empty released their groups under twelve grants of epsilon 1."""
    reading = {"language": "en", "lemmas": False, "tokenizer": "fast"}
    replace(model, facts=replace(model.facts, **reading)).save(home / "model")
    texts = [{"text": ("yes", "no", "")[number % 3], "product": f"secret {number % 3}"} for number in range(900)]
    for copy in range(3):
        lines = [*texts, *({"text": "another row", "product": "secret 0"} for _ in range(copy))]
        (home / f"copy{copy}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        given = ("--by", "product", "--epsilon", 1, "--tokenizer", "fast", "--quiet")
        assert ask("budget", "grant", f"copy{copy}", "--epsilon", 1, "--delta", 1e-6) == 0
        out = home / f"{copy}.json"
        assert ask("tabulate", "model", f"copy{copy}.jsonl", *given, "-o", out) == 0
        (table,) = [json.loads(out.read_text())]
        assert [group["group"] for group in table["groups"]] == [OTHER]
        assert "secret" not in out.read_text()
    records = Ledger().datasets()
    assert all(record.linked == (record.name,) for record in records)
    assert not any(record.fingerprints for record in records)  # the ledger has seen no document


def test_rows_without_a_unit_name_no_groups(model: dplda.TopicModel, tmp_path: Path) -> None:
    """990 rows without a unit cast 990 votes, where the size counted one unit."""
    counts = np.tile(COUNTS[:10], (100, 1))
    source = Corpus.from_counts(
        counts, COLUMNS, [None] * 990 + ["anna"] * 10, groups={"product": ["secret"] * 990 + ["known"] * 10}, name="c"
    )
    seen: dict[str, Any] = {}
    choose = Curator.choose_groups

    def watched(self: Curator, attribute: Attribute, most: int) -> tuple[str, ...]:
        seen["votes"], _ = self._passes.count_group_votes(attribute, most)
        seen["units"] = self._passes.count_units()
        return choose(self, attribute, most)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "choose_groups", watched)
        (table,) = dplda.tabulate(model, source, ["product"], 1.0, ledger=Ledger(tmp_path / "l.db"))
    assert (list(seen["votes"]), seen["units"], table.groups) == (["known"], 1, ((OTHER,),))


def test_texts_that_name_groups_are_refused_in_another_grouping(model: dplda.TopicModel, tmp_path: Path) -> None:
    ledger, counts = Ledger(tmp_path / "l.db"), COUNTS[:1000]

    def of(units: list[int], rows: int) -> Corpus:
        short = np.zeros((rows, 40))
        groups = {"product": ["phone"] * (1000 + rows)}
        return Corpus.from_counts(np.vstack([counts, short]), COLUMNS, units, unit="person", groups=groups, name="c")

    dplda.tabulate(model, of([row % 100 for row in range(1000)], 0), ["product"], 1.0, ledger=ledger)
    with pytest.raises(BudgetRefused, match="groups them otherwise"):
        dplda.tabulate(model, of(list(range(1500)), 500), ["product"], 1.0, ledger=ledger)


def test_a_file_without_eligible_rows_is_answered_like_an_empty_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("budget", "grant", "c", "--unbounded") == 0
    told = []
    for rows in ("", "yes,a\n,b\nno more,c\n"):
        (home / "c.csv").write_text(f"text,product\n{rows}")
        capsys.readouterr()
        assert ask("fit", "c.csv", "--topics", 2, "--simulate", "--quiet") == 4
        told.append(capsys.readouterr().err.splitlines()[-1].split("recorded as run")[0])
        run = Ledger().run("c")
        assert (run.fingerprint, run.grouping, run.status) == (None, None, "unsupported")
    assert told[0] == told[1]
    assert "too few" in told[0]


def test_corpora_without_eligible_rows_are_not_linked(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    for name in ("a", "b"):
        source = Corpus.from_counts(np.eye(3, 40), COLUMNS, name=name)
        with pytest.raises(UnsupportedByData):
            dplda.fit(source, n_topics=2, epsilon=1.0, ledger=ledger)
    assert ledger.dataset("a").linked == ("a",)
