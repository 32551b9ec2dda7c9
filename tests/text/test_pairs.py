from pathlib import Path
from typing import Any

import pytest
from gensim.corpora import BleiCorpus, SvmLightCorpus

from dplda.base.errors import InputError

CORPUS = [[(0, 2), (2, 1)], [(1, 7)]]


def test_lda_c_as_gensim_writes_it(tmp_path: Path, read_counts: Any) -> None:
    BleiCorpus.serialize(str(tmp_path / "g.ldac"), CORPUS, id2word={0: "a", 1: "b", 2: "c"})
    files = {
        "x__ldac": (tmp_path / "g.ldac").read_bytes(),
        "x__ldac__vocab": (tmp_path / "g.ldac.vocab").read_bytes(),
    }
    assert read_counts(**files) == {"1": {"a": 2, "c": 1}, "2": {"b": 7}}


def test_svmlight_as_gensim_writes_it(tmp_path: Path, read_counts: Any) -> None:
    SvmLightCorpus.serialize(str(tmp_path / "g.svm"), CORPUS)
    found = read_counts(x__svmlight=(tmp_path / "g.svm").read_bytes())
    assert found == {"1": {"word1": 2, "word3": 1}, "2": {"word2": 7}}


def test_svmlight_comments_and_query_numbers_are_no_words(read_counts: Any) -> None:
    assert read_counts(x__svm="1 qid:3 2:4 # 5:6\n# only a comment\n") == {"1": {"word2": 4}}


@pytest.mark.parametrize(
    "line", ["2 0:1", "1 0", "x 0:1", "1 0:x", "1 0:1.5", "1 0:-1", "1 -1:1", "1 0:inf", "1 9:1", "1 0:1:2"]
)
def test_a_malformed_line_contributes_nothing_and_stops_nothing(read_counts: Any, line: str) -> None:
    found = read_counts(x__ldac=f"1 0:3\n{line}\n1 1:1\n", x__vocab="a\nb\nc\n")
    assert found == {"1": {"a": 3}, "3": {"b": 1}}


def test_an_empty_file_is_refused(read_counts: Any) -> None:
    with pytest.raises(InputError, match="is empty"):
        read_counts(x__ldac="")
