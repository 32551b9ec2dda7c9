"""Differentially private topic modelling, end to end."""

from typing import TYPE_CHECKING

from dplda.base.lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dplda.base import errors
    from dplda.budget import Ledger
    from dplda.budget.events import PrivacyStatement
    from dplda.model import TopicModel
    from dplda.model.prior_topics import PriorTopics
    from dplda.model.topic_groups import contrast
    from dplda.runs.corpus import Corpus, read_corpus
    from dplda.runs.counting import count
    from dplda.runs.estimator import PrivateLDA
    from dplda.runs.evaluation import evaluate
    from dplda.runs.fitting import fit
    from dplda.runs.group_words import distinctive_words
    from dplda.runs.priors import public_prior
    from dplda.runs.questions import load_tables
    from dplda.runs.series import load, released_prior
    from dplda.runs.tabulation import tabulate
    from dplda.text import wordlists
    from dplda.text.word_vectors import nearest_words

__all__ = [
    "Corpus",
    "Ledger",
    "PriorTopics",
    "PrivacyStatement",
    "PrivateLDA",
    "TopicModel",
    "contrast",
    "count",
    "distinctive_words",
    "errors",
    "evaluate",
    "fit",
    "load",
    "load_tables",
    "nearest_words",
    "public_prior",
    "read_corpus",
    "released_prior",
    "tabulate",
    "wordlists",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Corpus": "runs.corpus",
        "Ledger": "budget",
        "PriorTopics": "model.prior_topics",
        "PrivacyStatement": "budget.events",
        "PrivateLDA": "runs.estimator",
        "TopicModel": "model",
        "contrast": "model.topic_groups",
        "count": "runs.counting",
        "distinctive_words": "runs.group_words",
        "errors": "base.errors",
        "evaluate": "runs.evaluation",
        "fit": "runs.fitting",
        "load": "runs.series",
        "load_tables": "runs.questions",
        "nearest_words": "text.word_vectors",
        "public_prior": "runs.priors",
        "read_corpus": "runs.corpus",
        "released_prior": "runs.series",
        "tabulate": "runs.tabulation",
        "wordlists": "text.wordlists",
    },
)
