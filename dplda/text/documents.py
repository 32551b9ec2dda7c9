"""The text of document files, one at a time: PDF, Word, OpenDocument, RTF, HTML and e-mail.

The ending of a file's name decides its kind; the content never does so. `_KINDS`, at the end, maps endings such as
``.eml`` to the function that extracts the text, and a new kind is added there.

These functions parse hostile bytes, and libraries may crash, hang or be taken over. Therefore each file is read in a
process that cannot harm the run. A server process, which never holds a text, forks a relay for each file, and the relay
forks a child. The child has limits on memory and CPU time, may not write files, open connections or start programs, and
hands its text to the relay through a pipe. A child that crashes, hangs or exceeds a limit makes its own document
defective. The next relay is forked from the same server in the same state, so that no document can change how another
one is read.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from functools import partial
from html.parser import HTMLParser
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any
from unicodedata import normalize
from xml.sax.handler import ContentHandler

from dplda.text.compression import MAX_BYTES
from dplda.text.confinement import confine, start
from dplda.text.files import decode, read_whole
from dplda.text.records import MAX_CHARACTERS, Defect

_CPU_SECONDS = 60  # of one file; CPU time, because wall time would depend on what else the machine does
_WALL_SECONDS = 900  # of one file that waits for a disk, say
_MEMORY = 2 << 30  # bytes of address space
_ANSWER_BYTES = 4 * MAX_CHARACTERS + 1  # UTF-8 takes at most four bytes per character
_MAX_SERVERS = 4
_MAX_FILES = 1024  # numbers of files that a server may have open; it has about ten
_HEADER = struct.Struct("<Q")
_TEXT, _DEFECT = b"t", b"d"
_INLINE = (  # elements of HTML that do not end a word
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del"),
    *("dfn", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "s", "samp"),
    *("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
)
_UNSEEN = ("script", "style")
_DECLARED = re.compile(
    rb"""(?:<meta[^>]{1,200}?charset\s*=\s*|<\?xml[^>]{1,80}?encoding=)["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 2048  # bytes at the start of an HTML file in which its encoding is declared
_DOCX_TEXT = re.compile(r"word/(document|footnotes|endnotes)\d*\.xml")
_ODT_TEXT = re.compile(r"content\.xml")
_LIGATURES = re.compile("[\ufb00-\ufb06]")


def is_document(file: Path) -> bool:
    """Whether text must be extracted from `file`, by its name."""
    return file.suffix.lower() in _KINDS


def missing_extractors(files: Collection[Path]) -> str:
    """Name the missing libraries that some of `files` need, and how to install them; empty if none is missing."""
    libraries = {ending: _KINDS[ending][1] for file in files if (ending := file.suffix.lower()) in _KINDS}
    lacking = {ending: name for ending, name in sorted(libraries.items()) if name and find_spec(name) is None}
    if not lacking:
        return ""
    names = sorted(set(lacking.values()))
    one, are, them = ("library", "is", "it") if len(names) == 1 else ("libraries", "are", "them")
    return (
        f"Reading {', '.join(lacking)} files needs the {one} {', '.join(names)}, which {are} not installed. Install "
        f"{them}: pip install 'dplda[documents]', or name the other files with --pattern (in Python, pattern=)."
    )


def load_libraries() -> None:
    """Import the libraries that are installed, so that processes forked from this one need not import them."""
    with suppress(ImportError):
        import pypdf  # noqa: F401
    with suppress(ImportError):
        import defusedxml.sax  # noqa: F401
    with suppress(ImportError):
        import striprtf.striprtf  # noqa: F401


def extract_texts(files: Iterable[Path], encoding: str | None) -> Iterator[str | Defect]:
    """Extract the text of each of `files`, in order; yields it, or a defect."""
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
        """Return the text of `file`. If the server dies, it is started anew and asked once more."""
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
        self._process = self._process or start(__name__)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps([os.fspath(file), encoding]).encode() + b"\n")
        requests.flush()
        (length,) = _HEADER.unpack(_exactly(answers, _HEADER.size))
        answer = _exactly(answers, length)
        try:  # it may be anything if the parser was taken over
            content = answer[1:].decode("utf-8", "surrogatepass")
            text = content if answer[:1] == _TEXT else Defect[content]
        except (UnicodeDecodeError, KeyError):
            return Defect.UNREADABLE
        return text if isinstance(text, Defect) or len(text) <= MAX_CHARACTERS else Defect.TOO_LONG

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


def _exactly(stream: IO[bytes], n_bytes: int) -> bytes:
    content = stream.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    return content


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
            _relay_and_exit(Path(file), encoding, answers)  # the server itself never holds the text of a document
        if os.waitpid(relay, 0)[1] != 0:
            return  # the answer may be incomplete


def _relay_and_exit(file: Path, encoding: str | None, answers: IO[bytes]) -> None:
    """Pass on the answer about `file`, and end this process."""
    try:
        answer = _answer_of_child(file, encoding)
        answers.write(_HEADER.pack(len(answer)) + answer)
        answers.flush()
        os._exit(0)
    finally:
        os._exit(1)


def _answer_of_child(file: Path, encoding: str | None) -> bytes:
    """Return what a new process answers about `file`; a defect if it does not answer."""
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
    """Return all bytes of `pipe`; none after the `deadline` or if they are too many."""
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
        os.dup2(1, 0)  # which leads nowhere
        os.dup2(pipe, 3)
        os.closerange(4, _MAX_FILES)  # the server's
        confine(_MEMORY, _CPU_SECONDS)

        raw = read_whole(file)
        try:
            text = raw if isinstance(raw, Defect) else document_text(file, raw, encoding)
        except MemoryError:
            text = Defect.UNREADABLE
        except Exception:  # whatever a library raises for a malformed file
            text = Defect.MALFORMED
        kind, content = (_DEFECT, text.name) if isinstance(text, Defect) else (_TEXT, text)
        answer = memoryview(kind + content.encode("utf-8", "surrogatepass"))
        while answer:
            answer = answer[os.write(3, answer) :]
        os._exit(0)
    finally:
        os._exit(1)


def document_text(file: Path, raw: bytes, encoding: str | None) -> str | Defect:
    """Extract the text of `file`, whose content is `raw`. May raise any exception for malformed content."""
    if len(raw) > MAX_BYTES:
        return Defect.TOO_LONG
    text = _KINDS[file.suffix.lower()][0](raw, encoding)
    return text if isinstance(text, Defect) or len(text) <= MAX_CHARACTERS else Defect.TOO_LONG


def _joined(pieces: Iterable[str]) -> str | Defect:
    """Return all `pieces`, unless they are too long for a document."""
    kept, length = list[str](), 0
    for piece in pieces:
        kept.append(piece)
        length += len(piece)
        if length > MAX_CHARACTERS:
            return Defect.TOO_LONG
    return "".join(kept)


def _pdf_text(raw: bytes, encoding: str | None) -> str | Defect:
    from pypdf import PdfReader

    reader = PdfReader(BytesIO(raw))
    if reader.is_encrypted and not reader.decrypt(""):
        return Defect.UNREADABLE
    text = _joined(page.extract_text() + "\n" for page in reader.pages)
    if isinstance(text, Defect):
        return text
    return normalize("NFC", _LIGATURES.sub(lambda match: normalize("NFKC", match[0]), text))


def _zipped_xml_text(
    raw: bytes, encoding: str | None, part: re.Pattern[str], handler: type[_XmlHandler]
) -> str | Defect:
    """Return the text of the files in a zip file whose names match `part`; together they may unpack to `MAX_BYTES`."""
    from defusedxml.sax import parseString

    found, room = handler(), MAX_BYTES
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        names = sorted({name for name in archive.namelist() if part.fullmatch(name)})
        if not names:
            return Defect.MALFORMED
        for name in names:
            with archive.open(name) as stream:
                content = stream.read(room + 1)
            room -= len(content)
            if room < 0:
                return Defect.TOO_LONG
            parseString(content, found, forbid_dtd=True)
    return _joined(found.pieces)


class _XmlHandler(ContentHandler):
    """Collects in `pieces` the text inside the elements `text`, but not inside the elements `skipped`.

    Words end around the elements `breaks`. Names of elements are without their namespace prefix.
    """

    text: frozenset[str]
    skipped: frozenset[str]
    breaks: frozenset[str]  # elements around which words end

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._n_text = self._n_skipped = 0

    def startElement(self, name: str, attrs: Any) -> None:
        self._cross(name, 1)

    def endElement(self, name: str) -> None:
        self._cross(name, -1)

    def _cross(self, name: str, inside: int) -> None:
        local = name.rpartition(":")[2]
        self._n_text += inside * (local in self.text)
        self._n_skipped += inside * (local in self.skipped)
        if local in self.breaks:
            self.pieces.append("\n")

    def characters(self, content: str) -> None:
        if self._n_text and not self._n_skipped:
            self.pieces.append(content)


class _WordHandler(_XmlHandler):
    text = frozenset({"t"})
    skipped = frozenset({"moveFrom", "Fallback"})  # text that was moved away, and second versions of drawings
    breaks = frozenset({"p", "br", "cr", "tab", "tc"})


class _OpenDocumentHandler(_XmlHandler):
    text = frozenset({"p", "h"})
    skipped = frozenset({"tracked-changes", "annotation", "note-citation"})
    breaks = frozenset({"p", "h", "s", "tab", "line-break", "note"})


def _rtf_text(raw: bytes, encoding: str | None) -> str | Defect:
    from striprtf.striprtf import rtf_to_text

    if not raw.lstrip().startswith(b"{\\rtf"):
        return Defect.MALFORMED
    return str(rtf_to_text(raw.decode("cp1252", "replace"), errors="replace"))


def _html_text(raw: bytes, encoding: str | None) -> str | Defect:
    declared = _DECLARED.search(raw[:_DECLARED_WITHIN])
    marked = raw.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    named = declared[1].decode("ascii", "replace") if declared and not marked else None
    page = decode(raw, encoding) if encoding else _decoded_as(raw, named)
    return page if isinstance(page, Defect) else _without_tags(page)


def _decoded_as(raw: bytes, named: str | None) -> str | Defect:
    """Return `raw` in the encoding that the document names, else as a text file is decoded.

    Latin-1 and ASCII are names that programs give to Windows-1252 and UTF-8 too, so these names are ignored. The name
    UTF-16 is ignored, too: without a byte order mark it cannot be true.
    """
    with suppress(LookupError, UnicodeError, ValueError):
        codec = codecs.lookup(named).name if named else "ascii"
        if codec not in ("ascii", "iso8859-1") and not codec.startswith("utf-16"):
            return raw.decode(codec)
    return decode(raw, None)


class _PageParser(HTMLParser):
    """Collects the text of a page; words end at every element that is not inline."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._unseen: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen = tag
        if tag not in _INLINE:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = None
        if tag not in _INLINE:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._unseen is None:
            self.pieces.append(data)


def _without_tags(page: str) -> str | Defect:
    parser = _PageParser()
    parser.feed(page)
    parser.close()
    return _joined(parser.pieces)


def _email_text(raw: bytes, encoding: str | None) -> str | Defect:
    """Subject and body of a message. Other headers and attachments are left out; quoted replies stay."""
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    body = _body(message)
    return body if isinstance(body, Defect) else f"{message.get('subject', '')}\n{body}"


def _body(part: MIMEPart) -> str | Defect:
    """Return the text of a part: its plain version if there is one, else its HTML; "" for attachments and pictures."""
    if part.is_attachment() or part.get_filename() is not None:
        return ""
    content_type = part.get_content_type()
    if part.is_multipart():
        if content_type == "message/rfc822":
            return ""
        bodies = [(inner.get_content_type() != "text/plain", _body(inner)) for inner in part.iter_parts()]
        if content_type == "multipart/alternative":
            plain_first = sorted((body for body in bodies if body[1]), key=lambda body: body[0])
            return plain_first[0][1] if plain_first else ""
        defect = next((body for _, body in bodies if isinstance(body, Defect)), None)
        return defect or "\n".join(str(body) for _, body in bodies)
    if content_type not in ("text/plain", "text/html"):
        return ""
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    text = _decoded_as(content, part.get_content_charset())
    return text if content_type == "text/plain" or isinstance(text, Defect) else _without_tags(text)


_Extract = Callable[[bytes, str | None], str | Defect]
_KINDS: dict[str, tuple[_Extract, str]] = {  # and the library that the function needs
    ".pdf": (_pdf_text, "pypdf"),
    ".docx": (partial(_zipped_xml_text, part=_DOCX_TEXT, handler=_WordHandler), "defusedxml"),
    ".odt": (partial(_zipped_xml_text, part=_ODT_TEXT, handler=_OpenDocumentHandler), "defusedxml"),
    ".rtf": (_rtf_text, "striprtf"),
    ".html": (_html_text, ""),
    ".htm": (_html_text, ""),
    ".eml": (_email_text, ""),
}
DOCUMENT_ENDINGS = tuple(_KINDS)
