"""Kill a process at the n-th beginning or end of what touches disk; for scripts started by `killed` in a process of
their own, since they fork."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Step = tuple[type, str]  # a class and the name of a method


def killed(script: Path, folder: Path, *more: str) -> list[Any]:
    """The JSON lines that `script` prints, told to work in `folder`, and `more`."""
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(script), str(folder), *more]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed_at(number: int, steps: tuple[Step, ...], work: Callable[[], object]) -> tuple[str, bool]:
    """Fork, `work` there until the `number`-th beginning or end of a step; its name, and whether `work` ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _kill_at(number, steps, writer)
        work()
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return pipe.read() or "end", os.waitpid(child, 0)[1] == 0


def _kill_at(number: int, steps: tuple[Step, ...], writer: int) -> None:
    seen = 0

    def step(name: str) -> None:
        nonlocal seen
        if seen == number:
            os.write(writer, name.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        seen += 1

    for owner, name in steps:
        setattr(owner, name, _wrapped(getattr(owner, name), f"{owner.__name__}.{name}", step))


def _wrapped(original: Callable[..., Any], name: str, step: Callable[[str], None]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        step(f"before {name}")
        answer = original(*args, **kwargs)
        step(f"after {name}")
        return answer

    return call
