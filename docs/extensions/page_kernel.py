"""A Jupyter kernel in a new folder, with the files that the pages name and a ledger and a cache of its own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bash_kernel.kernel import BashKernel
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp


class Shell(BashKernel):  # type: ignore[misc]
    """A shell in which a cell ends at its first command that fails, and then fails itself.

    Each cell has a subshell of its own: a change of the working directory or of a variable ends with it.
    """

    def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, Any] | None = None,
        allow_stdin: bool = False,
    ) -> dict[str, Any]:
        """Execute a cell."""
        return super().do_execute(
            f"(set -e -o pipefail\n{code}\n) </dev/null", silent, store_history, user_expressions, allow_stdin
        )


def enter_new_folder() -> None:
    """Make a folder for the page, fill it, enter it, and make it the home folder."""
    pages = Path(os.environ["DPLDA_PAGES"])
    folder = Path(mkdtemp(dir=pages))
    shutil.copytree(pages / "files", folder, dirs_exist_ok=True)
    os.chdir(folder)
    os.environ |= {"HOME": str(folder), "DPLDA_LEDGER": str(folder / "ledger.db"), "DPLDA_CACHE": str(folder / "cache")}
    os.environ |= {"XDG_STATE_HOME": str(folder / ".state"), "DPLDA_WITNESS": ""}


if __name__ == "__main__":
    name = sys.argv.pop(1)
    enter_new_folder()
    IPKernelApp.launch_instance(kernel_class=Shell if name == "bash" else IPythonKernel)
