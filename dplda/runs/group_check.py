"""The look at the first documents before a table is charged, for their owner: exact and not private."""

from __future__ import annotations

from collections.abc import Sequence

from dplda.base.errors import InputError
from dplda.runs.corpus import Corpus, check_corpus
from dplda.runs.tabulation import Grouping, Misfits, misfits_of, stored_columns


def look_at_groups(tables: Sequence[Sequence[Grouping]], corpus: Corpus) -> list[Misfits]:
    """Return the misfits of `tables` among the first documents of `corpus`, or among all files of a folder.

    A folder is read one subfolder after another, so that its first documents are in the first ones.
    """
    if names := corpus.subfolders():
        return misfits_of(tables, names, whole=True)
    return misfits_of(tables, corpus.first_groups())


def refuse_misfits(tables: Sequence[Sequence[Grouping]], corpus: Corpus) -> None:
    """Raise `InputError` if the first documents of `corpus`, where they can be read again, hardly fit `tables`."""
    check_corpus(corpus)
    if set(stored_columns(tables)) <= set(corpus.group_columns):
        for each in look_at_groups(tables, corpus):
            if each.doubtful:
                raise InputError(
                    f"{each} (Exact, not for publication.) That may be a mistake, so nothing was charged. Name another "
                    "column or list, or pass check_groups=False if it is meant."
                )
