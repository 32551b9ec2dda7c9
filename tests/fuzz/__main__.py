"""The command line `python tests/fuzz`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in (".", "helpers")]

from fuzz.attack import main

main(prog_name="python tests/fuzz")
