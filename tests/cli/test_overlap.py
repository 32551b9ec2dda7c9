"""The finished program: an edited copy of half of a corpus, under another name, spends from the grant of the whole."""

from __future__ import annotations

import json

import numpy as np

from dplda.runs.corpus import synthetic

WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]


def test_an_edited_half_is_charged_to_both_and_refused_when_the_grant_is_spent(dplda, home) -> None:
    counts = synthetic(600, len(WORDS), 2, mean_length=40, seed=3)[0].toarray()
    texts = [" ".join(np.repeat(WORDS, row)) for row in counts]
    (home / "words.txt").write_text("\n".join(WORDS))
    for name, kept in (("whole", texts), ("copy", [f"{texts[0]} added", *texts[1:300]])):
        (home / f"{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in kept))

    def fit(name: str, *given: str):
        asked = ("--topics", 2, "--epsilon", 8, "--vocabulary", "words.txt", "--tokenizer", "fast")
        return dplda("fit", f"{name}.jsonl", *asked, "--max-document-frequency", 1, *given)

    assert fit("whole").status in (0, 4)
    assert "shares documents" not in dplda("budget", "show").out
    copy = fit("copy")
    assert copy.status == 3
    assert "Dataset 'copy' cannot pay" in copy.err
    dplda("budget", "grant", "whole", "--epsilon", 40, "--delta", "1e-5")
    dplda("budget", "grant", "copy", "--epsilon", 40, "--delta", "1e-5")
    asked = fit("copy")  # the refused run counts in full in reports, which then state no total
    assert (asked.status, "give a smaller epsilon, or --yes" in asked.err) == (2, True)
    assert "reports would state no total of all runs" in asked.err
    copy = fit("copy", "--yes")
    assert copy.status in (0, 4)
    assert (
        "shares documents with, and is charged together with (exact, not for publication): whole"
        in dplda("budget", "show", "copy").out
    )
    assert copy.status == 4 or "charged together with (exact, not for publication): whole" in copy.err
    spent = [dplda("budget", "show", name, "--json").json["spent"]["epsilon"] for name in ("whole", "copy")]
    assert spent[0] == spent[1] > 8
