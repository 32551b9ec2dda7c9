"""Fixtures shared by the test folders; its place here also puts `tests` on the path, for `handmade`."""

from __future__ import annotations

import pytest
from handmade import make_model
from hypothesis import settings

from dplda.model import TopicModel

settings.register_profile("shared machines", deadline=None)  # how long one example takes says nothing there
settings.load_profile("shared machines")


@pytest.fixture
def model() -> TopicModel:
    return make_model()
