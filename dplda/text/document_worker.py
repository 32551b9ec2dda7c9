"""Extraction of text in processes that cannot harm the run, one for each document file.

A server process, which never holds a text, forks a relay for each file, and the relay forks a child. The child has
limits on memory and CPU time, may not write files, open connections or start programs, and hands its text to the relay
through a pipe. A child that crashes, hangs or exceeds a limit makes its own document defective. The next relay is
forked from the same server in the same state, so that no document can change how another one is read.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from dplda.text.document_text import document_text, load_libraries
from dplda.text.files import read_whole
from dplda.text.records import MAX_CHARACTERS, Defect

_CPU_SECONDS = 60  # of one file; CPU time, because wall time would depend on what else the machine does
_WALL_SECONDS = 900  # of one file that waits for a disk, say
_MEMORY = 2 << 30  # bytes of address space
_ANSWER_BYTES = 4 * MAX_CHARACTERS + 1  # UTF-8 takes at most four bytes per character
_MAX_SERVERS = 4
_MAX_FILES = 1024  # numbers of files that a server may have open; it has about ten
_HEADER = struct.Struct("<Q")
_TEXT, _DEFECT = b"t", b"d"
_FORBIDDEN = (  # beginnings of audit events
    *("os.", "signal.", "fcntl.", "pty.", "mmap.", "socket.", "subprocess.", "shutil.", "ctypes.", "sqlite3."),
    *("urllib.", "ftplib.", "smtplib.", "http."),
)
_ALLOWED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_START = "import sys; sys.path[:] = {path!r}; from dplda.text.document_worker import serve; serve()"


def extract_texts(files: Iterable[Path], encoding: str | None) -> Iterator[str | Defect]:
    """The text or defect of each of `files`, in order."""
    n_servers = min(_MAX_SERVERS, os.cpu_count() or 1)
    idle: SimpleQueue[_Server] = SimpleQueue()
    servers = [_Server() for _ in range(n_servers)]
    for server in servers:
        idle.put(server)

    def extract(file: Path) -> str | Defect:
        server = idle.get()
        try:
            return server.extract(file, encoding)
        finally:
            idle.put(server)

    pool = ThreadPoolExecutor(n_servers)
    waiting: deque[Future[str | Defect]] = deque()
    try:
        for file in files:
            waiting.append(pool.submit(extract, file))
            if len(waiting) > 2 * n_servers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for server in servers:  # what a thread waits for ends
            server.stop()
        pool.shutdown()
        for server in servers:  # which a thread may have just started again
            server.stop()


class _Server:
    """A server process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def extract(self, file: Path, encoding: str | None) -> str | Defect:
        """The text of `file`. If the server dies, it is started anew and asked once more."""
        for _ in range(2):
            with suppress(OSError, EOFError):
                return self._ask(file, encoding)
            self._kill()
        return Defect.UNREADABLE

    def stop(self) -> None:
        """End the server and the child that it may wait for."""
        self._stopped = True
        self._kill()

    def _ask(self, file: Path, encoding: str | None) -> str | Defect:
        if self._stopped:
            raise EOFError
        self._process = self._process or _start()
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps([os.fspath(file), encoding]).encode() + b"\n")
        requests.flush()
        (length,) = _HEADER.unpack(_exactly(answers, _HEADER.size))
        answer = _exactly(answers, length)
        return _parsed(answer)

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()


def _parsed(answer: bytes) -> str | Defect:
    """The text or defect in the `answer` of a child, which may be anything if its parser was taken over."""
    try:
        content = answer[1:].decode("utf-8", "surrogatepass")
        text = content if answer[:1] == _TEXT else Defect[content]
    except (UnicodeDecodeError, KeyError):
        return Defect.UNREADABLE
    return text if isinstance(text, Defect) or len(text) <= MAX_CHARACTERS else Defect.TOO_LONG


def _exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content


def _start() -> subprocess.Popen[bytes]:
    """Start a server. Its messages, and those of libraries, may quote documents and are discarded."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START.format(path=[place for place in sys.path if place])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )


def serve() -> None:
    """Answer the requests on standard input, one a line, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    load_libraries()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    for request in sys.stdin.buffer:
        file, encoding = json.loads(request)
        relay = os.fork()
        if relay == 0:
            _relay_and_exit(Path(file), encoding, answers)
        if os.waitpid(relay, 0)[1] != 0:
            return  # the answer may be incomplete


def _relay_and_exit(file: Path, encoding: str | None, answers: IO[bytes]) -> None:
    """Pass on the answer about `file`, and end this process: the server itself never holds the text of a document."""
    try:
        answer = _answer_of_child(file, encoding)
        answers.write(_HEADER.pack(len(answer)) + answer)
        answers.flush()
        os._exit(0)
    finally:
        os._exit(1)


def _answer_of_child(file: Path, encoding: str | None) -> bytes:
    """What a new process answers about `file`; a defect if it does not answer."""
    ours, its = os.pipe()
    child = os.fork()
    if child == 0:
        _answer_and_exit(file, encoding, its)
    os.close(its)
    try:
        answer = _read_until(ours, time.monotonic() + _WALL_SECONDS)
    finally:
        os.close(ours)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return answer if status == 0 and answer else _DEFECT + Defect.UNREADABLE.name.encode()


def _read_until(pipe: int, deadline: float) -> bytes:
    """All bytes of `pipe`; none after the `deadline` or if they are too many."""
    parts, length = list[bytes](), 0
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
        length += len(part)
        if length > _ANSWER_BYTES:
            break
    return b""


def _answer_and_exit(file: Path, encoding: str | None, pipe: int) -> None:
    """Write the text of `file`, or its defect, to `pipe`, and end this process."""
    try:
        pipe = _only_open_file(pipe)
        _set_limits()
        text = _extract(file, encoding)
        kind, content = (_DEFECT, text.name) if isinstance(text, Defect) else (_TEXT, text)
        answer = memoryview(kind + content.encode("utf-8", "surrogatepass"))
        while answer:
            answer = answer[os.write(pipe, answer) :]
        os._exit(0)
    finally:
        os._exit(1)


def _only_open_file(pipe: int) -> int:
    """Close the server's files; `pipe` gets a new descriptor, which is returned."""
    os.dup2(1, 0)  # which leads nowhere
    os.dup2(pipe, 3)
    os.closerange(4, _MAX_FILES)
    return 3


def _extract(file: Path, encoding: str | None) -> str | Defect:
    raw = read_whole(file)
    if isinstance(raw, Defect):
        return raw
    try:
        return document_text(file, raw, encoding)
    except MemoryError:
        return Defect.UNREADABLE
    except Exception:  # whatever a library raises for a malformed file
        return Defect.MALFORMED


def _set_limits() -> None:
    limits = {
        resource.RLIMIT_CPU: _CPU_SECONDS,
        resource.RLIMIT_AS: _MEMORY,
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
