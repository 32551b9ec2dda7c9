"""The sample corpus is readable, follows its planted themes and is the same on every machine."""

from __future__ import annotations

import collections
import gzip
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import spacy

from dplda.base.errors import InputError
from dplda.runs import sample
from dplda.runs.sample import _GENERAL, _SENTENCES, _THEMES

COMMITTED = Path(__file__).resolve().parents[2] / "corpora"
Documents = list[dict[str, str]]
ENGLISH = spacy.blank("en")
STOP_WORDS = ENGLISH.Defaults.stop_words


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write_sample(tmp_path_factory.mktemp("sample") / "new" / "folder")


@pytest.fixture(scope="module")
def documents(written: Path) -> Documents:
    with gzip.open(written, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def content(document: dict[str, str]) -> list[str]:
    return [w for w in re.findall("[a-z]+", document["text"].lower()) if w not in STOP_WORDS]


@pytest.mark.full
def test_committed_copy_is_what_the_generator_writes(written: Path) -> None:
    committed = COMMITTED / sample._CORPUS_FILE
    assert gzip.decompress(committed.read_bytes()) == gzip.decompress(written.read_bytes())
    assert (COMMITTED / sample.THEMES_FILE).read_bytes() == (written.parent / sample.THEMES_FILE).read_bytes()
    assert committed.stat().st_size <= 3_000_000


@pytest.mark.full
def test_gzip_header_carries_no_name_and_no_time(written: Path) -> None:
    header = written.read_bytes()[:10]
    assert header[3] == 0, "flags: no file name"
    assert header[4:8] == bytes(4), "no modification time"


def test_same_seed_same_documents_and_another_seed_others() -> None:
    first, again, other = (list(sample.sample_documents(50, 10, seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.full
def test_corpus_has_the_documented_size_and_columns(documents: Documents) -> None:
    assert len(documents) >= 20_000
    assert all(list(document) == ["id", "user", "section", "date", "text"] for document in documents)
    assert len({document["id"] for document in documents}) == len(documents)


def test_users_are_many_and_their_documents_heavy_tailed(documents: Documents) -> None:
    per_user = sorted(collections.Counter(document["user"] for document in documents).values())
    assert 3_000 <= len(per_user) <= 4_000
    assert per_user[-1] > 20 * per_user[len(per_user) // 2]


def test_documents_are_of_readable_length_with_enough_content(documents: Documents) -> None:
    lengths = [len(document["text"].split()) for document in documents]
    assert min(lengths) >= 40
    assert max(lengths) <= 100
    low, high = sample._CONTENT
    assert {len(content(document)) for document in documents} == set(range(low, high + 1))


def test_text_reads_as_sentences(documents: Documents) -> None:
    sentence = re.compile(r"[A-Z][a-z]*( [a-z]+[,:]?)* [a-z]+[.?]")
    for document in documents[:200]:
        for part in re.split(r"(?<=[.?]) ", document["text"]):
            assert sentence.fullmatch(part), part


def test_tokenizer_returns_exactly_the_planted_words(documents: Documents) -> None:
    for document in documents[:300]:
        tokens = ENGLISH.tokenizer(document["text"])
        kept = [token.lower_ for token in tokens if token.is_alpha and not token.is_stop]
        assert kept == content(document)


def test_lists_hold_plain_distinct_words_and_frames_hold_stop_words() -> None:
    for words in (*_THEMES.values(), _GENERAL):
        assert len(set(words)) == len(words) >= 60
        assert all(re.fullmatch("[a-z]{3,}", word) and word not in STOP_WORDS for word in words)
    for n_slots, frames in _SENTENCES.items():
        assert all(frame.count("{}") == n_slots for frame in frames)
        assert STOP_WORDS.issuperset(w.lower() for f in frames for w in re.findall("[A-Za-z]+", f))


def test_themes_overlap_a_little_and_never_with_general_words() -> None:
    assert len(_THEMES) == 8
    shared = {word for a, b in itertools.combinations(_THEMES.values(), 2) for word in set(a).intersection(b)}
    assert 3 <= len(shared) <= 20
    assert not set(_GENERAL).intersection(*[set().union(*_THEMES.values())])


def test_planted_themes_are_distributions_with_a_common_background() -> None:
    words, matrix = sample._planted_themes()
    assert words == sorted(set(words))
    assert matrix.shape == (8, len(words))
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    general = [words.index(word) for word in _GENERAL]
    np.testing.assert_allclose(matrix[:, general].sum(axis=1), sample._BACKGROUND)


def test_themes_file_holds_the_planted_distributions(written: Path) -> None:
    tables = json.loads((written.parent / sample.THEMES_FILE).read_text(encoding="utf-8"))
    words, matrix = sample._planted_themes()
    assert list(tables) == list(_THEMES)
    for row, table in zip(matrix, tables.values(), strict=True):
        np.testing.assert_allclose([table.get(word, 0.0) for word in words], row, atol=1e-8)


def test_word_frequencies_are_those_planted(documents: Documents) -> None:
    words, matrix = sample._planted_themes()
    found = collections.Counter(word for document in documents for word in content(document))
    share = np.array([found[word] for word in words]) / found.total()
    np.testing.assert_allclose(share, np.array(sample._ALPHA) / sum(sample._ALPHA) @ matrix, rtol=0.15)


def test_no_content_word_is_dropped_by_the_default_frequency_limit(documents: Documents) -> None:
    spread = collections.Counter(word for document in documents for word in set(content(document)))
    assert max(spread.values()) < 0.095 * len(documents)


def test_one_or_two_themes_lead_most_documents(documents: Documents) -> None:
    words, matrix = sample._planted_themes()
    place = {word: i for i, word in enumerate(words)}
    leading = []
    for document in documents[:1_000]:
        indices = [place[word] for word in content(document) if word not in _GENERAL]
        per_theme = np.sort((matrix[:, indices] > 0).sum(axis=1) / len(indices))
        leading.append(per_theme[-2:].sum())
    assert np.median(leading) > 0.7


def test_a_corpus_already_there_is_not_overwritten(written: Path) -> None:
    before = written.stat().st_mtime_ns
    with pytest.raises(InputError, match="already there"):
        sample.write_sample(written.parent)
    assert written.stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the sample into") as caught:
        sample.write_sample(tmp_path / "file" / "folder")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["n_documents", "n_users", "seed"])
def test_a_number_out_of_range_is_named_and_nothing_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"^{name} must be"):
        sample.write_sample(tmp_path / "out", **{name: -1})
    assert not (tmp_path / "out").exists()
