"""Public constants of two reference corpora, which stand in for a corpus that must not be looked at.

Measured once on two public corpora in English, one document a unit, without stop words and without words in more than
a tenth of the documents: 100,000 film reviews (IMDB) and the 18,847 posts of 20 newsgroups. They agree within a
tenth on words and lengths; they differ in how far apart their topics are, and stand for the two ends of that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.accounting.events import Stage

# Share of the documents that hold the word of a rank; the last is extrapolated.
_RANKS = (1, 10, 100, 300, 1000, 3000, 10_000, 1_000_000)
_HELD = (0.098, 0.091, 0.059, 0.035, 0.0155, 0.0053, 0.0011, 2e-6)

PICKED = 65.0  # words of a document before a vocabulary is chosen, of which each gets a vote of 1 / sqrt of them
VOTE = 0.095  # what a word gets from a document that holds it: long documents hold more words and give each less
LENGTH = 0.7  # length of a document as the moments see it, 1 / mean(1 / length), over its distinct words
WORD_ENERGY = 0.8  # mean over the words of a document of (count times the part of it that goes to one topic)^2
DECAY = 0.5  # eigenvalue j of the scaled second moment, off the mean direction, goes with j^-DECAY
TOP_WORD = 0.01  # probability of a word near the top of its topic

# Standard deviations of the logarithm of the units' norms, which are near normal.
SPREADS: dict[str, float] = {
    Stage.MEAN: 0.3,
    Stage.SUBSPACE: 0.65,
    Stage.CORE: 0.5,
    Stage.TENSOR: 1.1,
    Stage.REFINE: 0.45,
}


@dataclass(frozen=True)
class ReferenceCorpus:
    """A kind of corpus, with an example, and the first `eigenvalue` of its scaled second moment off the mean."""

    name: str
    example: str
    eigenvalue: float

    def eigenvalues(self, count: int) -> np.ndarray:
        """The first `count` eigenvalues off the mean direction, (count,), descending, when no noise flattens them."""
        return np.asarray(self.eigenvalue * np.arange(1, count + 1) ** -DECAY)


ONE_SUBJECT = ReferenceCorpus("one subject", "film reviews", 0.12)
MANY_SUBJECTS = ReferenceCorpus("many subjects", "newsgroups", 0.28)
KINDS = (ONE_SUBJECT, MANY_SUBJECTS)


def word_frequencies(words: int) -> np.ndarray:
    """Shares of the documents that hold each of the `words` most frequent words, (words,), descending."""
    ranks = np.arange(1, words + 1)
    return np.asarray(np.exp(np.interp(np.log(ranks), np.log(_RANKS), np.log(_HELD))))
