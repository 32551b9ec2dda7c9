"""Files of words that the user writes: public lists, seed words, and the vocabulary beside a count file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplda.base.errors import InputError
from dplda.text.compression import COMPRESSIONS, without_compression
from dplda.text.files import text_lines
from dplda.text.records import Defect

_LARGEST = 1 << 20  # characters of a file of seed words or labels
_SEED_WORDS = "Write a line for each topic, such as: space: [orbit, launch, satellite]"
_NAMES = "Write a line for each name, such as: - space"


def read_word_list(path: Path) -> list[str]:
    """Read the words in `path`, one per line; blank lines and surrounding space are ignored. Raises `InputError`."""
    words = []
    for _, line in text_lines(path):
        if isinstance(line, Defect):
            raise InputError(f"{path} is not a text file with one word a line.")
        words.append(line.strip())
    if not words:
        raise InputError(f"{path} contains no words. Write one word a line.")
    return words


def read_seed_words(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the words of each named topic in a YAML or JSON file, such as ``space: [orbit, launch]``.

    A topic has no words if the file has its name alone, as in ``space:`` or in a list of names. Words and names lose
    surrounding space, and words become lower-case. Raises `InputError` for anything else.
    """
    found = _read_yaml(path, _SEED_WORDS)
    if isinstance(found, list) and found:
        return _names_alone(path, found)
    seeds = dict[str, tuple[str, ...]]()
    for key, words in _mapping(path, found, _SEED_WORDS).items():
        name = str(key)
        if words is None:
            seeds[name.strip()] = ()
            continue
        if not isinstance(words, list) or not words:
            raise InputError(f"{path} has no list of words for topic {name!r}. {_SEED_WORDS}")
        for word in words:
            if not isinstance(word, str):
                raise InputError(f"{path}: {word!r} of topic {name!r} is no word to YAML. Put it in quotation marks.")
            if len(word.split()) != 1:
                raise InputError(f"{path}: {word!r} of topic {name!r} is not one word. Give its words one by one.")
        seeds[name.strip()] = tuple(word.strip().lower() for word in words)
    return seeds


def _names_alone(path: Path, names: list[Any]) -> dict[str, tuple[str, ...]]:
    """Return the `names` of topics, none of which has words."""
    seeds = dict[str, tuple[str, ...]]()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{path}: {name!r} is no name of a topic to YAML. {_NAMES}")
        if name.strip() in seeds:
            raise InputError(f"{path} lists topic {name.strip()!r} twice. Give each topic once.")
        seeds[name.strip()] = ()
    return seeds


def read_mapping(path: Path, hint: str, key: str = "topic") -> dict[Any, Any]:
    """Read the mapping in a YAML or JSON file. Raises `InputError`, whose message ends in `hint`, for anything else.

    `key` is the word for a key in messages, such as ``topic``.
    """
    return _mapping(path, _read_yaml(path, hint, key), hint, key)


def _mapping(path: Path, found: Any, hint: str, key: str = "topic") -> dict[Any, Any]:
    if not isinstance(found, dict) or not found:
        several = f"{key[:-1]}ies" if key.endswith("y") and key != "key" else f"{key}s"
        raise InputError(f"{path} does not map {several} to what they are given. {hint}")
    return found


def _read_yaml(path: Path, hint: str, key: str = "topic") -> Any:
    """Read a YAML or JSON file, in which no mapping has a key twice."""
    import yaml  # slow to import

    class Loader(yaml.SafeLoader):
        """Refuses a key that is given twice; YAML would silently keep the last one."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            names = [key.value for key, _ in node.value]
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError(f"{path} lists {key} {str(twice[0])!r} twice. Give each {key} once.")
            return super().construct_mapping(node, deep)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except ValueError:  # as of 2026-06-31, which looks like a date
                raise InputError(
                    f"{path} has {str(node.value)!r} in line {node.start_mark.line + 1}, which is no day or number "
                    "that exists. Correct it, or write it in quotes if it is a text."
                ) from None

    try:
        with open(path, encoding="utf-8") as file:
            return yaml.load(file.read(_LARGEST), Loader)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" (line {error.problem_mark.line + 1})"
        raise InputError(f"{path} is not YAML or JSON{line}. {hint}") from None
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError):
        raise InputError(f"{path} is not YAML or JSON. {hint}") from None


def find_vocabulary(path: Path) -> Path | None:
    """Find the vocabulary of a count file, or None.

    Its name is UCI's (``vocab.X.txt`` for ``docword.X.txt``), gensim's (``X.vocab``, ``X/vocab.txt``, ``base.vocab``,
    ``dir/vocab.txt``) or ``X.vocab.txt``.
    """
    return next((candidate for candidate in _candidates(path) if os.path.isfile(candidate)), None)


def require_vocabulary(path: Path) -> Path:
    """Return the vocabulary of a count file. Raises `InputError` with the expected name if there is none."""
    vocabulary = find_vocabulary(path)
    if vocabulary is None:
        likely = next(_candidates(path))
        raise InputError(f"{path} needs its vocabulary, one word a line, beside it, for example in {likely}.")
    return vocabulary


def _candidates(path: Path) -> Iterator[Path]:
    plain = without_compression(path)
    if plain.name.startswith("docword."):
        vocabulary = plain.name.replace("docword.", "vocab.", 1)
        for ending in ("", *COMPRESSIONS):
            yield plain.with_name(vocabulary + ending)
    base = plain.with_suffix("")
    for stem in (path, plain, base):
        yield stem.with_name(stem.name + ".vocab")
        yield stem.with_name(stem.name + ".vocab.txt")
        yield stem / "vocab.txt"
    yield path.parent / "vocab.txt"
