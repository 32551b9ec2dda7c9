"""Names of topics become seed words by a file of word vectors alone, which is read line by line."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplda.base.errors import InputError
from dplda.text.word_vectors import LEAST_COSINE, N_WORDS, nearest_words

TOY = {
    "the": (1, 1, 1, 1),
    "refund": (9, 0, 0, 1),
    "Refunds": (8, 1, 0, 1),
    "repayment": (7, 0, 1, 1),
    "delivery": (0, 9, 0, 1),
    "shipping": (1, 8, 0, 1),
    "parcel": (0, 7, 1, 1),
    "late": (0, 0, 9, 1),
    "weather": (0, 0, 0, 9),
}


def glove(vectors: dict[str, tuple[float, ...]]) -> str:
    return "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in vectors.items())


def word2vec(vectors: dict[str, tuple[float, ...]], n_words: int | None = None) -> str:
    return f"{n_words or len(vectors)} {len(next(iter(vectors.values())))}\n" + glove(vectors).replace("\n", " \n")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    path.write_text(glove(TOY))
    return path


def test_a_name_gets_the_words_nearest_to_it_and_no_distant_ones(toy: Path) -> None:
    assert nearest_words(["refund", "Delivery"], toy, without=["the"]) == {
        "refund": ("refund", "refunds", "repayment"),
        "Delivery": ("delivery", "shipping", "parcel"),
    }


def test_a_name_of_several_words_is_their_mean_direction(toy: Path) -> None:
    (words,) = nearest_words(["late delivery"], toy, without=["the"]).values()
    assert set(words[:3]) == {"late", "delivery", "parcel"}  # (0, 9, 9): parcel is nearer than shipping
    assert "refund" not in words


@pytest.mark.parametrize("kind", ["word2vec", "gzip", "zip", "windows", "mark", "tabs"])
def test_formats_agree(toy: Path, tmp_path: Path, kind: str) -> None:
    path, text = tmp_path / "other.txt", glove(TOY)
    match kind:
        case "word2vec":
            path.write_text(word2vec(TOY))
        case "gzip":
            path = tmp_path / "other.txt.gz"
            path.write_bytes(gzip.compress(text.encode()))
        case "zip":
            with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
                archive.writestr("other.txt", text)
            path = tmp_path / "glove.zip" / "other.txt"
        case "windows":
            path.write_bytes(text.replace("\n", "\r\n").encode())
        case "mark":
            path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        case "tabs":
            path.write_text(text.replace(" ", "\t") + "\n\n")
    names = ["refund", "late delivery", "weather"]
    assert nearest_words(names, path) == nearest_words(names, toy)


def test_words_with_spaces_or_broken_characters_or_zeros_do_no_harm(toy: Path) -> None:
    with open(toy, "ab") as file:
        file.write(b". . . 9 0 0 1\nat name@example.org 9 0 0 1\nna\xefve 0 0 0 1\nnothing 0 0 0 0\n")
    assert nearest_words(["refund"], toy)["refund"][0] == "refund"
    with pytest.raises(InputError, match="no vector for 'nothing' of topic 'nothing'"):
        nearest_words(["nothing"], toy)


def test_only_allowed_words_are_found_as_they_are_spelled(toy: Path) -> None:
    among = ["Refund", "parcel", "shipping"]
    assert nearest_words(["refund", "delivery"], toy, among=among, without=["shipping"]) == {
        "refund": ("Refund",),
        "delivery": ("parcel",),
    }
    usable = {"refund": "refund", "repayment": "repay"}
    spelled = nearest_words(["refund"], toy, spellings=lambda words: {w: usable[w] for w in words if w in usable})
    assert spelled == {"refund": ("refund", "repay")}


def test_forms_that_documents_spell_alike_are_one_word_of_the_nearest_name(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text(glove({"a": (1, 0), "b": (0, 1), "X": (3, 2), "x": (1, 9)}))
    assert nearest_words(["a", "b"], path) == {"a": ("a",), "b": ("b", "x")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("refund 1 2\nlate 1\n", "line 2: this is not a word and 2 numbers"),
        ("refund 1 2\nlate 1 x\n", "line 2: this is not a word and 2 numbers"),
        ("refund 1 2\nlate 1 nan\n", "line 2: this is not a word and 2 numbers"),
        ("2 2\nrefund 1 2\n\n1e400 1 1e400\n", "line 4: this is not a word and 2 numbers"),
        ("3 2\nrefund 1 2\nlate 1 2\n", "has 2 lines of vectors, not 3 words"),
        ("refund\n", "line 1: this is not a word and numbers"),
        ("2 2\n", "has 0 lines of vectors"),
        ("", "has 0 lines of vectors"),
        ("9" * 5000 + " 2\nrefund x\n", "line 2: this is not a word and 1 numbers"),
    ],
)
def test_a_damaged_file_is_told_in_one_line_with_its_number(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=message) as found:
        nearest_words(["refund"], tmp_path / "v.txt")
    assert "\n" not in str(found.value)


def test_a_binary_file_and_an_absent_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "v.bin").write_bytes(b"3 300\nrefund " + np.ones(300, np.float32).tobytes() + b"\n")
    with pytest.raises(InputError, match="line 2: this is not a word and 300 numbers"):
        nearest_words(["refund"], tmp_path / "v.bin")
    with pytest.raises(InputError, match="does not exist"):
        nearest_words(["refund"], tmp_path / "absent.txt")


def test_an_unknown_name_is_told_with_what_may_be_meant(toy: Path) -> None:
    with pytest.raises(InputError, match=r"no vector for 'refnd' of topic 'refnd'\. Did you mean 'refund'\?"):
        nearest_words(["delivery", "refnd"], toy)
    with pytest.raises(InputError, match=r"no vector for 'qqq' of topic 'late qqq'\. Give the topic another name"):
        nearest_words(["late qqq"], toy)
    with pytest.raises(InputError, match="needs a name"):
        nearest_words([" "], toy)
    with pytest.raises(InputError, match="no word near topic 'late'"):
        nearest_words(["late"], toy, among=["refund"])


@given(vectors=arrays(np.float32, (40, 5), elements=st.floats(-4, 4, width=32)), k=st.integers(1, 6))
def test_every_word_is_near_its_name_and_nearest_to_it(tmp_path_factory, vectors: np.ndarray, k: int) -> None:
    units = np.where(np.abs(vectors).max(axis=1, keepdims=True) < 0.01, 1, vectors).astype(float)
    path = tmp_path_factory.mktemp("vectors") / "v.txt"
    path.write_text(word2vec({f"w{row}": tuple(map(float, vector)) for row, vector in enumerate(units)}))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    names = [f"w{row}" for row in range(k)]
    cosines = units @ units[:k].T
    if len({tuple(row) for row in np.round(units[:k], 6)}) < k:
        return  # two names of one direction: one of them may get no word
    found = nearest_words(names, path)
    listed = [word for words in found.values() for word in words]
    assert len(listed) == len(set(listed))
    for topic, words in enumerate(found.values()):
        rows = [int(word[1:]) for word in words]
        values = cosines[rows, topic]
        assert 1 <= len(words) <= N_WORDS
        assert (values >= LEAST_COSINE - 1e-9).all()
        assert (values >= cosines[rows].max(axis=1) - 1e-9).all()
        assert (np.diff(values) <= 1e-9).all()
        if len(words) < N_WORDS:  # then no word was left out
            nearest = (cosines.argmax(axis=1) == topic) & (cosines[:, topic] >= LEAST_COSINE + 1e-9)
            margin = np.sort(cosines, axis=1)
            clear = margin[:, -1] - margin[:, -2] > 1e-9 if k > 1 else np.ones(40, bool)
            assert set(np.flatnonzero(nearest & clear)) <= set(rows)
