"""Rivals whose requirements clash with ours, run unchanged by a Python of their own: `PYTHON rival_code.py FOLDER`.

FOLDER holds `asked.json` with the rival's `system` name, the cleaned `documents` (words with spaces between them),
`n_topics`, `epsilon`, `delta`, `seed` and the folder of its `code`. Written to it is `found.npz`: `words` (n_words,),
`topics` (n_topics, n_words), the topic of each document (`assigned`; empty if the rival names none), the `seconds` from
documents to topics without imports, and the `version`. It imports nothing of ours, which need not be installed there.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

CUTOFF, SWEEPS = 3, 30  # as in the example of `topic_models.py`
DIMENSIONS = 100  # of the vectors of documents, as in BERTopic's manual
Answer = dict[str, Any]  # what is written, but the version


def manzonelli(documents: list[str], n_topics: int | None, asked: dict[str, Any]) -> Answer:
    """Manzonelli, Zhang and Vadhan's `fdptm`; half of epsilon is for the words and half for the topics, as in theirs.

    No topics if it finds no words.
    """
    sys.path.insert(0, asked["code"])
    models, helpers = import_module("topic_models"), import_module("defense.fdptm_helpers")
    half = asked["epsilon"] / 2
    np.random.seed(asked["seed"])
    start = time.perf_counter()
    try:
        _, words, topics = models.fdptm(
            documents,
            helpers.choose_vocab,
            {"alpha_cutoff": CUTOFF, "epsilon": half, "delta": asked["delta"]},
            models.train_dp_lda_gibbs,
            {"k": n_topics, "epsilon": half, "n_iters": SWEEPS},
        )
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        words, topics = np.empty(0), np.empty((0, 0))
    return {"words": words.astype(str), "topics": topics, "assigned": [], "seconds": time.perf_counter() - start}


def bertopic(documents: list[str], n_topics: int | None, asked: dict[str, Any]) -> Answer:
    """BERTopic with its defaults, but vectors of TF-IDF, for which no model is downloaded; `n_topics` None: its number.

    Its documents outside all topics are topic -1.
    """
    module, umap = import_module("bertopic"), import_module("umap")
    decomposition, pipeline = import_module("sklearn.decomposition"), import_module("sklearn.pipeline")
    text, seed = import_module("sklearn.feature_extraction.text"), asked["seed"]
    start = time.perf_counter()
    vectors = pipeline.make_pipeline(text.TfidfVectorizer(), decomposition.TruncatedSVD(DIMENSIONS, random_state=seed))
    narrow = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    wanted = None if n_topics is None else n_topics + 1  # one of them are the documents outside
    model = module.BERTopic(embedding_model=vectors, umap_model=narrow, nr_topics=wanted)
    assigned = np.array(model.fit_transform(documents)[0])
    seconds = time.perf_counter() - start
    outside = int((assigned == -1).any())
    return {
        "words": model.vectorizer_model.get_feature_names_out().astype(str),
        "topics": model.c_tf_idf_[outside:].toarray(),
        "assigned": assigned,
        "seconds": seconds,
    }


def main(arguments: Sequence[str]) -> None:
    """Run the rival that is asked for in the folder that the argument names."""
    folder = Path(arguments[0])
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    learn = {"manzonelli": manzonelli, "bertopic": bertopic}[asked["system"]]
    answer = learn(asked["documents"], asked["n_topics"], asked)
    np.savez(folder / "found.npz", version=version("bertopic") if learn is bertopic else "", **answer)


if __name__ == "__main__":
    main(sys.argv[1:])
