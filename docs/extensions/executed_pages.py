"""Sphinx extension: pages and notebooks are executed in temporary folders, where the files lie that they name.

MyST-NB finds the kernels by the specifications written here. Both start through `page_kernel`.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path
from sphinx.application import Sphinx

from dplda.runs.sample import sample_documents

EXTENSIONS = Path(__file__).parent
KERNELS = {"bash": "bash", "python3": "python"}  # and their languages
# The files that the pages name: how many documents of the sample corpus each holds.
FILES = {
    **{"tickets.jsonl": 2000, "june.jsonl": 4000, "forum.jsonl": 3000, "posts.jsonl": 4000, "letters.jsonl": 8000},
    **{f"week-{week}.jsonl": 4000 for week in (31, 32, 33)},
}


def prepare(app: Sphinx) -> None:
    """Write the files and the specifications of the kernels into a temporary folder."""
    temporary = TemporaryDirectory(prefix="dplda-docs-")
    app.connect("build-finished", lambda app, exception: temporary.cleanup())
    folder = Path(temporary.name)
    _write_files(folder / "files")
    environment = {
        "DPLDA_PAGES": str(folder),
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(user_cache_path("dplda") / "compiled"),
        "NUMBA_DISABLE_JIT": "0",
        "PATH": os.pathsep.join([str(EXTENSIONS / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    for name, language in KERNELS.items():
        argv = [sys.executable, str(EXTENSIONS / "page_kernel.py"), name, "-f", "{connection_file}"]
        specification = {"argv": argv, "display_name": name, "language": language, "env": environment}
        kernel = folder / "jupyter" / "kernels" / name / "kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(json.dumps(specification), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = str(folder / "jupyter")


def _write_files(folder: Path) -> None:
    folder.mkdir()
    documents = sample_documents(sum(FILES.values()), n_users=4000, seed=0)
    for name, n_documents in FILES.items():
        lines = (f"{json.dumps(document)}\n" for document in islice(documents, n_documents))
        (folder / name).write_text("".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Prepare before the first page is read."""
    app.connect("builder-inited", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
