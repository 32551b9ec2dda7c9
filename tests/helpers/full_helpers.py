"""Parameters of which the first few are always tested, and the others by `.ci/run` and `scripts/prove`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full_after(always: int, values: Iterable[Any]) -> list[Any]:
    """The `values` for `pytest.mark.parametrize`; those after the first `always` have the marker ``full``."""
    listed = list(values)
    rest = [pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=pytest.mark.full) for v in listed[always:]]
    return [*listed[:always], *rest]
