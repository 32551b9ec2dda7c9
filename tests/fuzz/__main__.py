"""The command line `python tests/fuzz`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "helpers"))

from fuzz.attack import main

main(prog_name="python tests/fuzz")
