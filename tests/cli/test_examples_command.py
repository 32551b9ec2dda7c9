"""`dplda examples`: public texts about each topic, which reports show, and private ones, which nothing shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from handmade import make_model, with_facts

from dplda.base.config import PrivacySettings
from dplda.base.errors import InputError
from dplda.budget import Ledger
from dplda.budget.events import Event
from dplda.budget.ledger_records import PLACES, READ
from dplda.budget.sketches import Fingerprint
from dplda.model import TopicModel, load
from dplda.model import examples as saved_examples
from dplda.private.store.fingerprint import document_codes, fingerprint
from dplda.report import write_report
from dplda.runs.corpus import Corpus, read_corpus
from dplda.runs.examples import examples
from dplda.text.counting import WordCounter, find_tokens

WORDS = ["heating", "boiler", "radiator", "refund", "money", "invoice"]
PUBLIC = [
    "The heating is cold, the boiler is loud, and every radiator of the heating and of the boiler leaks.",
    "Refund my money: the invoice says refund, and money is money.",
    "Heating and boiler, radiator and invoice, boiler and radiator.",
    "Nothing of this is known here: gardens, tulips, spades, rain and wind.",
    "boiler",
]


@pytest.fixture
def shop(home: Path) -> TopicModel:
    """A model with a topic about heating and one about money, in the folder `m`."""
    topics = np.array([[4, 3, 3, 0.01, 0.01, 0.01], [0.01, 0.01, 0.01, 4, 3, 3]])
    model = make_model(2, len(WORDS))
    model = replace(model, topics=topics / topics.sum(1, keepdims=True), vocabulary=WORDS, prevalence=np.full(2, 0.5))
    model = with_facts(model, language="en", tokenizer="fast", run="shop-aaaaaa", dataset="shop")
    model.save(home / "m")
    return model


def write(path: Path, texts: Sequence[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def forum(home: Path) -> Path:
    return write(home / "forum.jsonl", PUBLIC)


def texts(record: dict) -> dict[int, list[str]]:
    return {each["topic"]: [e["text"] for e in each["examples"]] for each in record["topics"]}


def spend(dataset: str, texts: Sequence[str] = (), places: Sequence[str] = ()) -> None:
    """Record a run of `dataset` on these private `texts`."""
    ledger = Ledger()
    run = ledger.reserve(
        dataset=dataset,
        unit="document",
        privacy=PrivacySettings(epsilon=1.0),
        events=(Event(stage="size", noise_multiplier=10.0),),
        parameters={PLACES: ledger.place_codes(places)},
        sound=True,
    )
    run.bind(fingerprint(Corpus.from_texts(list(texts)).open(), ledger.key) if texts else Fingerprint("code"))


def test_each_topic_gets_the_texts_that_are_mostly_about_it(dplda, shop: TopicModel, forum: Path) -> None:
    record = dplda("examples", "m", forum, "--json").json
    assert texts(record) == {0: [PUBLIC[0], PUBLIC[2]], 1: [PUBLIC[1]]}
    assert all(0.5 <= e["share"] <= 1 for each in record["topics"] for e in each["examples"])
    assert texts(dplda("examples", "m", forum, "--each", 1, "--json").json) == {0: [PUBLIC[0]], 1: [PUBLIC[1]]}


def test_the_output_shows_topics_texts_and_where_they_are_kept(dplda, shop: TopicModel, home: Path) -> None:
    write(home / "forum.jsonl", PUBLIC[:1])
    answer = dplda("examples", "m", "forum.jsonl")
    assert answer.status == 0
    assert PUBLIC[0] in answer.out
    assert "no text with enough known words is mainly about this topic" in answer.out
    assert "Texts with too few known words to be about a topic: 0 of 1." in answer.out
    assert "m/examples.json" in answer.out
    assert Ledger().runs() == []


def test_records_that_cannot_be_read_are_counted(dplda, shop: TopicModel, home: Path) -> None:
    path = write(home / "forum.jsonl", PUBLIC[:2])
    assert "left out" not in dplda("examples", "m", path).err
    with path.open("a") as file:
        file.write('{"text": 3}\n' * 4 + '{"text": null}\n')
    told = "Of forum, 5 records were left out: malformed (4), no text (1).\n"
    for options in ([], ["--json"]):
        answer = dplda("examples", "m", path, *options)
        assert (answer.status, answer.err.removeprefix("read ...\n")) == (0, told)
        assert "left out" not in answer.out
    local = dplda("examples", "m", path, "--local")
    assert f"not for publication):\n  {told}" in local.err
    write(path, PUBLIC[:2])
    with path.open("a") as file:
        file.write("[1]\n")
    assert "Of forum, 1 record was left out: malformed (1).\n" in dplda("examples", "m", path).err


def test_a_long_text_is_cut_and_a_repeated_one_is_shown_once(shop: TopicModel) -> None:
    long = "heating, boiler, " * 60
    found = examples(shop, Corpus.from_texts([PUBLIC[0], long, PUBLIC[0], long]), 3).topics[0]
    assert [each.text[-6:] for each in found[1:]] == ["leaks."]
    assert len(found[0].text) <= saved_examples.LONGEST
    assert found[0].text.endswith(("heating…", "boiler…"))


def test_a_text_of_which_the_model_knows_little_is_no_example(shop: TopicModel) -> None:
    few, five = "heating boiler radiator boiler", "heating boiler radiator boiler heating"
    among_others = five + "".join(f" unknown{chr(97 + i)}" for i in range(25))
    found = examples(shop, Corpus.from_texts([few, among_others, five]))
    assert [each.text for each in found.topics[0]] == [five]
    assert (found.texts, found.unknown) == (3, 2)


def test_a_corpus_with_the_name_of_a_private_dataset_is_refused_unread(
    dplda, shop, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "tickets.jsonl", PUBLIC)
    spend("tickets")
    monkeypatch.setattr(Corpus, "raw_texts", None)
    answer = dplda("examples", "m", "tickets.jsonl")
    assert (answer.status, answer.out, answer.err.count("\n")) == (3, "", 1)
    assert "'tickets'" in answer.err
    assert not (home / "m" / "examples.json").exists()


@pytest.mark.parametrize("fitted", ["private/tickets.jsonl", "private", "prepared"])
def test_files_that_a_private_run_read_are_refused_under_any_name(dplda, shop, home: Path, fitted: str) -> None:
    file = write(home / "private" / "tickets.jsonl", PUBLIC)
    (home / "link.jsonl").symlink_to(file)
    if fitted == "prepared":
        assert dplda("corpus", "import", file, "first").status == 0
        assert dplda("corpus", "import", "first", "prepared").status == 0  # a copy of a store knows the files, too
    assert dplda("fit", fitted, "--dataset", "support").status == 4  # too few documents for topics
    (run,) = Ledger().runs()
    assert PLACES in run.parameters
    assert "private" not in str(run.parameters[PLACES])
    shared = dplda("runs", "--json").json["runs"]
    assert not any({PLACES, READ} & record["parameters"].keys() for record in shared)
    for name in (file, "link.jsonl"):
        answer = dplda("examples", "m", name)
        assert (answer.status, answer.out) == (3, "")
        assert "'support'" in answer.err


def test_no_page_file_or_display_takes_in_texts_of_a_private_corpus(shop, forum: Path, home: Path) -> None:
    found = examples(shop, read_corpus(forum), local=True)
    assert found.private
    assert PUBLIC[0][:20] not in repr(found)
    with pytest.raises(InputError, match="on no page"):
        write_report([shop], home / "page.html", examples=[found])
    again = saved_examples.Examples.from_json(found.to_json(), 2)
    assert again.private
    with pytest.raises(InputError, match="never saved"):
        saved_examples.save(again, shop, home / "m")
    record = {"format": "dplda-examples", "format_version": 1, "run": shop.facts.run, **found.to_json()}
    (home / "m" / "examples.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="of a private corpus"):
        saved_examples.load(shop, home / "m")


def test_a_dataset_whose_grant_is_unbounded_is_public(dplda, shop, forum: Path) -> None:
    spend("forum", places=[str(forum.resolve())])
    assert dplda("examples", "m", forum).status == 3
    Ledger().grant("forum", unbounded=True)
    assert dplda("examples", "m", forum).status == 0


def test_the_choice_does_not_tell_what_the_ledger_knows_to_be_private(dplda, shop, forum: Path) -> None:
    before = dplda("examples", "m", forum, "--json", "--quiet")
    spend("support", [PUBLIC[0], PUBLIC[1], "something else entirely here"])
    answer = dplda("examples", "m", forum, "--json", "--quiet")
    assert (answer.status, answer.err) == (0, "")
    assert texts(answer.json) == texts(before.json) == {0: [PUBLIC[0], PUBLIC[2]], 1: [PUBLIC[1]]}


def test_ten_known_texts_are_a_warning_for_the_curator_alone(dplda, shop, home: Path) -> None:
    many = [f"{text} {word}" for text in PUBLIC[:3] for word in ("apple", "pear", "plum", "cherry")]
    spend("support", many)
    forum = write(home / "forum.jsonl", [*many[:9], *PUBLIC])
    assert dplda("examples", "m", forum, "--json", "--quiet").err == ""
    write(forum, [*many[:10], *PUBLIC])
    answer = dplda("examples", "m", forum, "--json", "--quiet")
    assert answer.status == 0
    assert "not for publication" in answer.err
    assert "10 of these texts" in answer.err
    without = dplda("examples", "m", forum, "--json", "--quiet", "--ledger", home / "other.db")
    assert texts(answer.json) == texts(without.json)
    assert "10 of these" not in answer.out + (home / "m" / "examples.json").read_text()


def test_another_ledger_knows_nothing(dplda, shop, forum: Path, home: Path) -> None:
    spend("support", PUBLIC, places=[str(forum.resolve())])
    assert texts(dplda("examples", "m", forum, "--ledger", home / "other.db", "--json").json)[0] == [
        PUBLIC[0],
        PUBLIC[2],
    ]


def test_texts_of_the_private_corpus_are_for_its_holder_and_in_no_file(dplda, shop, forum: Path, home: Path) -> None:
    spend("forum", PUBLIC, places=[str(forum.resolve())])
    before = sorted(home.rglob("*"))
    answer = dplda("examples", "m", forum, "--local", "--quiet")
    assert answer.status == 0
    assert answer.out.startswith("NOT PRIVATE")
    assert "publish" in answer.out
    assert PUBLIC[0] in answer.out
    record = dplda("examples", "m", forum, "--local", "--json").json
    assert record["private"] is False
    assert "NOT PRIVATE" in record["warning"]
    assert texts(record)[1] == [PUBLIC[1]]
    assert sorted(home.rglob("*")) == before
    assert dplda("report", "m", "-o", "r.html").status == 0
    assert PUBLIC[0] not in (home / "r.html").read_text()


def test_local_texts_cannot_be_saved(shop: TopicModel, home: Path) -> None:
    found = examples(shop, Corpus.from_texts(PUBLIC), local=True)
    with pytest.raises(InputError, match="never saved"):
        saved_examples.save(found, shop, home / "m")
    assert not (home / "m" / "examples.json").exists()


def test_the_report_shows_public_texts_and_whose_they_are(dplda, shop, forum: Path, home: Path) -> None:
    write(forum, [*PUBLIC, "<script>heating</script> boiler radiator boiler heating"])
    dplda("examples", "m", forum)
    assert dplda("report", "m", "-o", "r.html").status == 0
    page = (home / "r.html").read_text()
    assert PUBLIC[1] in page
    assert "<bdi>forum</bdi>, which the maker of this page declared" in page
    assert "&lt;script&gt;heating" in page
    assert "released numbers and public texts alone" in page
    (home / "m" / "examples.json").unlink()
    assert dplda("report", "m", "-o", "r2.html").status == 0
    assert "public texts" not in (home / "r2.html").read_text()


def test_a_hidden_word_hides_the_texts_that_have_it(dplda, shop, forum: Path, home: Path) -> None:
    dplda("examples", "m", forum)
    assert dplda("report", "m", "--hide", "Leaks", "-o", "r.html").status == 0  # that no topic lists
    page = (home / "r.html").read_text()
    assert PUBLIC[0] not in page
    assert PUBLIC[2] in page
    assert dplda("report", "m", "--hide", "zebra", "-o", "r2.html").status == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda record: "{",
        lambda record: json.dumps({**record, "run": "other-aaaaaa"}),
        lambda record: json.dumps({**record, "format_version": 2}),
        lambda record: json.dumps({**record, "texts": float("inf")}),
        lambda record: json.dumps({**record, "topics": [{"topic": 2, "examples": []}]}),
        lambda record: json.dumps({**record, "topics": [{"topic": 0, "examples": [{"text": 1}]}]}),
        lambda record: "[]",
    ],
)
def test_a_damaged_file_of_examples_is_one_line(dplda, shop, forum: Path, home: Path, change) -> None:
    dplda("examples", "m", forum)
    file = home / "m" / "examples.json"
    file.write_text(change(json.loads(file.read_text())))
    answer = dplda("report", "m", "-o", "r.html")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "m/examples.json" in answer.err
    assert not (home / "r.html").exists()


def test_counts_have_no_texts(dplda, shop, home: Path) -> None:
    corpus = Corpus.from_counts([[3, 1]], ["a", "b"])
    with pytest.raises(InputError, match="holds counts"):
        examples(shop, corpus)
    write(home / "forum.jsonl", PUBLIC)
    assert dplda("corpus", "import", "forum.jsonl", "store").status == 0
    answer = dplda("examples", "m", "store")
    assert (answer.status, answer.err.count("\n")) == (2, 1)


def test_in_python_a_model_chooses_examples(shop: TopicModel, forum: Path, home: Path) -> None:
    found = load(home / "m").examples(read_corpus(forum), 1)
    assert [each.text for each in found.topics[1]] == [PUBLIC[1]]


def test_a_text_has_the_code_by_which_the_sketch_of_its_corpus_knows_it() -> None:
    corpus, key = Corpus.from_texts(PUBLIC), b"k" * 32
    counts = WordCounter(find_tokens(corpus.tokenization)).count(PUBLIC)
    codes = document_codes(counts.words, counts.indptr, counts.indices, counts.counts, key)
    sketch = fingerprint(corpus.open(), key).sketch.hashes
    assert len(codes) == len(PUBLIC)
    assert set(sketch) == set(codes[:4])  # the last is too short to count
