"""The scikit-learn estimator `PrivateLDA`.

It takes what `dplda.fit` takes: all its options, and a corpus or texts as well as a matrix of counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dplda.base.errors import InputError, warn
from dplda.runs.corpus import Corpus
from dplda.runs.fit_options import OF_TEXTS, OPTIONS
from dplda.runs.fitting import fit

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise InputError("PrivateLDA needs scikit-learn: pip install 'dplda[sklearn]'.") from None


_OPTIONS = [name for name in OPTIONS if name != "n_topics"]


class _NoScore(InputError, AttributeError):
    """Why there is no score; `hasattr`, by which scikit-learn finds out what it can show or call, is False."""


class PrivateLDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Differentially private latent Dirichlet allocation on a document-term matrix, a `Corpus` or texts.

    If X is a `Corpus` or an iterable of texts, words are chosen privately, as in `dplda.fit`. The columns of a matrix
    X must be public: a vocabulary taken from private documents, such as that of a CountVectorizer that was fitted on
    them, is not protected. `public_vocabulary` declares that they are public, for example because the CountVectorizer
    was given its `vocabulary`: give the same list of words, one for each column in their order (`CountVectorizer` keeps
    the order of a list, and sorts a set), or True. With True, words have the names of the columns of a table X; those
    of a plain matrix, as in a pipeline, are called ``word0``, ``word1`` and so on. A charged fit warns of that, and if
    nothing is declared (Python shows a warning once for each place).

    Each row of a matrix is a document and, unless `fit` gets `units`, a unit of its own: documents of one person are
    then protected one by one, and not the person. A row with an entry that is not a nonnegative whole number
    contributes nothing. A matrix of mostly such rows, such as one of tf-idf weights, is refused before anything is
    charged, and a simulation warns of it. Every fit is charged to `dataset` in the ledger.

    There is no `random_state`, because noise that can be reproduced gives no privacy. For experiments on public
    documents, `simulate_seed` draws reproducible noise, and the result is NOT PRIVATE. The ledger then refuses
    documents whose budget is bounded; `ledger=False` uses no ledger.

    The parameters are as in `dplda.fit`; `n_components` is its `n_topics`, and those that choose words (`vocabulary`,
    `words`, `max_vocabulary`, `max_document_frequency`) are for texts. After fitting, `components_` (n_components,
    n_features) holds the topics, one probability distribution over words per row, with 0 for words too rare to be
    learned; its columns are those of the matrix or, after texts, `model_.vocabulary`. `prevalence_` (n_components,)
    holds the share of each topic, `privacy_` the `PrivacyStatement`, and `model_` the `TopicModel`.

    There is no `score`, because the score of documents would be exact, and each fit of a search would be charged.
    `score` raises `InputError`, and a search without `scoring` raises scikit-learn's `TypeError` before it fits
    anything.
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = None,
        *,
        public_vocabulary: bool | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        if "random_state" in options:
            raise InputError(
                "random_state is refused: noise from a known seed is NOT PRIVATE. Leave it out; for public or "
                "synthetic documents give simulate_seed, which makes runs repeatable."
            )
        if unknown := sorted(options.keys() - set(_OPTIONS)):
            meant = ": the number of topics is n_components" if unknown[0] == "n_topics" else ""
            raise TypeError(f"PrivateLDA.__init__() got an unexpected keyword argument {unknown[0]!r}{meant}")
        self.n_components = n_components
        self.public_vocabulary = public_vocabulary
        for name in _OPTIONS:
            setattr(self, name, options.get(name, OPTIONS[name].default))

    # scikit-learn reads and sets what this signature names.
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
            inspect.Parameter("n_components", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
            inspect.Parameter("public_vocabulary", inspect.Parameter.KEYWORD_ONLY, default=None),
            *(inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=OPTIONS[n].default) for n in _OPTIONS),
        ]
    )

    def fit(self, X: Any, y: Any = None, *, units: Sequence[Any] | None = None, unit: str | None = None) -> Self:
        """Learn topics of X; y is ignored.

        X are counts (n_documents, n_words), dense or sparse, or a `Corpus`, or texts (`Corpus.from_texts`). `units`
        (n_documents,) names the person of each row of a matrix, if persons are to be protected, and `unit` says what
        they are, such as ``"customer"`` (by default the name of the column `units`, or ``"unit"``); a corpus names its
        own.
        """
        if _is_text(X):
            if units is not None:
                raise InputError(
                    "units are of the rows of a matrix. Name the persons of texts in a corpus: "
                    "Corpus.from_table(table, text_field='text', unit_field='person')."
                )
            if not isinstance(self.public_vocabulary, bool | None):
                raise InputError(
                    "public_vocabulary names the columns of a matrix, and X is a corpus or texts. To learn from words "
                    "of yours, give vocabulary=WORDS; otherwise leave it out."
                )
            corpus = X if isinstance(X, Corpus) else Corpus.from_texts(X)
            for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit of a matrix
                if hasattr(self, name):
                    delattr(self, name)
            return self._learn(corpus)
        _refuse_columns_of_text(X)
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, ensure_min_features=2)
        for name in OF_TEXTS:
            if getattr(self, name) != OPTIONS[name].default:
                raise InputError(f"{name} chooses words of texts, and X is a matrix: its columns are the words.")
        words = self._names_of_columns(X.shape[1])
        charged = self.ledger is not False
        if charged and self.public_vocabulary is None:
            warn(
                "PrivateLDA takes the columns of X as public. The vocabulary of a CountVectorizer that was fitted on "
                "the same documents is NOT PRIVATE. Give the vectorizer a public vocabulary and declare it with "
                "public_vocabulary=WORDS (or True), or let dplda.fit choose the words privately.",
            )
        elif charged and self.public_vocabulary is False:
            raise InputError(
                "PrivateLDA cannot protect a vocabulary that is not public (public_vocabulary=False). Give the texts "
                "to dplda.fit, which chooses the words privately: Corpus.from_texts(texts)."
            )
        if charged and words is None:
            warn(
                "The columns of X have no names: the model calls its words word0, word1, ... and the ledger recognises "
                "the documents only in matrices without names. Give their names, in the order of the columns, with "
                "public_vocabulary=WORDS.",
            )
        words = words or [f"word{i}" for i in range(X.shape[1])]
        column = getattr(units, "name", None)
        unit = unit or (None if column is None else str(column))
        counts = Corpus.from_counts(X, words, units, public_vocabulary=True, unit=unit, refuse_weights=charged)
        return self._learn(counts, words)

    def _names_of_columns(self, n_columns: int) -> list[str] | None:
        """Return the words of the columns of X; None if nothing names them."""
        given = self.public_vocabulary
        of_table = getattr(self, "feature_names_in_", None)
        if isinstance(given, bool | None):
            return None if of_table is None else [str(name) for name in of_table]
        words = [] if isinstance(given, str | Mapping | Set) or not isinstance(given, Iterable) else list(given)
        if not words or not all(isinstance(word, str) and word for word in words):
            raise InputError(
                "public_vocabulary must be True, False, None, or a list of words in the order of the columns of X."
            )
        words = [str(word) for word in words]
        if len(words) != n_columns:
            raise InputError(f"public_vocabulary has {len(words):,} words, and X has {n_columns:,} columns: name each.")
        if len(set(words)) < len(words):
            raise InputError("public_vocabulary must not repeat a word: each column has a word of its own.")
        if of_table is not None and words != [str(name) for name in of_table]:
            raise InputError(
                "public_vocabulary and the columns of X have different names, or another order. Give "
                "public_vocabulary=True to use those of X."
            )
        return words

    def _learn(self, corpus: Corpus, words: Sequence[str] | None = None) -> Self:
        """Learn topics of `corpus`; `words` are the columns of a matrix."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        self.model_ = fit(corpus, n_topics=self.n_components, **options)
        columns = self.model_.vocabulary if words is None else words
        place = {word: column for column, word in enumerate(columns)}
        self._learned = [place[word] for word in self.model_.vocabulary]
        self.components_ = np.zeros((len(self.model_.topics), len(columns)))
        self.components_[:, self._learned] = self.model_.topics
        self.prevalence_ = np.array(self.model_.prevalence)
        self.privacy_ = self.model_.privacy
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.float64]:
        """Fit, and return the topic proportions (n_documents, n_components) of X: exact, as those of `transform`.

        The fit is private and charged; what is returned is NOT private.
        """
        return np.asarray(super().fit_transform(X, y, **fit_params))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Infer topic proportions (n_documents, n_components) of X, of the kinds that `fit` takes. NOT private.

        Without a matrix, the result has a row for each document of a `Corpus`, or for each text.
        """
        check_is_fitted(self)
        if _is_text(X) or not hasattr(self, "n_features_in_"):  # without it, topics were learned from texts
            return np.asarray(self.model_.transform(X))
        _refuse_columns_of_text(X)
        X = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=False)
        # As in fit, a row with an entry that is not a count contributes nothing: it gets the prior mean.
        rows = sparse.csr_matrix(X, dtype=np.float64)
        bad = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[~(np.isfinite(rows.data) & (rows.data >= 0))]
        kept = np.repeat(~np.isin(np.arange(rows.shape[0]), bad), np.diff(rows.indptr))
        counted = sparse.csr_matrix((np.where(kept, rows.data, 0.0), rows.indices, rows.indptr), rows.shape)
        return np.asarray(self.model_.transform(counted[:, self._learned]))

    @property
    def score(self) -> NoReturn:
        """Refused with `InputError`. A search looks for it, finds that it is missing, and ends before it fits."""
        raise _NoScore(
            "PrivateLDA has no score: that of private documents would be exact, NOT PRIVATE, and each fit of a search "
            "would be charged. Measure a fitted model with dplda.evaluate(model_, corpus, epsilon=...), which is "
            "private and charged, or search on public text with a scoring= of your own, ledger=False and simulate_seed."
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _is_text(X: Any) -> bool:
    """Whether X is a corpus or texts, rather than a matrix."""
    if isinstance(X, Corpus | Iterator | str):  # `Corpus.from_texts` refuses a string, without quoting it
        return True
    if getattr(X, "ndim", 1) == 1 and hasattr(X, "dtype"):  # an array or a column
        return X.dtype.kind not in "biufc" and (not len(X) or any(isinstance(item, str) for item in X))
    return isinstance(X, list | tuple) and (not X or any(isinstance(item, str | Mapping) for item in X))


def _refuse_columns_of_text(X: Any) -> None:
    """Raise `InputError` for a table or an array with text: NumPy's error would quote one of the texts."""
    kinds = [str(kind).lower() for kind in getattr(X, "dtypes", ())]
    if isinstance(X, np.ndarray) and (
        X.dtype.kind in "US" or (X.dtype == object and any(isinstance(each, str) for each in X.flat))
    ):
        kinds = ["str"]
    if any(kind.startswith(("str", "object", "utf8", "large_string", "category")) for kind in kinds):
        raise InputError(
            "X is a table with a column of text, and not of counts. Give the texts alone, such as table['text'], or "
            "Corpus.from_table(table, text_field='text')."
        )
