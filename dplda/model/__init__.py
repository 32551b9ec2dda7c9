"""The released model: topics, saving and loading, inference, export. It holds nothing private."""

from dplda.model.exporters import KINDS, export
from dplda.model.inference import counts_for
from dplda.model.model_files import load, release_space, reserve_space, save
from dplda.model.topic_model import TopicModel

__all__ = ["KINDS", "TopicModel", "counts_for", "export", "load", "release_space", "reserve_space", "save"]
