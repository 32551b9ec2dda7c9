"""The text of one document file: PDF, Word, OpenDocument, RTF, HTML or e-mail.

The extension of a file's name decides its kind; the content never does so. `_KINDS` maps extensions, such as ``.eml``,
to the function that extracts the text, and a new kind is added there. Functions here parse hostile bytes and are called
in a process that `dplda.text.document_worker` makes for each file; whatever they raise is a defect of that file.
"""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from html.parser import HTMLParser
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from unicodedata import normalize
from xml.sax.handler import ContentHandler

from dplda.base.errors import InputError
from dplda.text.compression import MAX_BYTES
from dplda.text.files import decode
from dplda.text.records import MAX_CHARACTERS, Defect

_INLINE = frozenset(  # elements of HTML that do not end a word
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_UNSEEN = ("script", "style")
_DECLARED = re.compile(
    rb"""(?:<meta[^>]{1,200}?charset\s*=\s*|<\?xml[^>]{1,80}?encoding=)["']?\s*([\w.:-]{1,40})""", re.IGNORECASE
)
_DECLARED_WITHIN = 2048  # bytes at the start of an HTML file in which its encoding is declared
_WORD_PARTS = re.compile(r"word/(document|footnotes|endnotes)\d*\.xml")
_LIGATURES = re.compile("[\ufb00-\ufb06]")


def is_document(file: Path) -> bool:
    """Whether `file`, by its name, is a document from which text must be extracted."""
    return file.suffix.lower() in _KINDS


def require_extractors(files: Collection[Path]) -> None:
    """Raise `InputError` if a library is missing that some of `files` need, by the names of the files alone."""
    if missing := missing_extractors(files):
        raise InputError(missing)


def missing_extractors(files: Collection[Path]) -> str:
    """The missing libraries that some of `files` need, and how to install them; empty if no library is missing."""
    libraries = {ending: _KINDS[ending][1] for file in files if (ending := file.suffix.lower()) in _KINDS}
    lacking = {ending: name for ending, name in sorted(libraries.items()) if name and find_spec(name) is None}
    if not lacking:
        return ""
    names = sorted(set(lacking.values()))
    one, are, them = ("library", "is", "it") if len(names) == 1 else ("libraries", "are", "them")
    return (
        f"Reading {', '.join(lacking)} files needs the {one} {', '.join(names)}, which {are} not installed. Install "
        f"{them}: pip install 'dplda[documents]'."
    )


def load_libraries() -> None:
    """Import the libraries that are installed, so that processes forked from this one need not import them."""
    with suppress(ImportError):
        import pypdf  # noqa: F401
    with suppress(ImportError):
        import defusedxml.sax  # noqa: F401
    with suppress(ImportError):
        import striprtf.striprtf  # noqa: F401


def document_text(file: Path, raw: bytes, encoding: str | None) -> str | Defect:
    """The text of `file`, whose content is `raw`. May raise any exception for content that is malformed."""
    if len(raw) > MAX_BYTES:
        return Defect.TOO_LONG
    text = _KINDS[file.suffix.lower()][0](raw, encoding)
    return text if isinstance(text, Defect) or len(text) <= MAX_CHARACTERS else Defect.TOO_LONG


def _joined(pieces: Iterator[str]) -> str | Defect:
    """All `pieces`, unless they are too long for a document."""
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


def _docx_text(raw: bytes, encoding: str | None) -> str | Defect:
    return _zipped_xml_text(raw, _WORD_PARTS.fullmatch, _WordHandler)


def _odt_text(raw: bytes, encoding: str | None) -> str | Defect:
    return _zipped_xml_text(raw, lambda name: name == "content.xml", _OpenDocumentHandler)


def _zipped_xml_text(raw: bytes, is_part: Callable[[str], Any], handler: type[_XmlHandler]) -> str | Defect:
    """The text of the parts of a zip file that `is_part` names; together they may unpack to `MAX_BYTES`."""
    from defusedxml.sax import parseString

    found, room = handler(), MAX_BYTES
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        names = sorted({name for name in archive.namelist() if is_part(name)})
        if not names:
            return Defect.MALFORMED
        for name in names:
            with archive.open(name) as stream:
                content = stream.read(room + 1)
            room -= len(content)
            if room < 0:
                return Defect.TOO_LONG
            parseString(content, found, forbid_dtd=True)
    return _joined(iter(found.pieces))


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
        local = name.rpartition(":")[2]
        self._n_text += local in self.text
        self._n_skipped += local in self.skipped
        if local in self.breaks:
            self.pieces.append("\n")

    def endElement(self, name: str) -> None:
        local = name.rpartition(":")[2]
        self._n_text -= local in self.text
        self._n_skipped -= local in self.skipped
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
    """`raw` in the encoding that the document names, else as a text file is decoded.

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
    return _joined(iter(parser.pieces))


def _email_text(raw: bytes, encoding: str | None) -> str | Defect:
    """Subject and body of a message. Other headers and attachments are left out; quoted replies stay."""
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    body = _body(message)
    return body if isinstance(body, Defect) else f"{message.get('subject', '')}\n{body}"


def _body(part: MIMEPart) -> str | Defect:
    """Text of a part: its plain version if there is one, else its HTML; "" for attachments and pictures."""
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
    ".docx": (_docx_text, "defusedxml"),
    ".odt": (_odt_text, "defusedxml"),
    ".rtf": (_rtf_text, "striprtf"),
    ".html": (_html_text, ""),
    ".htm": (_html_text, ""),
    ".eml": (_email_text, ""),
}
DOCUMENT_ENDINGS = tuple(_KINDS)
