from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from text_helpers import counts_of

from dplda.text.formats import open_source
from dplda.text.records import Defect, ReadOptions, TextRecord, TextSource

Documents = list[TextRecord | Defect]


@pytest.fixture
def read_text(tmp_path: Path) -> Callable[..., Documents]:
    """Write `content` under `name` and read it as text records."""

    def read(name: str, content: bytes | str, format: str | None = None, **options: Any) -> Documents:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        source = open_source(path, ReadOptions(**options), format)
        assert isinstance(source, TextSource)
        return list(source.records())

    return read


@pytest.fixture
def read_options() -> Callable[..., TextSource]:
    """The source of a path after its public checks."""

    def read(path: Path, format: str | None = None, **options: Any) -> TextSource:
        source = open_source(path, ReadOptions(**options), format)
        assert isinstance(source, TextSource)
        return source

    return read


@pytest.fixture
def read_counts(tmp_path: Path) -> Callable[..., dict[str, dict[str, int]]]:
    """Write files and read the first as counts: {document id: {word: occurrences}}."""

    def read(format: str | None = None, **files: bytes | str) -> dict[str, dict[str, int]]:
        paths = []
        for name, content in files.items():
            paths.append(tmp_path / name.replace("__", "."))
            paths[-1].write_bytes(content.encode() if isinstance(content, str) else content)
        return counts_of(paths[0], format)

    return read
