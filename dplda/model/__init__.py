"""The released model: topics, saving and loading, inference, export. It holds nothing private."""

from dplda.model.export import KINDS, export
from dplda.model.files import load, save
from dplda.model.space import release_space, reserve_space
from dplda.model.topics import TopicModel
from dplda.model.words import counts_for

__all__ = ["KINDS", "TopicModel", "counts_for", "export", "load", "release_space", "reserve_space", "save"]
