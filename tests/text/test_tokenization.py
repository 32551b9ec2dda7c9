import pytest

from dplda.base.errors import InputError
from dplda.text.reading_options import Tokenization


def test_unknown_tokenizers_are_refused_with_the_choice() -> None:
    with pytest.raises(InputError, match=r"tokenizer must be one of fast, spacy, got 'quick'\.$"):
        Tokenization(tokenizer="quick")
