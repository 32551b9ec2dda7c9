"""Archives as folders: the files in .zip and .tar archives, read in place, never unpacked under their names.

A file in an archive has a path below the path of the archive, such as ``texts.zip/2024/a.txt``. Such a path is only a
name: members are found by comparing it with the names in the archive.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from dplda.base.errors import InputError
from dplda.text.compression import ARCHIVES, check_unpacked, decompressed, open_file, reading

_MEMBERS = 1_000_000  # maximum number of files in an archive
_HEADER_BYTES = 1 << 20  # maximum size of an extended header of a .tar, which is read into memory
_REREAD_PARTS = 20  # maximum number of tables in a compressed .tar, which is read from its start for each
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_FORKS = "__MACOSX"  # the folder of resource forks in archives of macOS
_LITTER = ("thumbs.db", "desktop.ini")  # written by Windows


def list_members(archive: Path) -> list[Path]:
    """The regular files in an archive that are not hidden, sorted. Raises `InputError` for an unsafe archive."""
    with _opened(archive):
        found = [_path(archive, name) for name in _names(archive)]
    files = [file for file in found if file is not None]
    if len(set(files)) < len(files):
        raise InputError(f"{archive} holds several files of one name. Pack it again.")
    nested = next((file for file in files if file.name.lower().endswith(ARCHIVES)), None)
    if nested is not None:
        raise InputError(f"{nested} is an archive in an archive. Unpack the outer one first.")
    return sorted(files, key=os.fspath)


def check_parts(archive: Path, n_parts: int) -> None:
    """Raise `InputError` if reading `n_parts` tables from this archive would take very long."""
    if n_parts > _REREAD_PARTS and not archive.name.lower().endswith((".zip", ".tar")):
        raise InputError(
            f"{archive} holds {n_parts} tables, and a compressed .tar would be unpacked once for each. Unpack it and "
            "name its folder, or pack it as .zip."
        )


@contextmanager
def open_member(archive: Path, file: Path) -> Iterator[BinaryIO]:
    """Open one file of an archive, and decompress it as `open_file` does. Raises `InputError` if it is not there."""
    with reading(file), _opened(archive):
        members = open_members(archive, frozenset([file]))
        try:
            found = next(members, None)
            if found is None:
                raise InputError(f"{file} does not exist. Check the path.")
            with decompressed(file, found[1]) as stream:
                yield stream
        finally:
            members.close()


def is_litter(name: str) -> bool:
    """Whether a file of this name contains no document: a hidden file, or what Windows or Office leave in a folder."""
    return name.startswith((".", "~$")) or name.lower() in _LITTER


@contextmanager
def _opened(archive: Path) -> Iterator[None]:
    """Turn errors of archives into `InputError`."""
    with reading(archive):
        try:
            yield
        except (zipfile.BadZipFile, tarfile.TarError, NotImplementedError, EOFError, zlib.error):
            raise InputError(f"{archive} is not a whole archive. Download it again, or pack it again.") from None


def _names(archive: Path) -> Iterator[str]:
    """The names of the regular files, within the limits on their number and size."""
    n_bytes = 0
    for number, (name, size) in enumerate(_listed(archive)):
        n_bytes += size
        check_unpacked(archive, n_bytes)
        if number >= _MEMBERS:
            raise InputError(f"{archive} holds more than {_MEMBERS:,} files. Unpack it and name its folder.")
        yield name


def _listed(archive: Path) -> Iterator[tuple[str, int]]:
    if _is_zip(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                if _is_regular(member):
                    _check_readable(archive, member)
                    yield member.filename, member.file_size
    else:
        with _tar(archive) as tar:
            for entry in tar:
                if entry.isreg():
                    yield entry.name, entry.size
                tar.members.clear()  # type: ignore[attr-defined]  # it would keep every header


def open_members(archive: Path, wanted: Collection[Path]) -> Generator[tuple[Path, BinaryIO], None, None]:
    """The `wanted` files with a stream of each, which is to be read before the next one is requested."""
    with _opened(archive):
        if _is_zip(archive):
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    file = _path(archive, member.filename)
                    if file in wanted and _is_regular(member):
                        with packed.open(member) as stream:
                            yield cast(Path, file), cast(BinaryIO, stream)
            return
        with _tar(archive) as tar:
            for entry in tar:
                file = _path(archive, entry.name)
                if file in wanted and entry.isreg():
                    yield cast(Path, file), cast(BinaryIO, tar.extractfile(entry))
                tar.members.clear()  # type: ignore[attr-defined]


def _path(archive: Path, name: str) -> Path | None:
    """The path of a member in the archive; None if it is hidden. Raises `InputError` for an unsafe name."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." in parts or name.startswith(("/", "\\")) or "\0" in name:
        raise InputError(f"{archive} holds a file whose name leads out of the archive. Pack it again.")
    if not parts or any(map(is_litter, parts)) or parts[0] == _FORKS:
        return None  # ``./`` has no parts
    return archive.joinpath(*parts)


def _is_zip(archive: Path) -> bool:
    return archive.suffix.lower() == ".zip"


def _is_regular(member: zipfile.ZipInfo) -> bool:
    file_type = stat.S_IFMT(member.external_attr >> 16)
    return not member.is_dir() and file_type in (0, stat.S_IFREG)


def _check_readable(archive: Path, member: zipfile.ZipInfo) -> None:
    if member.flag_bits & 1:
        raise InputError(f"{archive} is encrypted. Unpack it with its password and name the folder.")
    if member.compress_type not in _METHODS:
        raise InputError(f"{archive} is compressed by a method that dplda does not read. Pack it again as usual.")


class _SmallHeaders(tarfile.TarInfo):
    """A member of a .tar whose extended headers take little memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _SmallHeaders:
        """Parse a header. Raises `ReadError` for one that announces a very large extended header."""
        member = super().frombuf(buf, encoding, errors)
        special = not (member.isreg() or member.isdir() or member.issym() or member.islnk() or member.isdev())
        if special and member.size > _HEADER_BYTES:
            raise tarfile.ReadError("large header")
        return member


@contextmanager
def _tar(archive: Path) -> Iterator[tarfile.TarFile]:
    """A .tar as a stream, decompressed as `open_file` does it."""
    with (
        open_file(archive) as stream,
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_SmallHeaders) as tar,
    ):
        yield tar
