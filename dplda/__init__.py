"""Differentially private topic modelling, end to end."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplda.corpus import Corpus, read_corpus
    from dplda.estimator import PrivateLDA
    from dplda.fitting import fit
    from dplda.ledger import Ledger
    from dplda.model import TopicModel, load
    from dplda.privacy.events import PrivacyStatement

__all__ = ["Corpus", "Ledger", "PrivacyStatement", "PrivateLDA", "TopicModel", "fit", "load", "read_corpus"]

_HOMES = {
    "Corpus": "dplda.corpus",
    "Ledger": "dplda.ledger",
    "PrivacyStatement": "dplda.privacy.events",
    "PrivateLDA": "dplda.estimator",
    "TopicModel": "dplda.model",
    "fit": "dplda.fitting",
    "load": "dplda.model",
    "read_corpus": "dplda.corpus",
}


def __getattr__(name: str) -> Any:
    """Import public names when first used: the command line starts without compilers and parsers."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dplda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
