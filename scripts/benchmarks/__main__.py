"""The command line `python scripts/benchmarks`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.commands import cli

if __name__ == "__main__":  # processes of their own import this module too
    cli(prog_name="python scripts/benchmarks")
