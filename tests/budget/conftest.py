from __future__ import annotations

from pathlib import Path

import pytest

from dplda.budget import Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A new ledger in a folder of its own."""
    (tmp_path / "used").mkdir()
    return Ledger(tmp_path / "used" / "ledger.db")
