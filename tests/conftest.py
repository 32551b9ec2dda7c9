"""Fixtures shared by the test folders; its place here also puts `tests` on the path, for `handmade`."""

from __future__ import annotations

import pytest
from handmade import make_model

from dplda.model import TopicModel


@pytest.fixture
def model() -> TopicModel:
    return make_model()
