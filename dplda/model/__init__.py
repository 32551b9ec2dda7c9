"""The released model: topics, saving and loading, inference, export. It holds nothing private."""

from dplda.model.exporters import EXPORTERS, export
from dplda.model.topic_model import TopicModel, load

__all__ = ["EXPORTERS", "TopicModel", "export", "load"]
