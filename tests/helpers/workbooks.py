"""Workbooks as Excel (.xlsx) and LibreOffice (.ods) write them, from the cells of their sheets.

A cell is a string, a number, a truth value, a date, or None for an empty one.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

Rows = Sequence[Sequence[Any]]
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_TYPE = "application/vnd.openxmlformats"
_STYLES = '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs>'  # 14: a date
_NO_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\r]|_(?=x[0-9A-Fa-f]{4}_)")  # Excel writes these as _xHHHH_
_ODS = "urn:oasis:names:tc:opendocument:xmlns:{0}:1.0"
_NAMESPACES = " ".join(f'xmlns:{name}="{_ODS.format(name)}"' for name in ("office", "table", "text", "style"))


def xlsx(sheets: Mapping[str, Rows], *, hidden: Collection[str] = (), raw: Mapping[str, str] | None = None) -> bytes:
    """An .xlsx workbook; `raw` replaces the XML of the rows of some sheets."""
    strings: dict[str, int] = {}

    def cell(row: int, column: int, value: Any) -> str:
        place = f'r="{_letters(column)}{row}"'
        if value is None:
            return ""
        if isinstance(value, str):
            return f'<c {place} t="s"><v>{strings.setdefault(value, len(strings))}</v></c>'
        if isinstance(value, bool):
            return f'<c {place} t="b"><v>{int(value)}</v></c>'
        if isinstance(value, date):
            moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
            return f'<c {place} s="1"><v>{(moment - datetime(1899, 12, 30)).total_seconds() / 86400!r}</v></c>'
        return f"<c {place}><v>{value!r}</v></c>"

    def written(rows: Rows) -> str:
        return "".join(
            f'<row r="{at}">{"".join(cell(at, column, value) for column, value in enumerate(row))}</row>'
            for at, row in enumerate(rows, start=1)
        )

    parts, listed, related = {}, "", ""
    for number, (name, rows) in enumerate(sheets.items(), start=1):
        state = ' state="hidden"' if name in hidden else ""
        listed += f'<sheet name={quoteattr(name)} sheetId="{number}"{state} r:id="rId{number}"/>'
        related += f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        data = (raw or {}).get(name) or written(rows)
        parts[f"xl/worksheets/sheet{number}.xml"] = f"<worksheet {_MAIN}><sheetData>{data}</sheetData></worksheet>"
    items = "".join(f'<si><t xml:space="preserve">{_in_excel(string)}</t></si>' for string in strings)
    related += f'<Relationship Id="rId98" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
    related += f'<Relationship Id="rId99" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts |= {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
        f'<Default Extension="rels" ContentType="{_TYPE}-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}-officedocument.spreadsheetml.sheet.main+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships {_RELATIONS}><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships {_RELATIONS}>{related}</Relationships>",
        "xl/sharedStrings.xml": f"<sst {_MAIN}>{items}</sst>",
        "xl/styles.xml": f"<styleSheet {_MAIN}>{_STYLES}</styleSheet>",
    }
    return _packed(parts)


def ods(sheets: Mapping[str, Rows], *, hidden: Collection[str] = (), encrypted: bool = False) -> bytes:
    """An .ods workbook, whose sheets end with many empty rows and columns, as LibreOffice writes them."""
    tables = "".join(
        f'<table:table table:name={quoteattr(name)} table:style-name="{"ta2" if name in hidden else "ta1"}">'
        + "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
        + '<table:table-row table:number-rows-repeated="1048000"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row></table:table>'
        for name, rows in sheets.items()
    )
    styles = "".join(
        f'<style:style style:name="{name}" style:family="table"><style:table-properties table:display="{shown}"/>'
        "</style:style>"
        for name, shown in (("ta1", "true"), ("ta2", "false"))
    )
    content = (
        f"<office:document-content {_NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    inner = "<manifest:encryption-data/>" if encrypted else ""
    manifest = (
        f'<manifest:manifest xmlns:manifest="{_ODS.format("manifest")}"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{kind}"/><manifest:file-entry manifest:full-path="content.xml">{inner}'
        "</manifest:file-entry></manifest:manifest>"
    )
    return _packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def _ods_cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        paragraphs = "".join(f"<text:p>{_in_libreoffice(line)}</text:p>" for line in value.split("\n"))
        return f'<table:table-cell office:value-type="string">{paragraphs}</table:table-cell>'
    if isinstance(value, bool):
        kind = f'"boolean" office:boolean-value="{str(value).lower()}"'
    elif isinstance(value, date):
        kind = f'"date" office:date-value="{value.isoformat()}"'
    else:
        kind = f'"float" office:value="{value!r}"'
    return f"<table:table-cell office:value-type={kind}><text:p>shown</text:p></table:table-cell>"


def _in_excel(text: str) -> str:
    return escape(_NO_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text))


def _in_libreoffice(line: str) -> str:
    return re.sub(" +", lambda found: f'<text:s text:c="{len(found[0])}"/>', escape(line))


def _letters(column: int) -> str:
    letters = ""
    while column >= 0:
        column, last = divmod(column, 26)
        letters, column = chr(ord("A") + last) + letters, column - 1
    return letters


def _packed(parts: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content if name == "mimetype" else _XML + content)
    return stream.getvalue()
