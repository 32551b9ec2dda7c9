"""Documents of office programs, web pages and e-mail: their text, their defects, and the walls around each of them."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from fpdf import FPDF
from full_helpers import full_after

from dplda.base.errors import InputError
from dplda.text import confinement, documents
from dplda.text.formats import default_name, open_source
from dplda.text.records import Defect, ReadOptions, TextRecord

TEXT = "Grüße über Straßenbäume: Ärger, Öl"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def zipped(**parts: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", part)
    return content.getvalue()


def docx(body: str, **others: str) -> bytes:
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    return zipped(word__document=f'{head}<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>', **others)


def odt(body: str) -> bytes:
    names = 'xmlns:office="urn:o" xmlns:text="urn:t"'
    return zipped(content=f"<office:document-content {names}>{body}</office:document-content>")


def pdf(text: str = TEXT, **encryption: str) -> bytes:
    page = FPDF()
    page.add_page()
    page.set_font("Helvetica")
    page.multi_cell(0, text=text)
    if encryption:
        page.set_encryption("owner", encryption["user"], encryption_method="AES-256")
    return bytes(page.output())


def email(text: str, charset: str = "utf-8", cte: str | None = None, html: str | None = None) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Anna Absender <anna@example.org>"
    message["Subject"] = "Fröhlicher Betreff"
    message.set_content(text, charset=charset, cte=cte)
    if html is not None:
        message.add_alternative(html, subtype="html", charset=charset)
    return message


RTF = r"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0 Gr\'fc\'dfe \u252?ber Stra\'dfenb\'e4ume: \'c4rger, \'d6l\par}"
HTML = (
    "<html><head><title>T</title><style>p {secretstyle}</style></head><body><p>%s</p><script>x='secretscript'</script>"
)

GOOD: dict[str, bytes] = {
    "a.docx": docx(f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>"),
    "b.odt": odt(f"<text:p>{TEXT}</text:p>"),
    "c.rtf": RTF.encode("ascii"),
    "d.pdf": pdf(),
    "e.html": (HTML % TEXT).encode(),
    "f.HTM": b'<meta charset="iso-8859-1">' + (HTML % TEXT).encode("latin-1"),
    "g.html": (HTML % TEXT).encode("utf-16"),
    "h.html": (HTML % "Gr&uuml;&szlig;e &#252;ber Stra&szlig;enb&auml;ume: &Auml;rger, &Ouml;l").encode(),
    "i.eml": bytes(email(TEXT)),
    "j.eml": bytes(email(TEXT, "iso-8859-1", "quoted-printable")),
    "k.eml": bytes(email(TEXT, "windows-1252", "base64")),
    "l.eml": bytes(email(TEXT, "iso-8859-1", "8bit")),
    "m.eml": bytes(email(TEXT, "utf-8", "quoted-printable", "<p>other version</p>")),
    "n.md": TEXT.encode(),
    "o.txt": TEXT.encode("cp1252"),
    "sub/p.pdf": pdf(user=""),
}


def folder_of(tmp_path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / name).write_bytes(content)
    return tmp_path / "c"


def found(tmp_path: Path, files: dict[str, bytes]) -> list[str | Defect]:
    """The texts or defects of `files`, in the order of their names."""
    return read(folder_of(tmp_path, files))


def read(path: Path, **options: str) -> list[str | Defect]:
    records = open_source(path, ReadOptions(**options)).records()
    return [record.text if isinstance(record, TextRecord) else record for record in records]


def text_of(name: str, content: bytes) -> str | Defect:
    return documents.document_text(Path(name), content, None)


def words(text: str | Defect) -> list[str]:
    assert isinstance(text, str)
    return text.split()


def test_a_folder_of_mixed_kinds_is_one_corpus(tmp_path: Path) -> None:
    source = open_source(folder_of(tmp_path, GOOD), ReadOptions())
    assert source.total == len(GOOD)
    records = list(source.records())
    assert [record.id for record in records] == list(GOOD)
    for record in records:
        assert TEXT in " ".join(record.text.split()), record.id
        assert "secret" not in record.text
    assert [record.id for record in source.records(12)] == list(GOOD)[12:]


def test_a_single_file_is_one_document(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, GOOD)
    for name in ("a.docx", "f.HTM", "n.md"):
        [text] = read(folder / name)
        assert TEXT in str(text)
    assert default_name(folder / "a.docx") == "a"
    with pytest.raises(InputError, match="is one document, which has no columns"):
        read(folder / "a.docx", text_field="body")


def run(*content: str) -> str:
    return "".join(f"<w:r>{piece if piece.startswith('<') else f'<w:t>{piece}</w:t>'}</w:r>" for piece in content)


def test_words_end_at_paragraphs_cells_and_breaks_and_not_within_runs() -> None:
    runs = f"<w:p>{run('plan', 'ets', '<w:tab/>', 'stars', '<w:br/>', 'moon')}</w:p>"
    cells = "".join(f"<w:tc><w:p>{run(side)}</w:p></w:tc>" for side in ("left", "right"))
    changes = f"<w:del>{run('<w:delText>deleted</w:delText>')}</w:del><w:moveFrom>{run('moved')}</w:moveFrom>"
    table = f"<w:tbl><w:tr>{cells}</w:tr></w:tbl><w:p>{changes}</w:p>"
    note = f'<w:footnotes xmlns:w="{WORD}"><w:footnote><w:p><w:r><w:t>foot</w:t></w:r></w:p></w:footnote></w:footnotes>'
    text = text_of("x.docx", docx(runs + table, word__footnotes=note, word__comments=note))
    assert words(text) == ["planets", "stars", "moon", "left", "right", "foot"]
    body = "plan<text:span>ets</text:span><text:s/>stars<text:tab/>moon<text:line-break/>sun"
    body = f"<text:h>Head</text:h><text:p>{body}</text:p>"
    hidden = "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    assert words(text_of("x.odt", odt(hidden + body))) == ["Head", "planets", "stars", "moon", "sun"]
    page = "<div>plan<b>ets</b><br>stars</div><ul><li>moon<li>sun</ul><!-- secret --><td>a<td>b&nbsp;c&amp;d"
    assert words(text_of("x.html", page.encode())) == ["planets", "stars", "moon", "sun", "a", "b", "c&d"]


def test_subject_and_body_of_a_message_are_read_and_nothing_else() -> None:
    message = email(f"{TEXT}\n> quoted reply\n", html="<p>html version</p>")
    message.add_attachment("attached words", filename="notes.txt")
    message.add_attachment(b"%PDF attached", maintype="application", subtype="pdf", filename="x.pdf")
    message.add_attachment(email("forwarded words"))
    text = text_of("x.eml", bytes(message))
    assert words(text) == ["Fröhlicher", "Betreff", *TEXT.split(), ">", "quoted", "reply"]


def test_a_message_of_html_alone_is_turned_to_text() -> None:
    message = EmailMessage()
    message["Subject"] = "planets"
    message.set_content(f"<p>{TEXT}</p><style>hidden</style>", subtype="html", charset="iso-8859-1")
    assert words(text_of("x.eml", bytes(message))) == ["planets", *TEXT.split()]


def test_a_wrong_charset_is_replaced_by_the_one_of_text_files() -> None:
    for charset in ("nonsense", "us-ascii", "utf-16", "hex"):
        content = f"Content-Type: text/plain; charset={charset}\n\n".encode() + TEXT.encode()
        assert words(text_of("x.eml", content)) == TEXT.split()
        page = f'<meta http-equiv=content-type content="text/html; charset={charset}">{TEXT}'
        assert words(text_of("x.html", page.encode())) == TEXT.split()


def test_a_charset_that_is_declared_is_used() -> None:
    content = b"Content-Type: text/plain; charset=iso-8859-5\n\n" + "Россия".encode("iso-8859-5")
    assert words(text_of("x.eml", content)) == ["Россия"]
    page = '<?xml version="1.0" encoding="koi8-r"?>Россия'.encode("koi8-r")
    assert words(text_of("x.html", page)) == ["Россия"]


def test_the_declared_encoding_applies_to_pages(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"x.html": "<p>Россия".encode("koi8-r")})
    assert [words(text) for text in read(folder, encoding="koi8-r")] == [["Россия"]]


def test_ligatures_of_a_pdf_are_letters() -> None:
    assert documents._LIGATURES.sub("", "o\ufb03ce") == "oce"
    assert "planets" in str(text_of("x.pdf", pdf("planets")))


BOMB = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)
OUTSIDE = f'<!DOCTYPE x [<!ENTITY f SYSTEM "file://{Path(__file__).resolve()}">]>'


def xml_docx(content: str) -> bytes:
    return zipped(word__document=content)


BAD: dict[str, bytes] = {
    "bomb.docx": zipped(word__document=f'<w:document xmlns:w="{WORD}"><w:t>' + "a" * (70 << 20)),
    "entities.docx": xml_docx(f"{BOMB}]><t>&j;</t>"),
    "outside.docx": xml_docx(f"{OUTSIDE}<t>&f;</t>"),
    "outside.odt": zipped(content=f"{OUTSIDE}<p>&f;</p>"),
    "deep.docx": xml_docx("<t>" * 100_000),
    "empty.docx": b"",
    "other.docx": zipped(other="<t>x</t>"),
    "locked.pdf": pdf(user="secret"),
    "cut.pdf": pdf()[:300],
    "none.pdf": b"%PDF-1.7 nothing",
    "empty.pdf": b"",
    "image.html": b"\x89PNG\0\0\0",
    "none.rtf": b"no rtf",
    "empty.rtf": b"",
}


def test_a_hostile_or_broken_file_is_a_defect_of_its_own(tmp_path: Path) -> None:
    files = {}
    for number, (name, content) in enumerate(BAD.items()):
        files |= {f"{number:02} bad {name}": content, f"{number:02} good.docx": GOOD["a.docx"]}
    for name, result in zip(sorted(files), found(tmp_path, files), strict=True):
        assert isinstance(result, Defect) if "bad" in name else TEXT in str(result), name


def test_an_empty_page_or_message_is_a_document_without_words(tmp_path: Path) -> None:
    assert [str(text).strip() for text in found(tmp_path, {"a.html": b"", "b.eml": b"", "c.odt": odt("")})] == [""] * 3


ATTACKS = {
    "crash": "import os; os.kill(os.getpid(), 11)",
    "exit": "import os; os._exit(0)",
    "half": "import os; os.write(1, b'x' * 99); os._exit(0)",
    "memory": "import mmap; mmap.mmap(-1, 3 << 30)",
    "time": "while True: pass",
    "stack": "import sys; sys.setrecursionlimit(10**9); f = lambda: f(); f()",
    "network": "import socket; socket.socket()",
    "program": "import subprocess; subprocess.run(['true'])",
    "write": "open('PLACE', 'w')",
    "write by flags": "import os; os.open('PLACE', os.O_WRONLY | os.O_CREAT)",
    "truncate": "import os; os.truncate('VICTIM', 0)",
    "mode": "import os; os.chmod('VICTIM', 0o777)",
    "link": "import os; os.symlink('/', 'PLACE')",
    "kill": "import os; os.kill(os.getppid(), 0)",
    "neighbour": (
        "import sys\nframe, found = sys._getframe(), []\n"
        "while frame:\n    found += [v for v in frame.f_locals.values() if isinstance(v, bytes) and b'planets' in v]\n"
        "    frame = frame.f_back\n"
        "found = [v for v in found if not v.startswith(b'import')]\nresult = found[0].decode() if found else 1 / 0"
    ),
    "nonsense": "import os; os.write(3, b'nonsense')",
    "no utf-8": "import os; os.write(3, b't\\xff')",
    "long answer": "import os; os.write(3, b't' * 30_000_000)",
    "much": "result = 'x' * 120_000_000",
}


@pytest.mark.parametrize("attack", full_after(5, ATTACKS))
def test_a_document_that_takes_over_its_parser_is_a_defect(attack: str, tmp_path: Path) -> None:
    """The parser of HTML runs a document as code, which is the worst that a flaw of a parser could do."""
    (tmp_path / "attacked.py").write_text(
        "from dplda.text import documents\n"
        "def run(raw, encoding):\n"
        "    names = {'result': raw.decode()}\n"
        "    exec(raw.decode(), names)\n"
        "    return names['result']\n"
        "documents._KINDS['.html'] = (run, '')\n"
        "documents._CPU_SECONDS = 1\n"
    )
    files = {
        "a.html": b"result = 'planets'",
        "b.html": ATTACKS[attack]
        .replace("PLACE", str(tmp_path / "written"))
        .replace("VICTIM", str(tmp_path / "victim"))
        .encode(),
        "c.html": b"result = 'stars'",
    }
    (tmp_path / "victim").write_text("whole")
    (tmp_path / "victim").chmod(0o600)
    folder = folder_of(tmp_path, files)
    with pytest.MonkeyPatch.context() as patch:
        start = f"import sys; sys.path[:] = [{str(tmp_path)!r}, *{{path!r}}]; import attacked; "
        patch.setattr(confinement, "_START", start + "attacked.documents.serve()")
        patch.setattr(documents, "_MAX_SERVERS", 1)
        first, attacked, last = read(folder)
    assert (first, last) == ("planets", "stars")
    assert isinstance(attacked, Defect)
    assert not (tmp_path / "written").is_symlink()
    assert not (tmp_path / "written").exists()
    assert (tmp_path / "victim").read_text() == "whole"
    assert (tmp_path / "victim").stat().st_mode & 0o777 == 0o600


def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    server = documents._Server()
    (tmp_path / "a.html").write_text("planets")
    try:
        assert server.extract(tmp_path / "a.html", None) == "planets"
        assert server._process is not None
        server._process.kill()
        assert server.extract(tmp_path / "a.html", None) == "planets"
    finally:
        server.stop()


def test_no_process_is_left_when_reading_stops(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {f"{n}.html": b"planets" for n in range(30)})
    processes = []
    start = documents.start
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "start", lambda name: processes.append(start(name)) or processes[-1])
        records = open_source(folder, ReadOptions()).records()
        next(iter(records))
        records.close()
    assert processes
    assert all(process.poll() is not None for process in processes)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"a.html": b"planets", "b.html": b"stars"})
    source = open_source(folder, ReadOptions())
    (folder / "a.html").unlink()
    assert [r.text if isinstance(r, TextRecord) else r for r in source.records()] == [Defect.UNREADABLE, "stars"]


@pytest.mark.parametrize(("name", "library"), [("a.docx", "defusedxml"), ("d.pdf", "pypdf"), ("c.rtf", "striprtf")])
def test_a_missing_library_is_named_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setattr(documents, "find_spec", lambda wanted: None if wanted == library else object())
    folder = folder_of(tmp_path, {name: GOOD[name], "e.html": GOOD["e.html"]})
    with pytest.raises(InputError, match=rf"needs the library {library}.*pip install 'dplda\[documents\]'"):
        open_source(folder, ReadOptions())


def test_missing_libraries_and_files_without_a_reader_are_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "find_spec", lambda wanted: None)
    folder = folder_of(tmp_path, {"a.docx": b"", "b.odt": b"", "d.pdf": b"", "e.html": b"", "Foto.jpg": b""})
    libraries = r"Reading \.docx, \.odt, \.pdf files needs the libraries defusedxml, pypdf, which are not installed\."
    with pytest.raises(
        InputError, match=rf"no reader \(1 \.jpg\), such as Foto\.jpg\. .*{libraries} .*'dplda\[documents\]'"
    ):
        open_source(folder, ReadOptions())
    (folder / "Foto.jpg").unlink()
    with pytest.raises(InputError, match=f"^{libraries}"):
        open_source(folder, ReadOptions())


def test_tables_beside_documents_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="mixes kinds of files"):
        found(tmp_path, {"a.csv": b"text\nx\n", "d.pdf": GOOD["d.pdf"]})
