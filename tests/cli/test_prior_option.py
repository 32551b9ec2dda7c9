"""`dplda fit --prior` through the command line, with nothing replaced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dplda
from dplda.base.progress import NoProgress
from dplda.budget import Ledger
from dplda.cli.options import find_prior
from dplda.runs import priors

FIT = (
    "--unit",
    "document",
    "--topics",
    4,
    "--epsilon",
    1,
    "--tokenizer",
    "fast",
    "--max-document-frequency",
    0.3,
    "--quiet",
)


@pytest.fixture
def texts(sample_1500: list[str], home: Path) -> tuple[Path, Path]:
    """Few private texts, and public ones about the same things."""
    lines = sample_1500
    (home / "private.jsonl").write_text("".join(lines[:400]))
    (home / "public.jsonl").write_text("".join(lines[400:]))
    return home / "private.jsonl", home / "public.jsonl"


@pytest.mark.filterwarnings("default:The prior of these topics")
def test_public_text_gives_topics_of_few_documents(dplda, texts: tuple[Path, Path], home: Path) -> None:
    private, public = texts
    refused = dplda("fit", private, *FIT, "--words", "private")
    assert refused.status == 4
    assert "the corpus has about" in refused.err, "what would help depends on the noise of its size"
    given = ("--prior", public, "--public-prior")
    answer = dplda("fit", private, *FIT, *given)
    assert answer.status == 0, answer.err
    assert "differentially private for one document" in answer.out
    assert (
        "These are the 4 of 44 prior topics that the texts contain most (prior: public corpus public): " in answer.out
    )
    assert "% of the words that the texts share with the prior fall to them" in answer.out
    words = dplda("topics", Ledger().runs()[-1].id, "--json").json["topics"][0]["words"]
    (home / "seeds.yaml").write_text(f"known: [{', '.join(word for word, _ in words[:5])}]\n")
    guided = dplda("fit", private, *FIT, *given, "--seed-words", "seeds.yaml")
    said = " ".join(guided.out.split())
    assert "These are the 3 of 44 prior topics that the texts contain most, besides 1 that you gave (prior: " in said
    assert "These are topics of the prior, and 1 that you gave." in said
    assert "an ordinary fit finds about 1 of 3; no released" in said
    (row,) = [line for line in guided.out.splitlines() if line[:1].isdigit() and " known " in line]
    assert re.search("(weak|noise), given", row)
    assert "learned from public corpus public: measured in the same text" in " ".join(
        dplda("evaluate", Ledger().runs()[-1].id, public, "--reference").err.split()
    )
    kept = list((home / "cache" / "priors").iterdir())
    assert len(kept) == 1
    assert dplda("fit", private, *FIT, *given).status == 2, "it repeats a run, and asks"
    assert dplda("fit", private, *FIT, *given, "--yes").status == 0
    assert list((home / "cache" / "priors").iterdir()) == kept, "fitted once"
    dry = dplda("fit", private, *FIT, *given, "--unit", "document", "--dry-run", "--epsilon", 4)
    assert (dry.status, "too few" in dry.out) == (0, False)
    assert dplda("fit", private, *FIT, *given, "--topics", 8, "--epsilon", 4).status == 0
    run = next(run for run in Ledger().runs() if run.parameters["topics"] == 8)
    released = dplda("fit", private, *FIT, "--epsilon", 4, "--prior", run.id)
    assert f"(prior: run {run.id}, from public corpus public): " in released.out
    assert "added or removed; the prior is assumed to be public." in released.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--prior", "public.jsonl"], "is a corpus, whose text is not protected. If it is public, say so with"),
        (["--public-prior"], "--public-prior is about --prior, which is not given"),
        (["--prior", "absent.jsonl", "--public-prior"], "there is no file absent.jsonl"),
        (
            ["--prior", "public.jsonl", "--public-prior", "--placement", "config2"],
            "a prior is for the default placement",
        ),
        (
            ["--prior", "public.jsonl", "--public-prior", "--topics", "auto"],
            "needs a number of topics, such as --topics 12",
        ),
    ],
)
def test_what_cannot_be_a_prior_is_refused_before_anything_is_spent(
    dplda, texts: tuple[Path, Path], given: list[str], message: str
) -> None:
    answer = dplda("fit", "private.jsonl", *FIT, *given)
    assert answer.status == 2
    assert message in answer.err
    assert answer.out == ""
    assert Ledger().runs() == []


def test_a_model_that_is_not_private_is_no_prior(dplda, texts: tuple[Path, Path]) -> None:
    dplda("budget", "grant", "other", "--unbounded")
    simulated = dplda("fit", "public.jsonl", "--simulate", *FIT, "--epsilon", 20, "--out", "m", "--dataset", "other")
    assert simulated.status == 0, simulated.err
    answer = dplda("fit", "private.jsonl", *FIT, "--prior", "m", "--topics", 2)
    assert answer.status == 2
    assert "a model that is not private" in answer.err


@pytest.mark.full
def test_a_prior_that_does_not_explain_the_texts_is_said_to_be(dplda, texts: tuple[Path, Path]) -> None:
    words = [f"{a}{b}word" for a in "abcdefghij" for b in "klmnopqrst"]
    strange = "".join(f'{{"text": "{" ".join(words[(7 * i + j) % 100] for j in range(9))}"}}\n' for i in range(400))
    Path("strange.jsonl").write_text(strange)
    given = ("--prior", "strange.jsonl", "--public-prior", "--epsilon", 20)
    dplda("budget", "grant", "public", "--epsilon", 100, "--delta", 1e-5)
    answer = dplda("fit", "public.jsonl", *FIT, *given)
    assert answer.status == 0, answer.err
    assert "It could not be shown that the prior (public corpus strange) explains these texts" in answer.out


def test_a_prior_is_read_as_the_store_that_it_helps(texts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = texts
    store = dplda.read_corpus(private, text_field="text", tokenizer="spacy", ngrams=2)
    read: list[dplda.Corpus] = []
    monkeypatch.setattr(priors, "public_prior", lambda corpus, *_, **__: read.append(corpus))
    for tokenizer in (None, "fast"):
        options = dict.fromkeys(("language", "lemmas", "stopwords", "ngrams")) | {"tokenizer": tokenizer}
        options |= {"prior": str(public), "public_prior": True}
        find_prior(options, store, None, None, NoProgress())
        assert read[-1].reading == {**store.reading, "tokenizer": tokenizer or "spacy"}


@pytest.mark.filterwarnings("default::dplda.base.errors.SharedDocumentsWarning")
def test_private_text_as_a_public_prior_is_refused_by_name_and_path_and_told_by_its_content(
    dplda, texts: tuple[Path, Path], home: Path
) -> None:
    private, public = texts
    dplda("fit", public, *FIT, "--dataset", "mine")  # charged, however it ends
    (run,) = Ledger().runs()
    answer = dplda("fit", private, *FIT, "--prior", public, "--public-prior", "--dry-run")
    assert (answer.status, answer.out) == (3, "")
    assert f"run {run.id} read these files: its texts are not public" in answer.err
    lines = public.read_text().splitlines(keepends=True)
    (home / "mine.jsonl").write_text("".join(lines[:60]))
    answer = dplda("fit", private, *FIT, "--prior", "mine.jsonl", "--public-prior")
    assert (answer.status, "this corpus has its name" in answer.err) == (3, True)
    (home / "copy.jsonl").write_text("".join(lines[:110]))
    answer = dplda("fit", private, *FIT, "--prior", "copy.jsonl", "--public-prior", "--dry-run")
    assert answer.status == 0
    assert "(exact, not for publication): 110 of these texts are known to the ledger" in " ".join(answer.err.split())
    (home / "copy.jsonl").write_text("".join([*lines[:9], *private.read_text().splitlines(keepends=True)[:110]]))
    assert "known" not in dplda("fit", private, *FIT, "--prior", "copy.jsonl", "--public-prior", "--dry-run").err
