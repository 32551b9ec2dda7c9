"""Private text as counts: prepared once, kept in memory-mapped blocks, grouped by privacy unit."""

from dplda.corpus.planted import synthetic

__all__ = ["synthetic"]
