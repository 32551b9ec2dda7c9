"""Differentially private topic modelling, end to end."""

from typing import TYPE_CHECKING

from dplda.lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dplda.accounting.events import PrivacyStatement
    from dplda.api import fit
    from dplda.corpus import Corpus, read_corpus
    from dplda.estimator import PrivateLDA
    from dplda.evaluation.topic_evaluation import evaluate
    from dplda.ledger import Ledger
    from dplda.ledger.saved_models import load
    from dplda.model import TopicModel
    from dplda.prior_topics import PriorTopics
    from dplda.priors import public_prior
    from dplda.runs.series import released_prior
    from dplda.tables import tabulate

__all__ = [
    "Corpus",
    "Ledger",
    "PriorTopics",
    "PrivacyStatement",
    "PrivateLDA",
    "TopicModel",
    "evaluate",
    "fit",
    "load",
    "public_prior",
    "read_corpus",
    "released_prior",
    "tabulate",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Corpus": "corpus",
        "Ledger": "ledger",
        "PrivacyStatement": "accounting.events",
        "PrivateLDA": "estimator",
        "TopicModel": "model",
        "evaluate": "evaluation.topic_evaluation",
        "fit": "api",
        "load": "ledger.saved_models",
        "PriorTopics": "prior_topics",
        "public_prior": "priors",
        "read_corpus": "corpus",
        "released_prior": "runs.series",
        "tabulate": "tables",
    },
)
