"""The command line `python scripts/reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproduce.commands import cli

cli(prog_name="python scripts/reproduce")
