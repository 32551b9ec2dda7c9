"""Runs that compare words by group: what they charge and release."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dplda
from dplda.base.errors import DpldaWarning, InputError
from dplda.private.attributes import OTHER
from dplda.private.statistics.word_indicators import INDICATOR_CLIP
from dplda.runs.group_words import least_groups, load_words
from dplda.runs.released_table import least_size

N, D = 3000, 40
RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(D)]
PRODUCTS = ["phone", "tablet", "toaster"]
OF = RNG.integers(0, 3, N)
RATE = np.full((3, D), 0.15)
RATE[0, 3], RATE[1, 7] = 0.6, 0.5  # the words that tell the first two products apart
COUNTS = (RNG.random((N, D)) < RATE[OF]) * RNG.integers(1, 4, (N, D))
LISTED = {"product": PRODUCTS}


def corpus(counts=COUNTS, units=None):
    groups = {"product": [PRODUCTS[each] for each in OF]}
    return dplda.Corpus.from_counts(counts, WORDS, units, name="c", groups=groups, unit=units and "person")


def truth(words=tuple(range(D))) -> np.ndarray:
    """Weighted document frequencies (4, n_words + 1), the last column of sizes."""
    total = np.zeros((4, len(words) + 1))
    for row, counts in zip(OF, COUNTS, strict=True):
        if counts.sum() >= 3:  # of any kind
            vector = np.append(counts[list(words)] > 0, 1.0)
            total[row] += vector / np.linalg.norm(vector)
    return total


def test_sums_are_the_exact_ones_with_the_noise_that_they_state(ledger):
    found = dplda.distinctive_words(WORDS, corpus(), "product", 2.0, groups=LISTED, ledger=ledger)
    (one,), (event,) = found, found.privacy.events
    assert one.std == pytest.approx(event.noise_multiplier * INDICATOR_CLIP, rel=1e-3)
    assert one.std < 1.1 * event.noise_multiplier
    for size in (0.99, 1.01):
        row = replace(one, counts=np.full_like(one.counts, size * least_size(one.std)))
        assert row.tells.tolist() == [size > 1] * len(one.counts)
    assert f"fewer than about {least_size(one.std) * 2**0.5:,.0f} documents" in least_groups(
        event, "add-remove", "document"
    )
    exact = truth()
    assert np.abs(one.totals - exact[:, :-1]).max() < 6 * one.std
    assert np.abs(one.counts - exact[:, -1]).max() < 5 * one.std
    assert one.groups == ((*PRODUCTS, OTHER),)
    phone, tablet, _, rest = one.distinctive()
    assert (phone[0].word, phone[0].certain) == ("w3", True)
    assert (tablet[0].word, tablet[0].certain) == ("w7", True)
    assert rest is None
    assert phone[0].lift.low <= 4 <= phone[0].lift.high
    (run,) = ledger.runs()
    assert (run.parameters["kind"], run.parameters["n_words"]) == ("words", D)
    assert [each.to_json() for each in load_words(run)] == [each.to_json() for each in found]


def test_no_other_word_is_certain():
    """Noise makes another one certain in up to one of twenty runs, so that this one has a seed."""
    found = dplda.distinctive_words(WORDS, corpus(), "product", 2.0, groups=LISTED, ledger=False, simulate_seed=0)
    certain = [[each.word for each in words or () if each.certain] for words in found[0].distinctive()]
    assert certain == [["w3"], ["w7"], [], []]


def test_the_noise_drawn_has_the_standard_deviation_that_is_stated():
    away, exact = [], truth()
    for seed in range(20):
        (one,) = dplda.distinctive_words(
            WORDS, corpus(), "product", 1.0, groups=LISTED, ledger=False, simulate_seed=seed
        )
        away.append((np.column_stack([one.totals, one.counts]) - exact) / one.std)
    found = np.array(away)
    assert found.std() == pytest.approx(1, abs=4 / math.sqrt(2 * found.size))


def test_words_that_no_document_can_contain_are_left_out_or_refused_before_the_charge(ledger):
    texts = [{"text": " ".join(["boiler"] * 2 + ["cold"] * 2), "team": f"t{i % 2}"} for i in range(400)]
    source = dplda.Corpus.from_texts(texts, name="c", group_fields="team")
    asked = {"groups": {"team": ["t0", "t1"]}, "ledger": ledger}
    with pytest.raises(InputError, match=r"0 of the 2 words .* 'the' \(a stop word\), .* Give other words\."):
        dplda.distinctive_words(["the", "hot water"], source, "team", 2.0, **asked)
    assert ledger.runs() == []
    with pytest.warns(DpldaWarning, match="2 of the 3 words of the word list can occur"):
        (one,) = dplda.distinctive_words(["Boiler", "cold", "the"], source, "team", 2.0, **asked)
    assert one.titles == ("boiler", "cold")
    assert one.totals[0, 0] > 100


def test_two_groups_are_compared_with_each_other_alone(ledger):
    (one,) = dplda.distinctive_words(
        WORDS, corpus(), epsilon=4.0, between=("product=toaster", "product=phone"), ledger=ledger
    )
    toaster, phone, rest = one.distinctive()
    frequencies = truth()[:, :-1] / truth()[:, [-1]].clip(1)
    assert (phone[0].word, phone[0].certain) == ("w3", True)
    for contrasts, row, other in ((phone, 0, 2), (toaster, 2, 0)):
        for each in contrasts:
            word = WORDS.index(each.word)
            assert not each.certain or frequencies[row, word] > frequencies[other, word]
            assert each.share.low <= frequencies[row, word] <= each.share.high
    assert rest is None


def test_words_of_a_model_are_those_it_released_and_its_run_is_named(model, ledger):
    made = replace(
        model,
        topics=np.full((len(model.topics), 4), 0.25),
        vocabulary=WORDS[:4],
        privacy=replace(model.privacy, sound=True, reason="", epsilon=1.0),
    )
    found = dplda.distinctive_words(made, corpus(), "product", 2.0, groups=LISTED, ledger=ledger)
    assert found[0].titles == tuple(WORDS[:4])
    assert found.of == (made.facts.run or "")
    not_private = replace(made, privacy=replace(made.privacy, sound=False, reason="for a test"))
    with pytest.raises(InputError, match="not private"):
        dplda.distinctive_words(not_private, corpus(), "product", 2.0, groups=LISTED, ledger=ledger)


def test_all_documents_count_however_short_the_list_is():
    few = [3, 7, 11, 12, 13, 14]
    (one,) = dplda.distinctive_words(
        [WORDS[word] for word in few], corpus(), "product", 50.0, groups=LISTED, ledger=False, simulate_seed=0
    )
    exact = truth(few)
    assert np.abs(one.totals - exact[:, :-1]).max() < 5 * one.std
    assert np.abs(one.counts - exact[:, -1]).max() < 5 * one.std


@pytest.mark.parametrize(
    ("words", "by", "message"),
    [
        ([], "product", "different words"),
        (["a", "a"], "product", "different words"),
        ("german:50", "product", r"words must be a list of words\. In Python, dplda\.wordlists\.german\(50\) makes"),
        ([1, 2], "product", "different words"),
        ([f"w{i}" for i in range(5001)], "product", "different words"),
        (WORDS, (), "groups"),
        (WORDS, "colour", "colour"),
    ],
)
def test_bad_input_spends_nothing(words, by, message, ledger):
    with pytest.raises(InputError, match=message):
        dplda.distinctive_words(words, corpus(), by, ledger=ledger)
    assert ledger.runs() == []
