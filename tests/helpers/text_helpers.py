from pathlib import Path

from dplda.text.formats import open_source
from dplda.text.records import CountSource, ReadOptions


def counts_of(path: Path, format: str | None = None) -> dict[str, dict[str, int]]:
    """Counts of a count file: {document id: {word: occurrences}}."""
    source = open_source(path, ReadOptions(), format)
    assert isinstance(source, CountSource)
    found: dict[str, dict[str, int]] = {}
    for chunk in source.chunks():
        for row, name in enumerate(chunk.ids):
            document = found.setdefault(name, {})
            for entry in range(chunk.indptr[row], chunk.indptr[row + 1]):
                word = chunk.words[chunk.indices[entry]]
                document[word] = document.get(word, 0) + int(chunk.counts[entry])
    return found
