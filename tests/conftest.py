"""Fixtures shared by the test folders; its place here also puts `tests` on the path, for `handmade`."""

from __future__ import annotations

import pytest
from handmade import make_model
from hypothesis import settings

from dplda.model import TopicModel

# How long one example takes says nothing on machines that others use, too.
settings.register_profile("quick", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=400)  # scripts/prove
settings.load_profile("quick")


@pytest.fixture
def model() -> TopicModel:
    return make_model()
