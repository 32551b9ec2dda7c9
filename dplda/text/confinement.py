"""Processes that parse hostile files: with limits of memory and CPU time, without connections or written files.

These limits stop accidents and known attacks. They are no sandbox for a parser that could be made to run foreign code.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from contextlib import suppress
from typing import IO, Any

_START = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve(*sys.argv[1:])"
_FORBIDDEN = (  # beginnings of audit events
    *("os.", "signal.", "fcntl.", "pty.", "mmap.", "socket.", "subprocess.", "shutil.", "ctypes.", "sqlite3."),
    *("urllib.", "ftplib.", "smtplib.", "http."),
)
_ALLOWED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def start(module: str, *arguments: str, stdin: int | IO[bytes] = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start a process that calls ``serve(*arguments)`` of `module`; its standard output is a pipe.

    Its messages, and those of libraries, may quote documents and are discarded.
    """
    code = _START.format(path=[place for place in sys.path if place], module=module)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )


def confine(memory: int, cpu_seconds: int) -> None:
    """Limit this process to `memory` bytes of address space and to `cpu_seconds`, and take most permissions from it."""
    limits = {
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for limit, value in limits.items():
        with suppress(ValueError, OSError):  # a lower limit is in force, or the system has none
            resource.setrlimit(limit, (value, value))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise for what no extraction of text needs: connections, other programs, and changes of files."""
    writes = event == "open" and bool(arguments[2] & _WRITING)
    if writes or (event.startswith(_FORBIDDEN) and event not in _ALLOWED):
        raise PermissionError(event)
