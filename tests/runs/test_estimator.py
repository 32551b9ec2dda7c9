"""The scikit-learn estimator keeps scikit-learn's contract and ours."""

from __future__ import annotations

import pickle
import sys
import traceback

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dplda
from dplda import Ledger, PrivateLDA
from dplda.base.errors import BudgetRefused, DpldaWarning, InputError, LedgerError, NoisyTopicsWarning
from dplda.runs.corpus import Corpus, synthetic

pytestmark = pytest.mark.usefixtures("any_size")  # scikit-learn's checks fit some rows, most of which are no counts


NAMES = [f"term{n}" for n in range(60)]


@pytest.fixture(scope="module")
def planted():
    return synthetic(n_documents=3000, n_words=60, n_topics=3, mean_length=60, seed=5)


@parametrize_with_checks([PrivateLDA(n_components=2, simulate_seed=0, ledger=False)])
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Most rows of counts hold values that are not counts")
def test_check_estimator(estimator, check):
    check(estimator)


def test_without_scikit_learn_one_line_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "dplda.runs.estimator")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(InputError, match=r"^[^\n]*pip install 'dplda\[sklearn\]'\.$"):
        _ = dplda.PrivateLDA


def test_topics_are_found_again_and_documents_get_proportions(planted):
    counts, topics, _ = planted
    estimator = PrivateLDA(n_components=3, epsilon=20.0, simulate_seed=1, ledger=False).fit(counts)
    distance = np.abs(estimator.components_[:, None] - topics[None]).sum(axis=2)
    assert distance.min(axis=0).mean() < 0.2
    assert estimator.transform(counts).shape == (3000, 3)
    assert estimator.get_feature_names_out().tolist() == ["privatelda0", "privatelda1", "privatelda2"]
    assert not estimator.privacy_.sound


def test_the_rows_of_a_matrix_may_be_of_persons_who_are_then_protected(planted):
    counts, owners = planted[0], np.arange(3000) // 3
    estimator = PrivateLDA(n_components=3, epsilon=20.0, simulate_seed=1, ledger=False)
    assert estimator.fit(counts).privacy_.unit == "document"
    assert estimator.fit(counts, units=owners).privacy_.unit == "unit"
    assert estimator.fit(counts, units=owners, unit="customer").privacy_.unit == "customer"
    for name in ("movie", 5):
        assert estimator.fit(counts, units=pd.Series(owners, name=name)).privacy_.unit == str(name)
    with pytest.raises(InputError, match="unit_field='person'"):
        estimator.fit(["one text here", "two texts here"], units=[1, 2])


def test_a_fit_without_a_seed_is_private_charged_and_refused_in_the_end(planted, tmp_path):
    counts = planted[0][:500]
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.grant("survey", 10.0, 1e-5)
    estimator = PrivateLDA(n_components=3, epsilon=6.0, dataset="survey", ledger=ledger, public_vocabulary=NAMES)
    assert estimator.fit(counts).privacy_.sound
    assert ledger.dataset("survey").spent.mu_squared > 0
    estimator.fit(counts)
    with pytest.raises(BudgetRefused):
        estimator.fit(counts)


def test_unnamed_counts_share_one_budget(planted, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    for rows in (planted[0][:300], planted[0][300:600]):
        PrivateLDA(n_components=2, ledger=ledger, public_vocabulary=NAMES).fit(rows)
    assert [record.name for record in ledger.datasets()] == ["unnamed"]


def test_more_topics_than_words_is_bad_input():
    with pytest.raises(InputError, match=r"topics=5 .* 3"):
        PrivateLDA(n_components=5, simulate_seed=0, ledger=False).fit(np.ones((10, 3), int))


def test_it_stands_in_a_pipeline(planted):
    pipeline = make_pipeline(PrivateLDA(n_components=2, simulate_seed=0, ledger=False), Normalizer())
    assert pipeline.fit_transform(planted[0][:200]).shape == (200, 2)


def test_random_state_is_refused_with_the_name_of_the_argument_to_use():
    with pytest.raises(InputError, match=r"random_state.* NOT PRIVATE.* simulate_seed"):
        PrivateLDA(random_state=0)
    with pytest.raises(ValueError, match="'random_state'"):
        PrivateLDA().set_params(random_state=0)
    with pytest.raises(TypeError, match="'topics'"):
        PrivateLDA(topics=3)


def test_seeded_noise_is_recorded_unless_no_ledger_is_asked_for(planted, tmp_path, monkeypatch):
    monkeypatch.setenv("DPLDA_LEDGER", str(tmp_path / "ledger.db"))
    counts = planted[0][:300]
    for name in ("unnamed", "survey"):
        dataset = None if name == "unnamed" else name
        seeded = PrivateLDA(n_components=2, simulate_seed=0, dataset=dataset, public_vocabulary=NAMES)
        with pytest.raises(BudgetRefused, match=f"grant {name} --unbounded"):
            seeded.fit(counts)
        Ledger().grant(name, unbounded=True)
        assert not seeded.fit(counts).privacy_.sound
    assert [run.sound for run in Ledger().runs()] == [False, False]


def test_an_estimator_with_a_ledger_is_cloned_pickled_and_searched(planted, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    estimator = PrivateLDA(n_components=2, dataset="survey", ledger=ledger, public_vocabulary=NAMES)
    for copy in (clone(estimator), pickle.loads(pickle.dumps(estimator))):
        assert copy.ledger.path == ledger.path
        assert copy.fit(planted[0][:200]).privacy_.sound
    assert len(ledger.runs()) == 2
    for name in ("ledger.db", "ledger.db.key"):
        (tmp_path / name).unlink()
    for another in (False, True):
        if another:
            Ledger(tmp_path / "ledger.db")
        with pytest.raises(LedgerError, match="is not the ledger that was copied"):
            clone(estimator)
        assert (tmp_path / "ledger.db").exists() == another


def test_a_vocabulary_that_nobody_declared_public_is_warned_of(planted, tmp_path):
    counts, ledger = planted[0][:300], Ledger(tmp_path / "ledger.db")
    ledger.grant("survey")  # without which there is another warning
    estimator = PrivateLDA(n_components=2, dataset="survey", ledger=ledger)
    with pytest.warns(UserWarning, match=r"NOT PRIVATE.*public_vocabulary=WORDS") as caught:
        estimator.fit(pd.DataFrame(counts.toarray(), columns=NAMES))
    assert [each.filename for each in caught if each.category is not NoisyTopicsWarning] == [__file__]  # noise decides
    with pytest.warns(UserWarning, match=r"word0, word1, .*public_vocabulary=WORDS"):
        model = estimator.set_params(public_vocabulary=True).fit(counts).model_
    assert set(model.vocabulary) <= {f"word{column}" for column in range(60)}, "noise may leave out some"


def test_the_columns_of_a_pipeline_may_be_named_for_the_model_that_it_learns(tmp_path):
    words = np.array(["stars", "goal", "planets", "hockey", "team"])
    topics = PrivateLDA(2, epsilon=9.0, ledger=Ledger(tmp_path / "ledger.db"), public_vocabulary=words)
    pipeline = clone(make_pipeline(CountVectorizer(vocabulary=words), topics)).fit(TEXTS * 20)
    assert set(pipeline[-1].model_.vocabulary) <= set(words)  # a warning would be an error
    assert pipeline[-1].get_params()["public_vocabulary"].tolist() == words.tolist()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["stars", "goal"], "has 2 words, and X has 3 columns"),
        (["stars", "goal", "stars"], "must not repeat a word"),
        ({"stars", "goal", "team"}, "a list of words in the order of the columns"),
        ("stars", "a list of words"),
        (["stars", "goal", 3], "a list of words"),
        (["goal", "stars", "team"], "another order"),
    ],
)
def test_names_that_do_not_fit_the_columns_are_refused_and_nothing_is_charged(tmp_path, names, message):
    ledger = Ledger(tmp_path / "ledger.db")
    table = pd.DataFrame(np.ones((50, 3), int), columns=["stars", "goal", "team"])
    with pytest.raises(InputError, match=rf"^public_vocabulary [^\n]*{message}"):
        PrivateLDA(2, ledger=ledger, public_vocabulary=names).fit(table)
    with pytest.raises(InputError, match="vocabulary=WORDS"):
        PrivateLDA(2, ledger=ledger, public_vocabulary=["stars", "goal"]).fit(TEXTS)
    assert list(ledger.runs()) == []


def test_a_private_vocabulary_is_refused(planted, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    with pytest.raises(InputError, match="public_vocabulary=False"):
        PrivateLDA(n_components=2, ledger=ledger, public_vocabulary=False).fit(planted[0])
    assert list(ledger.runs()) == []


TEXTS = ["stars planets stars", "hockey goal planets", "stars goal", "goal hockey team"] * 20


@pytest.mark.parametrize("broken", ["tf-idf", "negative", "nan"])
def test_weights_in_place_of_counts_are_refused_and_nothing_is_charged(tmp_path, broken):
    ledger = Ledger(tmp_path / "ledger.db")
    tfidf = TfidfVectorizer()
    weights = tfidf.fit_transform(TEXTS)
    if broken != "tf-idf":
        weights.data[:] = -1.0 if broken == "negative" else np.nan
    estimator = PrivateLDA(n_components=2, ledger=ledger, public_vocabulary=tfidf.get_feature_names_out())
    with pytest.raises(InputError, match=r"Most rows.*CountVectorizer"):
        estimator.fit(weights)
    assert list(ledger.runs()) == []


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.uint8, np.bool_])
def test_whole_numbers_of_any_type_are_counts(kind):
    counts = CountVectorizer().fit_transform(TEXTS).astype(kind)
    assert Corpus.from_counts(counts, [f"word{n}" for n in range(counts.shape[1])]).open().defects == {}


def test_few_rows_that_are_no_counts_do_not_stop_a_run():
    counts = np.ones((10, 4))
    counts[:5, 0] = 0.5
    assert Corpus.from_counts(counts, list("abcd")).open().defects == {"BAD_COUNT": 5}
    counts[5, 0] = 0.5
    with pytest.raises(InputError, match="Most rows"):
        Corpus.from_counts(counts, list("abcd"))
    with pytest.warns(DpldaWarning, match="Most rows .* In this simulation these rows contribute nothing"):
        assert Corpus.from_counts(counts, list("abcd"), refuse_weights=False).open().defects == {"BAD_COUNT": 6}


def test_words_too_rare_to_be_learned_have_no_share_in_any_topic():
    counts, *_ = synthetic(200, 300, 3, mean_length=40, seed=0)
    found = PrivateLDA(3, epsilon=1.0, simulate_seed=0, ledger=False).fit(counts)
    learned = found.components_.sum(axis=0) > 0
    assert found.components_.shape == (3, 300)
    assert learned.sum() == len(found.model_.vocabulary) < 300
    np.testing.assert_allclose(found.components_.sum(axis=1), 1)
    shares = found.transform(counts)
    np.testing.assert_allclose(shares, found.model_.transform(counts[:, learned]))


def test_the_options_of_a_fit_reach_it(planted, tmp_path):
    counts = planted[0][:300]
    options = {"n_components": 2, "simulate_seed": 0, "ledger": False}
    estimator = PrivateLDA(out=tmp_path / "model", **options).fit(counts)
    assert np.array_equal(dplda.load(tmp_path / "model").topics, estimator.model_.topics)
    with pytest.raises(InputError, match="the split must name its edges"):
        PrivateLDA(placement="config2", split={"e1": 1.0}, **options).fit(counts)
    with pytest.raises(InputError, match="calibration published"):
        PrivateLDA(calibration="published", **options).fit(counts)
    seconds = {}
    PrivateLDA(seconds=seconds, **options).fit(counts)
    assert "read" in seconds
    for name, value in (("vocabulary", ["a", "b"]), ("max_vocabulary", 10), ("words", "private")):
        with pytest.raises(InputError, match=f"{name} chooses words of texts"):
            PrivateLDA(**{name: value}, **options).fit(counts)


def test_texts_and_corpora_are_learned_from_like_by_fit():
    words = ["stars", "planets", "hockey", "goal", "team"]
    options = {"simulate_seed": 0, "ledger": False, "epsilon": 50.0, "vocabulary": words}
    found = PrivateLDA(2, **options).fit(TEXTS)
    same = dplda.fit(Corpus.from_texts(TEXTS), n_topics=2, **options)
    assert np.array_equal(found.model_.topics, same.topics)
    assert np.array_equal(found.components_, same.topics)
    assert np.array_equal(PrivateLDA(2, **options).fit(Corpus.from_texts(TEXTS)).components_, same.topics)
    proportions = found.transform([*TEXTS[:3], "", None])
    assert proportions.shape == (5, 2)
    assert isinstance(proportions, np.ndarray)
    np.testing.assert_allclose(proportions[3:], np.tile(same.alpha / same.alpha.sum(), (2, 1)))
    counts = CountVectorizer(vocabulary=same.vocabulary).transform(TEXTS[:3])
    np.testing.assert_allclose(found.transform(counts), proportions[:3])


def test_a_score_is_refused_with_the_reason_and_a_search_ends_before_it_spends_anything(planted, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    estimator = PrivateLDA(n_components=2, ledger=ledger, public_vocabulary=NAMES)
    with pytest.raises(InputError, match=r"no score: .*NOT PRIVATE.*dplda\.evaluate"):
        estimator.score(planted[0])
    with pytest.raises(AttributeError) as refused:  # scikit-learn's own sentence, with ours as its cause
        make_pipeline(estimator).score(planted[0])
    assert "dplda.evaluate" in str(refused.value.__cause__)
    for search in (
        lambda: GridSearchCV(estimator, {"n_components": [2, 3]}).fit(planted[0]),
        lambda: cross_val_score(estimator, planted[0]),
        lambda: GridSearchCV(make_pipeline(estimator), {"privatelda__n_components": [2]}).fit(planted[0]),
    ):
        with pytest.raises(TypeError, match="score"):
            search()
    assert list(ledger.runs()) == []


def test_a_table_with_a_column_of_text_is_refused_without_quoting_it():
    table = pd.DataFrame({"text": ["a secret sentence", "another"], "n": [1, 2]})
    for given in (table, table.to_numpy()):
        with pytest.raises(InputError, match="column of text") as refused:
            PrivateLDA(n_components=2, simulate_seed=0, ledger=False).fit(given)
        assert "secret" not in "".join(traceback.format_exception(refused.value))


def test_notebooks_show_a_fitted_estimator_and_a_pipeline_of_it(planted):
    estimator = PrivateLDA(n_components=3, epsilon=20.0, simulate_seed=1, ledger=False).fit(planted[0])
    assert not hasattr(estimator, "score")
    for shown in (estimator, make_pipeline(estimator)):
        assert "components_" in shown._repr_html_inner()
        assert "text/html" in shown._repr_mimebundle_()


def test_a_fit_of_texts_forgets_the_columns_of_a_matrix_before_it():
    counts, _, _ = synthetic(n_documents=400, n_words=60, n_topics=3, mean_length=60, seed=5)
    estimator = PrivateLDA(n_components=2, simulate_seed=0, ledger=False).fit(counts)
    assert estimator.n_features_in_ == 60
    texts = ["boiler pipe heating cold", "invoice money payment bank"] * 300
    words = sorted({word for text in texts for word in text.split()})
    estimator.set_params(vocabulary=words).fit(texts)
    assert not hasattr(estimator, "n_features_in_")
    assert estimator.transform(np.ones((2, len(estimator.model_.vocabulary)))).shape == (2, 2)
