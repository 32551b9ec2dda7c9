"""The main job through the command line alone, with nothing replaced."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dplda.base.config import DEFAULT_GRANT
from dplda.budget import Ledger


def test_a_stranger_gets_topics_from_text_and_every_command_knows_the_run(dplda, home: Path) -> None:
    assert dplda("corpus", "sample", "s", "--documents", 2500).status == 0
    corpus = ("s/sample.jsonl.gz", "--text-field", "text")
    forgotten = dplda("fit", *corpus, "--topics", 4)
    assert (forgotten.status, Ledger().runs()) == (2, [])
    assert forgotten.err.rstrip().endswith(
        "give --unit-field user (in a plan, unit_field), or --yes to protect each by itself."
    )
    wanted = ("--topics", 4, "--epsilon", 6, "--max-document-frequency", 0.3, "--unit", "document", "--json")
    answer = dplda("fit", *corpus, *wanted)
    assert answer.status == 0, answer.err
    fitted = answer.json
    assert fitted["privacy"]["sound"] is True
    assert fitted["privacy"]["epsilon"] <= 6
    assert fitted["model"] == f"models/{fitted['run']}"
    assert "2,500" not in answer.out

    assert dplda("topics", fitted["run"], "--json").json["topics"] == fitted["topics"]
    assert [run["id"] for run in dplda("runs", "--json").json["runs"]] == [fitted["run"]]
    assert dplda("budget", "verify").status == 0
    assert dplda("transform", fitted["run"], *corpus, "--out", "p.npz").status == 0
    with np.load(home / "p.npz") as file:
        assert file["proportions"].shape == (2500, 4)
    saved = b"".join(path.read_bytes() for path in (home / fitted["model"]).iterdir())
    assert b"seconds" not in saved

    refused = dplda("fit", *corpus, "--topics", 4, "--epsilon", DEFAULT_GRANT[0], "--json")
    assert (refused.status, refused.out) == (3, "")
    assert "dplda budget grant sample" in refused.err
    wrong = dplda("fit", *corpus, "--epsilon", "nan")
    assert (wrong.status, wrong.out) == (2, "")
    assert len(dplda("runs", "--json").json["runs"]) == 1
