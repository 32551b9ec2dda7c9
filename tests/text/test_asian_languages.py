import logging
import pickle
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from full_helpers import full_after
from hypothesis import given, settings
from hypothesis import strategies as st

from dplda.base.errors import InputError
from dplda.runs.corpus import read_corpus
from dplda.text import asian_languages
from dplda.text.asian_languages import SegmentedTokens
from dplda.text.counting import WordCounter
from dplda.text.reading_options import Tokenization
from dplda.text.tokenizers import find_tokens
from dplda.text.words import Token, Tokens, WordRule

TEXTS = {
    "zh": "昨天我看了一部很好看的电影。他喜欢喝茶、读书，book 2000年!",
    "ja": "昨日、面白い映画を見ました。本を読んだ。車は走らなかった。ABC 2000",
    "ko": "어제 재미있는 영화를 보았습니다. 책을 읽었다! 하늘이 예뻤어요. BTS 100",
    "th": "เมื่อวานฉันดูหนังสนุกมากที่ห้องสมุด การเมืองไทย hello 100",
}
WORDS = {
    "zh": {"电影", "好看", "喝茶", "读书", "book"},
    "ja": {"映画", "面白い", "見る", "本", "読む", "車", "走る", "abc"},
    "ko": {"영화", "재미있다", "책", "읽다", "하늘", "예쁘다", "bts"},
    "th": {"ดู", "หนัง", "สนุก", "ห้องสมุด", "การเมือง", "ไทย", "hello"},
}
NEVER = {"zh": "的 了 2000", "ja": "を た ます だ 2000", "ko": "를 을 었 다 는 100", "th": "ที่ มาก 100"}
PACKAGES = {"zh": "rjieba", "ja": "sudachipy", "ko": "kiwipiepy", "th": "pythainlp.tokenize"}
LANGUAGES = sorted(TEXTS)


@cache
def tokens(language: str) -> Tokens:
    return find_tokens(Tokenization(language=language))


def words_of(text: str, by: Tokens) -> Counter[str]:
    return Counter(word for piece in by.pieces(text) for word in by.words(piece))


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_words_are_found_and_function_words_are_not(language: str) -> None:
    found = words_of(TEXTS[language], tokens(language))
    assert found.keys() >= WORDS[language]
    assert not found.keys() & set(NEVER[language].split())


MIXED = {
    "zh": "我用iPhone15和covid19疫苗, 5G网络 10km h1n1病毒 4S店 2000年 12 ５Ｇ m²",
    "ja": "iPhone15を買った。covid19とh1n1。5Gが10km先で。2000年 第1回 ｃｏｖｉｄ１９ 12",
    "ko": "5g를 샀다. covid19는 코로나19 h1n1이 10km 3월 iPhone15를 12 ５Ｇ",
    "th": "ฉันซื้อiPhone15 covid19 และ5gที่10km h1n1 ที่1 12 ５Ｇ",
}


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_latin_letters_and_digits_are_one_word_beside_other_scripts(language: str) -> None:
    found = words_of(MIXED[language], tokens(language))
    mixed = {word for word in found if any(map(str.isdecimal, word))}
    assert mixed == {"iphone15", "covid19", "5g", "10km", "h1n1", *(["4s店"] if language == "zh" else [])}
    assert found["covid19"] == (2 if language == "ja" else 1), "full-width letters and digits count as plain ones"


def test_what_follows_a_number_in_parts_is_no_word() -> None:
    assert not [word for word in words_of("5.0Gb 3:30pm", tokens("ja")) if any(map(str.isdecimal, word))]


def test_conjugated_words_count_in_their_dictionary_form() -> None:
    for language, text, word in (("ja", "行った 行きます 行かない", "行く"), ("ko", "먹었다 먹습니다 먹어요", "먹다")):
        assert words_of(text, tokens(language))[word] == 3
        assert words_of(text, find_tokens(Tokenization(language=language, lemmas=True)))[word] == 3


@pytest.mark.parametrize("language", ["zh", "th"])
def test_languages_without_inflection_have_no_lemmas(language: str) -> None:
    with pytest.raises(InputError, match=rf"no table of lemmas for language '{language}'"):
        find_tokens(Tokenization(language=language, lemmas=True))


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_earlier_documents_change_nothing(language: str, data: st.DataObject) -> None:
    by = tokens(language)
    texts = st.text(alphabet="".join(TEXTS[language].split()) + " \n\0\ud800😀aB12５.", max_size=40)
    text, earlier = data.draw(texts), data.draw(st.lists(texts, max_size=3))
    alone = words_of(text, by)
    assert not WordCounter(by).count([text]).failed
    for other in earlier:
        by.pieces(other)
    assert words_of(text, by) == alone


@pytest.mark.full
@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_a_new_process_finds_the_same_words_and_writes_nothing(language: str, tmp_path: Path) -> None:
    script = (
        "import pickle, sys; tokens, text = pickle.load(sys.stdin.buffer)\n"
        "pickle.dump(tokens.pieces(text), sys.stdout.buffer)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        input=pickle.dumps((tokens(language), TEXTS[language])),
        capture_output=True,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
    assert pickle.loads(done.stdout) == tokens(language).pieces(TEXTS[language])
    assert done.stderr == b""
    assert [place for place in tmp_path.rglob("*") if place.is_file()] == []


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_nothing_is_logged(language: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    SegmentedTokens(language, WordRule((), {})).pieces(TEXTS[language])
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_long_documents_are_read_in_parts(language: str) -> None:
    text = TEXTS[language].replace(" ", "") + "。"
    found = words_of(text * 2000, tokens(language))
    word = max((word for word in WORDS[language] if not word.isascii()), key=lambda word: (len(word), word))
    assert 1980 <= found[word] / words_of(text, tokens(language))[word] <= 2000


def test_parts_are_short_and_end_with_a_clause() -> None:
    text = "电影很好看。" * 5000 + "字" * 25_000
    parts = list(find_tokens(Tokenization(language="zh")).split(text))  # type: ignore[attr-defined]
    assert "".join(parts) == text
    assert max(map(len, parts)) <= asian_languages._MAX_PART
    assert all(part.endswith("。") for part in parts[:3])


def test_one_character_is_a_word_where_it_can_be() -> None:
    rule = WordRule({"的"}, {}, syllables=True)
    assert [rule(token) for token in ("茶", "책", "々", "的", "あ", "ก", "x", "1")] == [
        "茶",
        "책",
        "々",
        "",
        "",
        "",
        "",
        "",
    ]
    assert WordRule((), {})("茶") == ""


def test_vowel_signs_belong_to_words_where_they_are_written() -> None:
    rule = WordRule((), {}, marks=True)
    assert [rule(token) for token in ("ที่", "हिन्दी", "\u0e34\u0e01", "5जी", "५")] == ["ที่", "हिन्दी", "", "5जी", ""]
    assert WordRule((), {})("ที่") == ""


@pytest.mark.parametrize("language", full_after(2, LANGUAGES))
def test_a_missing_segmenter_is_refused_before_documents_are_read(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, PACKAGES[language], None)
    monkeypatch.setattr(asian_languages, "_here", asian_languages._Here())
    (tmp_path / "a.txt").write_text(TEXTS[language], "utf-8")
    with pytest.raises(InputError, match=rf"'{language}' needs a package .* pip install 'dplda\[[a-z]+\]'$"):
        read_corpus(tmp_path, language=language)


def test_a_language_without_a_segmenter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("བོད", "utf-8")
    for tokenizer in ("spacy", "fast"):
        with pytest.raises(InputError, match=r"'bo' does not separate words .* no segmenter"):
            read_corpus(tmp_path, language="bo", tokenizer=tokenizer)


def test_a_panic_of_a_segmenter_stays_with_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As Rust's, it is not an `Exception`."""

    made = []

    def make():
        made.append("unusable after a panic")

        def segment(text: str) -> list[Token]:
            if "x" in text:
                made[-1] = "used"
                raise PanicException(text)
            assert made[-1] != "used"
            return [Token(0, len(text), text, text)]

        return segment

    monkeypatch.setattr(
        asian_languages, "_SEGMENTERS", {"zh": asian_languages._Segmenter("chinese", make, lemmas=False)}
    )
    monkeypatch.setattr(asian_languages, "_here", asian_languages._Here())
    by = SegmentedTokens("zh", WordRule((), {}, syllables=True))
    counts = WordCounter(by).count(["茶", "x茶", "书"])
    assert (counts.words, counts.failed, len(made)) == (["茶", "书"], [1], 2)
