from __future__ import annotations

from pathlib import Path

import pytest

from dplda.budget import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A new ledger in a folder of its own."""
    return Ledger(tmp_path / "ledger.db")
