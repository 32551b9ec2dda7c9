"""Private text as counts: prepared once, kept in memory-mapped blocks, grouped by privacy unit."""

from dplda.corpus.planted import synthetic
from dplda.corpus.prepare import Corpus, read_corpus
from dplda.corpus.store import CountStore

__all__ = ["Corpus", "CountStore", "read_corpus", "synthetic"]
