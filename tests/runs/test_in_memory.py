"""Corpora from texts and tables in memory."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from gensim.corpora import Dictionary
from store_helpers import documents_of

import dplda
from dplda.base.errors import InputError
from dplda.budget import Ledger
from dplda.runs.corpus import Corpus, read_corpus
from dplda.text.records import Defect

TEXTS = ["Stars and planets, stars!", "hockey goal"]
COUNTS = [{"stars": 2, "planets": 1}, {"hockey": 1, "goal": 1}]
SHORT = {Defect.FEW_WORDS.name: 1}  # the second text
WHO = ["ann", "bea"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPLDA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "stores"


def counts_of(corpus: Corpus) -> list[dict[str, int]]:
    return documents_of(corpus.open())


def records() -> list[dict[str, Any]]:
    return [{"body": text, "who": who, "id": str(n)} for n, (text, who) in enumerate(zip(TEXTS, WHO, strict=True))]


def generated(items: list[Any]) -> Iterator[Any]:
    yield from items


COLUMNS: dict[str, Any] = {
    "list": lambda texts: texts,
    "tuple": tuple,
    "generator": generated,
    "numpy": np.array,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_texts_of_any_kind_are_counted(kind: str) -> None:
    assert counts_of(Corpus.from_texts(COLUMNS[kind](TEXTS), name="talk")) == COUNTS


@pytest.mark.parametrize("make", [list, generated])
def test_records_are_read_by_field(make: Any) -> None:
    corpus = Corpus.from_texts(make(records()), text_field="body", unit_field="who")
    store = corpus.open()
    assert (corpus.unit, documents_of(store)) == ("who", COUNTS)
    [block] = store.blocks()
    assert block.ids.to_pylist() == ["0", "1"]


def test_a_table_that_is_read_again_is_known_while_it_exists() -> None:
    """Columns to group by may be named when a table is read again, after a fit."""
    table = pd.DataFrame({"text": TEXTS, "who": ["a", "b"]})
    first = Corpus.from_table(table, unit_field="who")
    again = Corpus.from_table(table, unit_field="who", text_field="text", group_fields=["who"])
    assert again.identity == first.identity
    assert Corpus.from_table(table).identity != first.identity, "other units"
    assert Corpus.from_table(table.copy(), unit_field="who").identity != first.identity
    known = first.identity
    del table, first, again
    gc.collect()
    other = [Corpus.from_table(pd.DataFrame({"text": TEXTS, "who": ["a", "b"]}), unit_field="who") for _ in range(9)]
    assert known not in {each.identity for each in other}


def test_a_default_column_may_be_named(tmp_path: Path) -> None:
    pd.DataFrame({"id": [1, 2], "text": TEXTS}).to_csv(tmp_path / "c.csv", index=False)
    named = read_corpus(tmp_path / "c.csv", text_field="text", id_field="id")
    assert named.identity == read_corpus(tmp_path / "c.csv").identity


def test_the_units_are_those_of_the_same_documents_in_a_file(tmp_path: Path) -> None:
    pd.DataFrame(records()).to_csv(tmp_path / "c.csv", index=False)
    frame = pd.DataFrame({**pd.DataFrame(records()), "who": [1.0, 2.0]})
    frame.to_csv(tmp_path / "n.csv", index=False)
    for path, table in ((tmp_path / "c.csv", pd.DataFrame(records())), (tmp_path / "n.csv", frame)):
        read = read_corpus(path, unit_field="who").open()
        made = Corpus.from_table(table, unit_field="who").open()
        assert [b.units.tolist() for b in read.blocks()] == [b.units.tolist() for b in made.blocks()]


def test_an_item_that_is_no_document_is_a_defect_of_its_own() -> None:
    items = [TEXTS[0], None, 3, b"bytes", float("nan"), {"text": TEXTS[1]}, {"text": None}, {"other": "x"}, object()]
    store = Corpus.from_texts(items).open()
    assert documents_of(store) == COUNTS
    assert store.defects == {Defect.MALFORMED.name: 3, Defect.NO_TEXT.name: 4, **SHORT}


def test_documents_may_begin_after_many_items_that_are_none() -> None:
    for missing in (100, 250):
        store = Corpus.from_texts([*[None] * missing, *TEXTS]).open()
        assert documents_of(store) == COUNTS
        assert store.defects == {Defect.NO_TEXT.name: missing, **SHORT}


def test_a_string_among_records_has_no_unit() -> None:
    store = Corpus.from_texts([*records(), "lonely planets"], unit_field="who", text_field="body").open()
    assert documents_of(store) == COUNTS
    assert store.defects == {Defect.NO_UNIT.name: 1, **SHORT}


REFUSED_TEXTS: list[tuple[Any, dict[str, Any], str]] = [
    ("one text", {}, "this is one string. Put it into a list"),
    ({"text": "x"}, {}, "an iterable of strings or of records, got dict"),
    (7, {}, "an iterable of strings or of records, got int"),
    (generated, {}, "an iterable of strings or of records, got function"),
    ([], {}, "There are no documents"),
    ([1, 2], {}, "none of these is either"),
    (np.array([1.0, 2.0]), {}, "none of these is either"),
    (pd.Series([1, 2]), {}, "holds int64, not text"),
    (pl.Series([["a"], ["b"]]), {}, "not text"),
    (pa.array([None, None]), {}, "holds null, not text"),
    (pd.DataFrame({"text": ["x"]}), {}, "DataFrame is a table: use Corpus.from_table"),
    (pa.table({"text": ["x"]}).to_reader(), {}, "RecordBatchReader is a table: use Corpus.from_table"),
    (["x"], {"unit_field": "who"}, "no records, so they have no field 'who'"),
    ([{"text": "x", "b": 1}], {"unit_field": "who"}, "unit_field 'who' is not a column of these records. Its columns:"),
    (
        [{"text": "x", "person": 1}],
        {"text_field": "txet", "unit_field": "Person", "group_fields": ["b"]},
        r"text_field 'txet', unit_field 'Person', group_field 'b' are not columns of these records\. "
        r"Did you mean 'text'\? Did you mean 'person'\? Capital letters count\. Its columns: ",
    ),
    ([{"a": "x"}], {}, "Which column of these records holds the text"),
    (["x"], {"unit_field": "document"}, "unit_field must not be 'document'"),
    (["x"], {"tokenizer": "quick"}, "tokenizer must be one of"),
    (["x"], {"language": "xx-unknown"}, "language"),
]


@pytest.mark.parametrize(("texts", "options", "message"), REFUSED_TEXTS)
def test_what_is_no_collection_of_texts_is_refused_at_once(texts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Corpus.from_texts(texts, **options)


def frame() -> dict[str, list[Any]]:
    return {"n": [1, 2], "body": TEXTS, "who": WHO}


def reader() -> Any:
    return pa.table(frame()).to_reader(max_chunksize=1)


TABLES: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame(frame()),
    "pandas objects": lambda: pd.DataFrame(frame(), dtype=object),
    "pandas categories": lambda: pd.DataFrame(frame()).astype({"who": "category"}),
    "pandas beside a mixed column": lambda: pd.DataFrame({**frame(), "mixed": [1, "x"]}),
    "polars": lambda: pl.DataFrame(frame()),
    "polars categories": lambda: pl.DataFrame(frame()).with_columns(pl.col("who").cast(pl.Categorical)),
    "arrow table": lambda: pa.table(frame()),
    "arrow batch": lambda: pa.record_batch(frame()),
    "arrow reader": reader,
    "arrow dictionary": lambda: pa.table({**frame(), "who": pa.array(WHO).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_by_column(kind: str) -> None:
    corpus = Corpus.from_table(TABLES[kind](), unit_field="who", name="talk")
    store = corpus.open()
    assert (corpus.name, corpus.unit, documents_of(store)) == ("talk", "who", COUNTS)
    expected = Corpus.from_texts(records(), text_field="body", unit_field="who").open()
    assert [b.units.tolist() for b in store.blocks()] == [b.units.tolist() for b in expected.blocks()]


@pytest.mark.full
def test_the_rows_of_a_query_are_read() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.execute("create table talk (body varchar, who integer, n double)")
        database.execute("insert into talk values (?, 1, 2), (?, 2, 3), (null, 3, 4)", TEXTS)
        for query in (database.table, lambda name: database.sql(f"select body, who from {name}").to_arrow_reader()):
            corpus = Corpus.from_table(query("talk"), unit_field="who")
            store = corpus.open()
            assert documents_of(store) == COUNTS
            assert store.defects == {Defect.NO_TEXT.name: 1, **SHORT}


def test_a_query_leaves_the_database_free_until_it_is_read() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.execute("create table talk as select 'planets' as body")
        corpus = Corpus.from_table(database.table("talk"))
        database.execute("insert into talk values ('stars')")
        assert counts_of(corpus) == [{"planets": 1}, {"stars": 1}]


def test_a_query_that_breaks_does_not_quote_its_documents() -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        query = "select case when n = 5000 then cast(error('SECRET ' || n) as varchar) else 'planets' end as text "
        corpus = Corpus.from_table(database.sql(query + "from range(9000) t(n)"))
        with pytest.raises(InputError, match="cannot be read as Arrow data") as caught:
            corpus.open()
    assert "SECRET" not in str(caught.value)


def test_hugging_face_datasets_are_read() -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict(frame())
    assert counts_of(Corpus.from_table(data, unit_field="who")) == COUNTS
    assert counts_of(Corpus.from_table(data.select([1, 0]), unit_field="who")) == COUNTS[::-1]
    stream = data.to_iterable_dataset()
    assert counts_of(Corpus.from_table(stream, unit_field="who")) == COUNTS
    untyped = datasets.IterableDataset.from_generator(lambda: iter(records()))
    assert counts_of(Corpus.from_texts(untyped, text_field="body")) == COUNTS
    with pytest.raises(InputError, match=r"Give it to Corpus\.from_texts"):
        Corpus.from_table(untyped)
    with pytest.raises(InputError, match="name one split"):
        Corpus.from_table(datasets.DatasetDict({"train": data}))
    with pytest.raises(InputError, match=r"use Corpus\.from_table"):
        Corpus.from_texts(data)


NULLS = pa.nulls(2)
DAYS = [date(2024, 1, 1), date(2024, 5, 1)]
REFUSED_TABLES: list[tuple[Any, dict[str, Any], str]] = [
    (TEXTS, {}, r"table must be a pandas or polars DataFrame, .* got list.*from_texts"),
    (pl.LazyFrame(frame()), {}, "got LazyFrame.*collect a lazy table"),
    (pd.DataFrame(frame()), {"text_field": "n"}, "Column 'n' of the table holds int64, not text. Columns of text are "),
    (pl.DataFrame(frame()), {"text_field": "n"}, "Column 'n' of the table holds int64, not text"),
    (pa.table({"text": [["a"], ["b"]]}), {}, "holds list<.*>, not text"),
    (pa.table({"text": NULLS}), {}, "holds null, not text"),
    (pl.DataFrame({"text": [None, None]}), {}, "holds null, not text"),
    (pa.table({"text": [b"a", b"b"]}), {}, "holds binary, not text"),
    (pa.table({"text": TEXTS, "who": NULLS}), {"unit_field": "who"}, "holds no values"),
    (pd.DataFrame({"text": TEXTS, "who": pd.to_datetime(["2020", "2021"])}), {"unit_field": "who"}, "cannot name"),
    (pa.table({"text": TEXTS}), {"unit_field": "who"}, "unit_field 'who' is not a column of the table"),
    (pd.DataFrame({"a": TEXTS}), {}, "Which column of the table holds the text"),
    (pd.DataFrame([["a", "b"]], columns=["text", "text"]), {}, "several columns called 'text'"),
    (pd.DataFrame({0: TEXTS}), {}, "None of its columns has a name. Give columns that have a number a name first"),
    (
        pd.DataFrame({"text": TEXTS}, index=pd.Index(range(len(TEXTS)), name="n")),
        {"id_field": "n"},
        "frame.reset_index",
    ),
    (pd.DataFrame({"text": TEXTS, "day": DAYS}), {"text_field": "day"}, "Columns of text are text: name one"),
    (pd.DataFrame({"text": TEXTS, "age": [DAYS[1] - DAYS[0]] * 2}), {"group_fields": ["age"]}, "cannot name a group"),
]


@pytest.mark.parametrize(("table", "options", "message"), REFUSED_TABLES)
def test_an_unsuitable_table_is_refused_at_once(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Corpus.from_table(table, **options)


def test_periods_of_pandas_are_groups_as_pandas_writes_them() -> None:
    """Arrow holds their numbers since 1970."""
    table = pd.DataFrame({"text": TEXTS, "quarter": pd.PeriodIndex([*map(pd.Timestamp, DAYS)], freq="Q")})
    table.loc[1, "quarter"] = pd.NaT
    corpus = Corpus.from_table(table, group_fields=["quarter"])
    assert corpus.first_groups() == [{"quarter": "2024Q1"}, {"quarter": None}]


def test_no_cell_of_a_column_of_objects_decides_how_others_are_read() -> None:
    texts: list[Any] = [*TEXTS, 3, None, ["x"]]
    table = pd.DataFrame({"text": pd.Series(texts, dtype=object), "who": pd.Series([7, "7", 8.0, 9, []], dtype=object)})
    store = Corpus.from_table(table, unit_field="who").open()
    assert documents_of(store) == COUNTS
    assert store.defects == {Defect.MALFORMED.name: 2, Defect.NO_TEXT.name: 1, **SHORT}
    [block] = store.blocks()
    assert np.array_equal(block.units[0], block.units[1])


def test_invalid_utf_8_is_a_defect_of_its_cell() -> None:
    torn = pa.array([TEXTS[0].encode(), b"\xff\xfe", TEXTS[1].encode()]).view(pa.string())
    store = Corpus.from_table(pa.table({"text": torn})).open()
    assert documents_of(store) == COUNTS
    assert store.defects == {Defect.UNDECODABLE.name: 1, **SHORT}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow reader", "pandas objects"])
def test_many_rows_stay_in_order(kind: str) -> None:
    texts = [f"planets star{chr(97 + n % 26)}x" for n in range(5000)]
    made = {"polars": pl.DataFrame, "arrow reader": lambda d: pa.table(d).to_reader()}
    table = made.get(kind, lambda d: pd.DataFrame(d, dtype=object if "objects" in kind else None))({"text": texts})
    assert counts_of(Corpus.from_table(table)) == [dict.fromkeys(text.split(), 1) for text in texts]


def broken() -> Iterator[str]:
    yield from TEXTS * 5000
    raise RuntimeError("the source broke")


def test_an_iterator_that_breaks_spends_nothing_and_is_not_read_on(tmp_path: Path, cache: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    corpus = Corpus.from_texts(broken(), tokenizer="fast")
    with pytest.raises(RuntimeError, match="the source broke"):
        dplda.fit(corpus, dataset="talk", ledger=ledger)
    assert list(cache.iterdir()) == []
    [run] = ledger.runs()
    assert run.cost.mu_squared == 0
    assert not any(planned.charged for planned in run.plan)
    with pytest.raises(InputError, match="cannot be read again"):
        dplda.fit(corpus, dataset="talk", ledger=ledger)


def test_a_list_can_be_read_again_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_texts(TEXTS)
    monkeypatch.setenv("DPLDA_CACHE", os.devnull)
    with pytest.raises(InputError, match="cache folder"):
        corpus.open()
    monkeypatch.undo()
    assert counts_of(corpus) == COUNTS


def test_a_reader_is_read_once_and_never_in_part(tmp_path: Path) -> None:
    batches = reader()
    corpus = Corpus.from_table(batches)
    (tmp_path / "store").mkdir()
    with pytest.raises(InputError, match="exists already"):
        corpus.write(tmp_path / "store")
    assert counts_of(corpus) == COUNTS  # nothing was read before the refusal
    assert counts_of(corpus) == COUNTS


def test_an_empty_or_used_iterator_is_refused_when_it_is_read() -> None:
    used = generated(TEXTS)
    list(used)
    corpus = Corpus.from_texts(used)
    with pytest.raises(InputError, match="There are no documents"):
        corpus.open()


def test_nothing_is_read_before_use() -> None:
    untouchable = iter(lambda: pytest.fail("read too early"), None)
    assert Corpus.from_texts(untouchable, name="talk").notes == []


def test_the_private_store_lasts_as_long_as_its_corpus(cache: Path) -> None:
    corpus = Corpus.from_texts(TEXTS)
    store = corpus.open()
    [folder] = cache.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    del corpus
    gc.collect()
    assert documents_of(store) == COUNTS
    assert folder.exists()
    del store
    gc.collect()
    assert not folder.exists()


def test_what_a_killed_process_left_is_swept_and_what_is_in_use_is_not(cache: Path) -> None:
    corpus = Corpus.from_texts(TEXTS)
    corpus.open()
    [used] = cache.iterdir()
    left = cache / ".0123.partial"
    (left / "store").mkdir(parents=True)
    for folder in (used, used / "store", left, left / "store"):
        os.utime(folder, (0, 0))
    other = Corpus.from_texts(TEXTS)
    other.open()
    assert used.exists()
    assert not left.exists()


def test_an_iterator_can_be_written_to_a_store_before_or_after_it_is_read(tmp_path: Path) -> None:
    first = Corpus.from_texts(generated(TEXTS))
    assert documents_of(first.write(tmp_path / "a")) == COUNTS
    assert documents_of(first.write(tmp_path / "b")) == COUNTS
    second = Corpus.from_texts(generated([*TEXTS, 3]))
    second.open()
    store = second.write(tmp_path / "c")
    assert documents_of(store) == COUNTS
    assert store.defects == {Defect.MALFORMED.name: 1, **SHORT}
    assert counts_of(read_corpus(tmp_path / "c")) == COUNTS


@pytest.mark.parametrize("make", [Corpus.from_texts, Corpus.from_table])
def test_an_unknown_option_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match=r"'format'.* text_field, id_field, "):
        make(pd.DataFrame(frame())["body"], format="csv")


def test_fit_says_how_to_make_a_corpus() -> None:
    with pytest.raises(InputError, match=r"got list.*Corpus\.from_texts"):
        dplda.fit(TEXTS)  # type: ignore[arg-type]


def test_a_corpus_of_gensim_is_taken_with_its_dictionary() -> None:
    words = [list(each) for each in COUNTS]
    dictionary = Dictionary(words)
    bags = [dictionary.doc2bow([word for word, count in each.items() for _ in range(count)]) for each in COUNTS]
    corpus = Corpus.from_gensim(iter([*bags, []]), dictionary, units=[*WHO, "ann"], unit="author")
    assert counts_of(corpus) == [*COUNTS, {}]
    assert corpus.unit == "author"
    assert corpus.public_vocabulary is None


def test_a_dictionary_that_does_not_fit_the_corpus_of_gensim_is_refused() -> None:
    dictionary = Dictionary([["a", "b"], ["c"]])
    with pytest.raises(InputError, match="ids that the dictionary lacks"):
        Corpus.from_gensim([[(3, 1)]], dictionary)
    with pytest.raises(InputError, match="Most rows of counts"):
        Corpus.from_gensim([[(0, 0.5)]], dictionary)
    dictionary.filter_tokens(bad_ids=[0])
    assert counts_of(Corpus.from_gensim([[(0, 1)]], dictionary))
    with pytest.raises(InputError, match="compactify"):
        Corpus.from_gensim([[(5, 1)]], {0: "a", 5: "b"})


def test_read_corpus_takes_tables_as_from_table_does(tmp_path):
    frame = pd.DataFrame({"body": ["apple pear plum", "apple fig"], "who": ["x", "y"]})
    for table in (frame, pa.table(frame), pl.DataFrame(frame.to_dict("list"))):
        corpus = dplda.read_corpus(table, name="fruit", text_field="body", unit_field="who")
        assert (corpus.name, corpus.unit) == ("fruit", "who")
        assert corpus.open().n_documents == 2
    assert dplda.read_corpus(frame, text_field="body").name is None
    (tmp_path / "notes.csv").write_text("text\napple pear\n")
    assert dplda.read_corpus(tmp_path / "notes.csv").name == "notes"
    assert dplda.read_corpus(tmp_path / "notes.csv", name="fruit").name == "fruit"


@pytest.mark.parametrize("cell", [["secret", "pear"], ("secret",), np.array(["secret"])])
def test_a_column_of_lists_of_words_is_refused_and_quotes_nothing(cell):
    with pytest.raises(
        InputError, match=r"Column 'body' of the table holds a \w+ in each row, which is no text"
    ) as refused:
        dplda.read_corpus(pd.DataFrame({"body": [None, cell, cell]}, dtype=object), text_field="body")
    assert "secret" not in str(refused.value)
    mixed = pd.DataFrame({"body": [cell, TEXTS[0]]}, dtype=object)  # one cell decides nothing
    assert dplda.read_corpus(mixed, text_field="body").open().defects == {Defect.MALFORMED.name: 1}
    beside = pd.DataFrame({"body": [TEXTS[0]] * 2, "tags": [cell, cell], "year": [1, 2]})
    for option in ({"unit_field": "tags"}, {"group_fields": "tags"}, {"id_field": "tags"}):
        with pytest.raises(InputError, match=r"Column 'tags' of the table holds a \w+ in each row"):
            dplda.read_corpus(beside, text_field="body", **option)
    with pytest.raises(InputError, match=r"Columns of text are body: name one"):
        dplda.read_corpus(beside, text_field="year")


def test_columns_of_several_levels_are_refused():
    frame = pd.concat([pd.DataFrame({"text": TEXTS})], axis=1, keys=["x"])
    with pytest.raises(InputError, match="names of several levels"):
        dplda.read_corpus(frame, text_field="text")


def test_read_corpus_refuses_columns_wrong_names_and_options_of_files_and_quotes_nothing(tmp_path):
    frame = pd.DataFrame({"text": ["secret pear"]})
    with pytest.raises(InputError, match=r"one column. Use Corpus\.from_texts") as refused:
        dplda.read_corpus(frame["text"])
    assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match=r"one column. Use Corpus\.from_texts"):
        Corpus.from_table(frame["text"])
    with pytest.raises(InputError, match="pattern is an option of files"):
        dplda.read_corpus(frame, pattern="*.csv")
    (tmp_path / "notes.csv").write_text("text\npear\n")
    with pytest.raises(InputError, match=r"^name must be .*, got another list\.$"):
        dplda.read_corpus(frame, name=["a private text"])  # type: ignore[arg-type]
    for named in (3, "", "a\nb"):
        for make in (
            lambda named: dplda.read_corpus(frame, name=named),
            lambda named: dplda.read_corpus(tmp_path / "notes.csv", name=named),
            lambda named: dplda.Corpus.from_texts(["pear"], name=named),
            lambda named: dplda.Corpus.from_counts([[1]], ["pear"], name=named),
        ):
            with pytest.raises(InputError, match=r"^name must be a printable name of 1 to 200 characters.*, got "):
                make(named)
    with pytest.raises(TypeError, match="'colour'"):
        dplda.read_corpus(frame, colour="red")  # type: ignore[call-arg]


SECRET_TEXT = "my secret illness"


@pytest.mark.parametrize(
    "given",
    [
        [SECRET_TEXT, "another text of somebody"],
        (SECRET_TEXT,),
        ["secret", "a.csv"],
        SECRET_TEXT + "\nand more",
        SECRET_TEXT * 20,
        [SECRET_TEXT + "?", "why [me]*"],
        [SECRET_TEXT + "\n", "x.csv"],
        np.array([SECRET_TEXT, "another"]),
        5,
        None,
        [1, 2],
    ],
)
def test_what_names_no_files_is_refused_without_quoting_it(given: object) -> None:
    with pytest.raises(InputError, match=r"Corpus\.from_texts") as refused:
        dplda.read_corpus(given)
    assert "secret" not in str(refused.value)


def test_names_of_files_are_told_that_they_do_not_exist(tmp_path: Path) -> None:
    for named in (["a.csv", "b c.csv"], "a b", [tmp_path / "x y"]):
        with pytest.raises(InputError, match="does not exist"):
            dplda.read_corpus(named)
