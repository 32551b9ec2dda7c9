"""The options of a fit, each declared once: for `dplda.fit`, the estimator `PrivateLDA`, and the command `dplda fit`.

An option is a setting (`dplda.learning.settings`), which decides what is learned and which the run records, or an
argument of `dplda.runs.fitting`, such as the folder of the model. To add a setting, add a field of the same name to

1. `ModelSettings`, with its default (or to another group that `FitSettings` has),
2. `RANGES` in `dplda.base.config`, with its range, if it is a number,
3. `RunFacts` in `dplda.model.run_facts`, which records it,
4. `FitOptions` here, with its help,

and read it where it is used, as ``settings.model.NAME``. `dplda.fit`, `PrivateLDA`, the command and its page, the
ledger and the report need nothing else. `tests/runs/test_fit_options.py` names the place that was forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from dplda.base.config import ADJACENCIES, DEVICES, ENGINES, RANGES, ExecutionSettings, PrivacySettings, Range
from dplda.base.errors import InputError
from dplda.learning.placements.registry import CALIBRATIONS, PLACEMENTS
from dplda.learning.settings import DEFAULTS, WORDS, FitSettings, ModelSettings, VocabularySettings
from dplda.text.reading_options import Reading
from dplda.text.wordlists import listed_words

if TYPE_CHECKING:
    from dplda.base.progress import Progress
    from dplda.budget import Ledger
    from dplda.model.prior_topics import PriorTopics

# The groups of options in --help. Expert options are among those of published papers.
TOPICS, PRIVACY, PLACE, OUTPUT = "Topics", "Privacy", "Where it runs", "Output"
EXPERT = "Expert options (some are those of published papers)"

_Parameters = ParamSpec("_Parameters")
_Corpus = TypeVar("_Corpus")
_Result = TypeVar("_Result")


@dataclass(frozen=True, kw_only=True)
class Option:
    """How an option of a fit is described and typed; its name is that of its field in `FitOptions`."""

    default: Any
    """The value if none is given."""
    help: str
    """The sentence in --help, where CORPUS is the corpus."""
    group: str = ""
    """The group in --help; empty if the command has no such option."""
    python: str = ""
    """The sentence in the documentation of `dplda.fit`, if the value is another one than on the command line."""
    flags: tuple[str, ...] = ()
    """Names on the command line, if they are not that of the field."""
    metavar: str | None = None
    """What stands for the value in --help."""
    kind: type | None = None
    """The type of the value on the command line; None: that of the default, or text."""
    choices: tuple[str, ...] = ()
    """All allowed values, if they are few."""
    of_texts: bool = False
    """Whether it chooses words, so that it makes no sense for a matrix of counts with public columns."""
    range: Range | None = None
    """The allowed numbers, which `RANGES` holds and `FitSettings` checks."""


def _option(default: Any, help: str = "", group: str = "", **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(default=default, help=help, group=group, **more)})


_SETTING_OF = {"n_topics": "topics", "vocabulary": "public"}  # the options whose setting has another name


@dataclass(frozen=True)
class FitOptions:
    """What `dplda.fit` may be asked for, besides the corpus."""

    dataset: str | None = _option(
        None, "Name of the dataset whose budget is charged [the name of CORPUS].", PRIVACY, metavar="NAME"
    )
    n_topics: int | Literal["auto"] | None = _option(
        None,
        f"Number of topics; auto takes as many as stand out from the noise [{DEFAULTS.model.topics}].",
        TOPICS,
        python="Number of topics, or ``auto``: as many as released eigenvalues support. None: "
        f"{DEFAULTS.model.topics}, or in a series that continues the number of its topics.",
        flags=("--topics", "-k"),
        metavar="K|auto",
    )
    epsilon: float = _option(DEFAULTS.privacy.epsilon, "Privacy budget of the run (nats).", PRIVACY)
    delta: float = _option(
        DEFAULTS.privacy.delta,
        "The delta of each run's (epsilon, delta) guarantee.",
        PRIVACY,
    )
    placement: str = _option(
        DEFAULTS.model.placement,
        "Where noise is added; none adds no noise and is NOT PRIVATE.",
        EXPERT,
        choices=PLACEMENTS,
    )
    calibration: str = _option(
        DEFAULTS.model.calibration,
        "How the noise is calibrated; published uses the formulas of DeCarolis et al. 2020 and is NOT PROVEN PRIVATE.",
        EXPERT,
        choices=CALIBRATIONS,
    )
    vocabulary: Sequence[str] | None = _option(
        None,
        "A public word list, one word per line, or the most frequent words of a language, such as english:20000 "
        "or de:5000; without it each run chooses its words privately (--words).",
        TOPICS,
        python="A public word list. None: that of the corpus; if it has none, words are chosen privately (`words`).",
        metavar="FILE|LANGUAGE:COUNT",
        of_texts=True,
    )
    ledger: Ledger | Literal[False] | None = _option(
        None, python="The ledger that is charged. None: the default one; False: none, for simulations only."
    )
    engine: str = _option(
        DEFAULTS.execution.engine,
        "Where sums over CORPUS are computed: on this machine (local) or on a Dask cluster (dask).",
        PLACE,
        python="Where sums over the documents are computed: on this machine (``local``) or on a Dask cluster "
        "(``dask``), whose workers must be able to read the corpus' folder.",
        choices=ENGINES,
    )
    scheduler: str | None = _option(None, "Address of the Dask cluster for --engine dask.", PLACE, metavar="ADDRESS")
    device: str = _option(
        DEFAULTS.execution.device,
        "Device for the passes over CORPUS; auto uses a GPU if there is one.",
        PLACE,
        python="Device for the passes over the documents; ``auto`` uses a GPU if there is one. Noise is always drawn "
        "on the CPU.",
        choices=DEVICES,
    )
    simulate_seed: int | None = _option(
        None,
        python="Seed of simulated noise, which makes the run reproducible and NOT PRIVATE.",
    )
    _: KW_ONLY
    adjacency: str = _option(
        DEFAULTS.privacy.adjacency,
        "How neighbouring corpora differ: by adding or removing one unit, or by replacing one.",
        PRIVACY,
        choices=ADJACENCIES,
    )
    words: str = _option(
        DEFAULTS.vocabulary.words,
        "How words are chosen privately: listed compares them with general text of the language of CORPUS, if there is "
        "a list of it; private takes those that are frequent enough.",
        TOPICS,
        choices=WORDS,
        of_texts=True,
    )
    max_vocabulary: int = _option(
        DEFAULTS.vocabulary.max_vocabulary,
        "Maximum number of words in the vocabulary.",
        TOPICS,
        of_texts=True,
    )
    max_document_frequency: float | None = _option(
        DEFAULTS.vocabulary.max_document_frequency,
        "Drop words whose estimated document frequency is above this share [0.1, or more if too few words are left].",
        TOPICS,
        kind=float,
        of_texts=True,
    )
    alpha0: float = _option(
        DEFAULTS.model.alpha0,
        "Sum of the parameters of the Dirichlet prior over topics.",
        EXPERT,
    )
    split: Mapping[str, float] | None = _option(
        None,
        "Share of the budget for each edge (place where noise is added) of a placement with edges; shares sum to 1.",
        EXPERT,
        python="Maps each edge (a place where the placement adds noise, such as ``e8``; docs/placements.md) to its "
        "share of the budget. None: the default of the placement.",
        metavar="EDGE=PART,...",
    )
    prior: PriorTopics | None = _option(
        None,
        "Known topics to choose from: a corpus of public text on the same subject, or a saved model.",
        TOPICS,
        python="Public or released topics, from which the run starts if they explain the documents.",
        metavar="PATH|RUN",
    )
    seed_words: Mapping[str, Sequence[str] | None] | Sequence[str] | None = _option(
        None,
        "Words that guide topics: a YAML or JSON file that maps names of topics to lists of words, or has the names "
        "alone (--vectors).",
        TOPICS,
        python="Maps names of topics to public words that guide them, or to None; or the names alone (`vectors`).",
        metavar="FILE",
        kind=Path,
    )
    vectors: str | Path | None = _option(
        None,
        "Public word vectors, text of word2vec or GloVe: each topic of --seed-words that has no words is guided by the "
        "words nearest to its name.",
        TOPICS,
        python="A file of public word vectors, text of word2vec or GloVe. Each topic of `seed_words` that has no words "
        "is guided by the words nearest to its name (`dplda.nearest_words`).",
        metavar="FILE",
        kind=Path,
    )
    series: str | None = _option(
        None,
        "The series to which CORPUS belongs, such as one of weekly batches: continue from the topics of the previous "
        "batch.",
        PRIVACY,
        python="A dataset that comes in batches, such as a week each: the run starts from the topics of the previous "
        "batch, or from those of `prior` (docs/every-week.md).",
        metavar="NAME",
    )
    batch: str | None = _option(None, "Name of this batch of the series [the name of CORPUS].", PRIVACY, metavar="NAME")
    out: str | Path | None = _option(
        None,
        "The new model folder [models/<run>].",
        OUTPUT,
        python="The new folder of the model. None: ``<models>/<run>``.",
        flags=("--out", "-o"),
        kind=Path,
    )
    models: str | Path | None = _option(
        None,
        python="The folder of models. Without it and `out`, the model of a batch is saved in a folder ``models`` "
        "beside the ledger, and any other model is not saved.",
    )
    progress: Progress | None = _option(
        None, python="Is told of stages as they begin and go on. None: a bar in a notebook, which goes at the end."
    )
    seconds: dict[str, float] | None = _option(
        None,
        python="Receives the time of each stage; times are private and must stay on this machine.",
    )

    @property
    def guided(self) -> dict[str, tuple[str, ...]] | None:
        """The seed words of each topic that has a name; of a topic without words, none.

        Raises `InputError` for a topic without words if there are no `vectors` to find them in, and for needless ones.
        """
        seeds = self.seed_words
        if seeds is None:
            guided = None
        elif isinstance(seeds, Mapping):
            for name, words in seeds.items():
                if words is not None and not _is_listed(words):
                    raise InputError(f"seed_words must be lists of words, such as {{{name!r}: ['first', 'second']}}.")
            guided = {name: tuple(words or ()) for name, words in seeds.items()}
        elif isinstance(seeds, str) or not all(isinstance(name, str) for name in seeds):
            raise InputError("seed_words must map names of topics to words, or be a list of names.")
        else:
            guided = dict[str, tuple[str, ...]].fromkeys(seeds, ())
            if len(guided) < len(seeds):
                raise InputError("seed_words must have each name of a topic once.")
        bare = [name for name, words in (guided or {}).items() if not words]
        if bare and self.vectors is None:
            raise InputError(
                f"topic {bare[0]!r} has a name and no seed words. Give its words, or a file of word vectors to find "
                "them in (--vectors FILE)."
            )
        if self.vectors is not None and not bare:
            raise InputError("--vectors is for topics of --seed-words that have no words, and there are none.")
        return guided

    def settings(self, **known: Any) -> FitSettings:
        """Check the options, and return them as settings.

        `known` replaces what the corpus or the ledger decides: the prior and the place in a series, the number of
        topics of a series that continues, and the words that documents can contain. Without it, topics that have no
        seed words yet are left out. Raises `InputError` for settings that are out of range or contradict each other.
        """
        words, seeds = self.vocabulary, self.guided
        named = {name: getattr(self, name) for name in _SETTINGS} | {
            "topics": DEFAULTS.model.topics if self.n_topics is None else self.n_topics,
            "public": None if words is None else listed_words("vocabulary", words),
            "seed_words": None if seeds is None else {name: listed for name, listed in seeds.items() if listed},
        }
        return FitSettings.of(**named | known)


def _is_listed(words: Any) -> bool:
    """Whether these are several words, and not the letters of a single text."""
    return isinstance(words, Iterable) and not isinstance(words, str)


OPTIONS: dict[str, Option] = {
    each.name: replace(each.metadata["option"], range=RANGES.get(_SETTING_OF.get(each.name, each.name)))
    for each in fields(FitOptions)
}
COMMAND = tuple(name for name, option in OPTIONS.items() if option.group)  # those of `dplda fit`
OF_TEXTS = tuple(name for name, option in OPTIONS.items() if option.of_texts)  # those that a matrix cannot have
_SETTINGS = tuple(  # those that are settings of the same name
    each.name
    for group in (PrivacySettings, VocabularySettings, ModelSettings, ExecutionSettings)
    for each in fields(group)
    if each.name in OPTIONS
)


def describe_options() -> str:
    """Return a list of all options with their defaults and allowed values, for documentation."""
    lines = []
    for name, option in OPTIONS.items():
        text = (option.python or option.help).replace("CORPUS", "the corpus")
        if option.choices:
            text += f" One of {', '.join(option.choices)}."
        if option.range is not None:
            text += f" From {option.range.low:g} to {option.range.high:g}."
        lines.append(f"- `{name}` ({option.default!r}): {text}")
    return "\n".join(lines)


_NUMBER = "the number of topics is n_topics"
_SEED = "noise from a known seed is not private; for public or synthetic documents there is simulate_seed"
_OTHER_NAMES = {  # of other packages and functions, and of the command line
    **dict.fromkeys(Reading.__annotations__, "say how text is read where it is: dplda.read_corpus, Corpus.from_texts"),
    **dict.fromkeys(("k", "n_components", "num_topics", "topics"), _NUMBER),
    **dict.fromkeys(("random_state", "seed"), _SEED),
    "eps": "the privacy budget is epsilon",
}


def spread_options(
    function: Callable[[_Corpus, FitOptions], _Result], options: Callable[_Parameters, FitOptions], name: str
) -> Callable[Concatenate[_Corpus, _Parameters], _Result]:
    """Return `function` under another `name`, with the options as parameters of its own."""

    @wraps(function)
    def call(corpus: _Corpus, *given: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        if unknown := [each for each in named if each not in known]:
            near = get_close_matches(unknown[0], known, n=1)
            hint = _OTHER_NAMES.get(unknown[0], f"did you mean {near[0]!r}?" if near else "")
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}{hint and f': {hint}'}")
        if given and given[0] is not None and not isinstance(given[0], str):
            raise InputError(f"the second argument is the name of the dataset. Write n_topics={given[0]!r}.")
        return function(corpus, options(*given, **named))

    known = inspect.signature(options).parameters
    first, _ = inspect.signature(function).parameters.values()
    parameters = [first, *inspect.signature(options).parameters.values()]
    call.__signature__ = inspect.signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__doc__ = f"{inspect.getdoc(function)}\n\n{describe_options()}"
    call.__name__ = call.__qualname__ = name
    return cast(Callable[Concatenate[_Corpus, _Parameters], _Result], call)
