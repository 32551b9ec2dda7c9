import dataclasses
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from store_helpers import documents_of

from dplda.base.errors import InputError
from dplda.private.store.fingerprint import fingerprint
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text.reading_options import Reading, Tokenization
from dplda.text.records import ReadOptions

LINES = [
    {"id": "a", "text": "Stars and planets, stars!", "who": "u"},
    {"id": "b", "text": "The and of", "who": "v"},
    {"id": "c", "text": "hockey goal", "who": "u"},
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "stores"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "talk.jsonl.gz"
    lines = [json.dumps(line) for line in LINES] + ["{broken", json.dumps({"text": "stars"})]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    return file


class Heard:
    """Progress that records its calls."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None]] = []
        self.done = 0

    def start(self, stage: str, total: int | None = None) -> None:
        self.stages.append((stage, total))

    def advance(self, amount: int = 1) -> None:
        self.done += amount

    def estimate(self, share: float) -> None:
        self.share = share


def test_text_becomes_counts_by_unit(path: Path) -> None:
    corpus = read_corpus(path, unit_field="who")
    assert (corpus.name, corpus.unit, corpus.public_vocabulary, corpus.notes) == ("talk", "who", None, [])
    store = corpus.open()
    assert documents_of(store) == [{"stars": 2, "planets": 1}, {}, {"hockey": 1, "goal": 1}]
    [block] = store.blocks()
    assert np.array_equal(block.units[0], block.units[2])
    assert not np.array_equal(block.units[0], block.units[1])
    assert block.ids.to_pylist() == ["a", "b", "c"]


def test_an_unknown_option_is_refused_before_anything_is_read() -> None:
    with pytest.raises(TypeError, match=r"'txt_field'.* format, text_field, "):
        read_corpus("nowhere", txt_field="body")  # type: ignore[call-arg]


def test_every_option_of_reading_is_used() -> None:
    used = {field.name for kind in (ReadOptions, Tokenization) for field in dataclasses.fields(kind)}
    assert set(Reading.__annotations__) == used | {"format"}


def test_none_is_the_default_of_every_option(path: Path) -> None:
    nothing = dict.fromkeys(Reading.__annotations__)
    assert read_corpus(path, **nothing).reading == read_corpus(path).reading  # type: ignore[misc]


def test_a_corpus_whose_unit_was_changed_does_not_open() -> None:
    corpus = Corpus.from_counts(np.eye(3, dtype=int), list("abc"), units=["ann", "bea", "cid"], unit="customer")
    corpus.unit = "document"
    with pytest.raises(InputError, match=r"'document'.*'customer'"):
        corpus.open()


def test_the_person_is_told_what_contributed_nothing(path: Path) -> None:
    corpus = read_corpus(path, unit_field="who")
    corpus.open()
    assert corpus.notes == [
        "5 documents read.",
        "1 contribute nothing: malformed.",
        "1 contribute nothing: no privacy unit.",
        "1 contribute nothing: no words left.",
        "1 contribute nothing: fewer than three words left.",
    ]
    again = read_corpus(path, unit_field="who")
    again.open()
    assert again.notes == corpus.notes


def test_quoted_line_breaks_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('text,n\n"stars\nplanets",1\n')
    assert documents_of(read_corpus(tmp_path / "x.csv").open()) == [{"stars": 1, "planets": 1}]


def test_a_file_that_no_writer_wrote_is_refused_unless_each_line_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('text,n\n"stars,1\nplanets,2\n')
    with pytest.raises(InputError, match="give --one-line"):
        read_corpus(tmp_path / "x.csv").open()
    assert documents_of(read_corpus(tmp_path / "x.csv", one_line=True).open()) == [{"stars": 1}, {"planets": 1}]


def test_a_pattern_chooses_files_of_a_folder_and_not_of_a_store(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / name).write_text("text\nplanets\n")
    corpus = read_corpus(tmp_path, pattern="[ab].csv")
    assert documents_of(corpus.open()) == [{"planets": 1}] * 2
    corpus.write(tmp_path / "store")
    with pytest.raises(InputError, match="is a prepared store"):
        read_corpus(tmp_path / "store", pattern="*.csv")


def test_counts_say_what_their_units_are() -> None:
    units = ["a", "b"]
    assert Corpus.from_counts(np.eye(2, dtype=int), ["x", "y"], units=units).unit == "unit"
    assert Corpus.from_counts(np.eye(2, dtype=int), ["x", "y"], units=units, unit="customer").unit == "customer"
    for wrong in ({"unit": "customer"}, {"units": units, "unit": "document"}):
        with pytest.raises(InputError, match="says what kind of unit"):
            Corpus.from_counts(np.eye(2, dtype=int), ["x", "y"], **wrong)


def test_nothing_is_prepared_before_open_and_only_once(path: Path, cache: Path) -> None:
    first, second = Heard(), Heard()
    corpus = read_corpus(path)
    assert not cache.exists()
    corpus.open(first)
    read_corpus(path).open(second)
    assert (first.stages, first.done) == ([("read", None)], 5)
    assert second.stages == []
    assert len(list(cache.iterdir())) == 1


def test_an_edited_file_is_read_again(path: Path) -> None:
    read_corpus(path).open()
    path.write_bytes(gzip.compress(b'{"text": "new words"}\n'))
    os.utime(path, ns=(1, 1))
    assert documents_of(read_corpus(path).open()) == [{"new": 1, "words": 1}]


def test_an_imported_store_is_a_corpus_with_the_same_fingerprint(path: Path, tmp_path: Path, cache: Path) -> None:
    corpus = read_corpus(path, unit_field="who")
    store = corpus.write(tmp_path / "prepared")
    assert not cache.exists()  # no second private copy
    again = read_corpus(tmp_path / "prepared")
    assert (again.name, again.unit) == ("talk", "who")
    assert documents_of(again.open()) == documents_of(store)
    assert again.notes == corpus.notes
    assert fingerprint(again.open(), b"k") == fingerprint(read_corpus(path, unit_field="who").open(), b"k")


def test_a_store_can_be_imported_again_with_its_notes(path: Path, tmp_path: Path) -> None:
    corpus = read_corpus(path, unit_field="who")
    corpus.write(tmp_path / "one")
    other = read_corpus(tmp_path / "one")
    other.write(tmp_path / "two")
    assert read_corpus(tmp_path / "two").name == "talk"
    assert other.notes == corpus.notes


def test_an_import_writes_over_nothing(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        read_corpus(path).write(tmp_path)


def test_a_store_has_no_columns_left_to_choose(path: Path, tmp_path: Path) -> None:
    read_corpus(path).write(tmp_path / "s")
    with pytest.raises(InputError, match="prepared store"):
        read_corpus(tmp_path / "s", unit_field="who")


def test_counts_in_memory_are_a_corpus() -> None:
    corpus = Corpus.from_counts(np.array([[1, 0], [0.5, 1]]), ["a", "b"], ["u", "u"], public_vocabulary=True, name="n")
    assert (corpus.name, corpus.unit, corpus.public_vocabulary) == ("n", "unit", ("a", "b"))
    assert documents_of(corpus.open()) == [{"a": 1}, {}]
    assert "1 contribute nothing: a count that" in corpus.notes[1]
    assert Corpus.from_counts(np.eye(2), ["a", "b"]).public_vocabulary is None


def test_a_count_file_needs_no_language(tmp_path: Path) -> None:
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2\n")
    assert documents_of(read_corpus(tmp_path / "x.mtx", language="qq").open()) == [{"word1": 2}]


def test_an_unknown_language_is_refused_before_anything_is_read(path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match="language 'qq'"):
        read_corpus(path, language="qq")
    assert not cache.exists()


def test_a_store_of_one_tokenizer_is_not_taken_for_that_of_another(path: Path, cache: Path) -> None:
    path.write_bytes(gzip.compress(b'{"text": "3.5km of rock\'n\'roll"}'))
    by = {name: read_corpus(path, tokenizer=name) for name in ("spacy", "fast")}
    assert documents_of(by["spacy"].open()) == [{"km": 1}]
    assert documents_of(by["fast"].open()) == [{"rock": 1, "roll": 1}]
    assert len(list(cache.iterdir())) == 2
    assert [corpus.open().reading["tokenizer"] for corpus in by.values()] == ["spacy", "fast"]


def test_a_tokenizer_that_cannot_do_the_language_is_refused_before_anything_is_read(path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match=r"'fast'.*'zh'"):
        read_corpus(path, language="zh", tokenizer="fast")
    with pytest.raises(InputError, match=r"tokenizer .*fast, spacy"):
        read_corpus(path, tokenizer="quick")
    assert not cache.exists()


def test_a_truncated_file_is_one_clear_line_and_leaves_no_store(tmp_path: Path, cache: Path) -> None:
    file = tmp_path / "x.jsonl.gz"
    lines = "".join(json.dumps({"text": f"stars {os.urandom(40).hex()}"}) + "\n" for _ in range(3000))
    file.write_bytes(gzip.compress(lines.encode())[:-5000])
    with pytest.raises(InputError, match="not a whole gzip file"):
        read_corpus(file).open()
    assert list(cache.iterdir()) == []


def test_shared_reviews_are_read_whole() -> None:
    data = os.environ.get("DPLDA_SHARED_DATA")
    if not data:
        pytest.skip("DPLDA_SHARED_DATA does not name the folder of real corpora")
    store = read_corpus(Path(data) / "imdb.jsonl.gz", text_field="text", unit_field="movie").open()
    assert store.n_documents == 100_000


@pytest.mark.parametrize("tokenizer", ["spacy", "fast"])
def test_stop_words_of_the_user_do_not_count(path: Path, tmp_path: Path, tokenizer: str) -> None:
    (tmp_path / "list.txt").write_text("Stars\n\n hockey \nplanet\n")
    for words in (["Stars", "planet", "hockey"], tmp_path / "list.txt", str(tmp_path / "list.txt")):
        corpus = read_corpus(path, stopwords=words, lemmas=True, tokenizer=tokenizer)
        assert {word for document in documents_of(corpus.open()) for word in document} == {"goal"}
        reading = corpus.open().reading
        assert corpus.reading == reading
        assert reading["stopwords"].startswith("3 words, sha256 ")


def test_other_stop_words_are_another_store_and_their_order_is_none(path: Path, cache: Path) -> None:
    one, same, other = (read_corpus(path, stopwords=words) for words in (["a", "b"], ["B", "a", "a"], ["a", "c"]))
    assert one.open().identity == same.open().identity != other.open().identity
    assert len(list(cache.iterdir())) == 2
    assert "stopwords" not in read_corpus(path, stopwords=[]).reading


def test_stop_words_that_cannot_work_are_refused_before_anything_is_read(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        read_corpus(path, stopwords=tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="stopwords must be words"):
        read_corpus(path, stopwords=[1])  # type: ignore[list-item]
    read_corpus(path).write(tmp_path / "store")
    with pytest.raises(InputError, match=r"stopwords.*prepared store"):
        read_corpus(tmp_path / "store", stopwords=["a"])
    (tmp_path / "c.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1\n")
    with pytest.raises(InputError, match=r"stopwords .* counts"):
        read_corpus(tmp_path / "c.mtx", stopwords=["a"])


def test_reading_reports_the_share_of_bytes_where_documents_are_not_counted_beforehand(path: Path) -> None:
    heard = Heard()
    read_corpus(path).open(heard)
    assert (heard.stages, heard.done, heard.share) == ([("read", None)], 5, 1.0)
