"""Public constants of two reference corpora, which replace measurements of a private corpus.

Measured once on two public corpora in English, with one document per unit and without stop words: 100,000 film reviews
(IMDB) and the 18,847 posts of 20 newsgroups. The two corpora's word frequencies and document lengths differ by at most
a tenth. The topics of the film reviews are close together, those of the newsgroups far apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dplda.budget.events import Stage

# The share of documents that contain the word of each rank; the last is extrapolated.
_RANKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 300, 1000, 3000, 10_000, 1_000_000)
_HELD = (0.62, 0.58, 0.51, 0.40, 0.25, 0.18, 0.137, 0.108, 0.076, 0.039, 0.016, 0.0053, 0.0011, 2e-6)

PICKED = 65.0  # distinct words of a document before a vocabulary is chosen; each gets a vote of 1 / sqrt(their number)
VOTE = 0.095  # mean vote for a word by a document that contains it
LENGTH = 0.7  # effective document length in the moments, 1 / mean(1 / length), divided by its distinct words
WORD_ENERGY = 0.8  # mean over the words of a document of (count times the share of it assigned to one topic)^2
_DECAY = 0.5  # eigenvalue j of the scaled second moment, orthogonal to the mean direction, is proportional to j^-_DECAY
TOP_WORD = 0.01  # probability of a word near the top of its topic

# Standard deviations of the logarithms of the units' norms, which are nearly normal.
SPREADS: dict[str, float] = {
    Stage.MEAN: 0.3,
    Stage.SUBSPACE: 0.65,
    Stage.CORE: 0.5,
    Stage.TENSOR: 1.1,
    Stage.REFINE: 0.45,
}


@dataclass(frozen=True)
class ReferenceCorpus:
    """A kind of corpus: its name, an example, and its `eigenvalue`.

    `eigenvalue` is the first eigenvalue of the corpus's scaled second moment orthogonal to the mean direction.
    """

    name: str
    example: str
    eigenvalue: float

    def eigenvalues(self, count: int) -> np.ndarray:
        """The first `count` eigenvalues orthogonal to the mean direction without noise, (count,), descending."""
        return np.asarray(self.eigenvalue * np.arange(1, count + 1) ** -_DECAY)


ONE_SUBJECT = ReferenceCorpus("one subject", "film reviews", 0.12)
MANY_SUBJECTS = ReferenceCorpus("many subjects", "newsgroups", 0.28)
REFERENCE_CORPORA = (ONE_SUBJECT, MANY_SUBJECTS)


def word_frequencies(words: int, least: float = 0.0) -> np.ndarray:
    """Document frequencies of the `words` most frequent words, descending, without those below `least`."""
    ranks = np.arange(1, words + 1)
    shares = np.exp(np.interp(np.log(ranks), np.log(_RANKS), np.log(_HELD)))
    return np.asarray(shares[shares >= least])
