"""Corpora: `read_corpus`, `Corpus`, and `synthetic`, which draws counts from planted topics."""

from dplda.learning.synthetic import synthetic
from dplda.runs.corpus import Corpus, read_corpus

__all__ = ["Corpus", "read_corpus", "synthetic"]
