"""The settings of a fit: frozen, in a few groups, each value and its range stated once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self

from dplda.base.config import (
    ADJACENCIES,
    ExecutionSettings,
    PrivacySettings,
    check_choice,
    check_ranges,
    plain_number,
)
from dplda.base.errors import InputError
from dplda.learning.placements import registry

if TYPE_CHECKING:
    from dplda.model.prior_topics import PriorTopics


WORDS = LISTED, PRIVATE = "listed", "private"


@dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """Which words are modelled."""

    public: tuple[str, ...] | None = None  # the words, if they are known; None: words are chosen privately

    # How words are chosen: `LISTED` compares them with general text of the language, whose frequent words need no
    # threshold (`dplda.learning.word_choice`); `PRIVATE` releases only words above a threshold.
    words: str = LISTED
    max_vocabulary: int = 2000
    max_document_frequency: float | None = None  # None: 0.1, raised if too few words are left for the topics

    def __post_init__(self) -> None:
        check_ranges(self, max_document_frequency=None)
        check_choice("words", self.words, WORDS)
        words = self.public or ()
        if not all(isinstance(word, str) and word for word in words):
            raise InputError("vocabulary must be non-empty words. Remove what is empty or no text.")
        if len(set(words)) != len(words):
            repeated = next(word for index, word in enumerate(words) if word in words[:index])
            raise InputError(f"vocabulary has the word {repeated[:40]!r} twice. Remove one of them.")


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The model, and where its noise goes."""

    topics: int | Literal["auto"] = 20  # ``auto`` chooses from released eigenvalues alone
    alpha0: float = 1.0  # the sum of the LDA prior's parameters
    placement: str = registry.DEFAULT
    calibration: str = registry.SOUND  # or the noise that DeCarolis et al. 2020 print, which is not proven private

    # Each edge (a place where the placement adds noise, such as ``e8``) and its share of the budget. Shares are
    # positive and sum to one; None is the placement's default.
    split: Mapping[str, float] | None = None

    seed_words: Mapping[str, tuple[str, ...]] | None = None  # names of topics, and public words that guide them

    def __post_init__(self) -> None:
        check_ranges(self, topics="auto")
        check_choice("placement", self.placement, registry.PLACEMENTS)
        check_choice("calibration", self.calibration, registry.CALIBRATIONS)
        if self.split is not None:
            self._check_split(self.split)
        if self.seed_words is not None:
            self._check_seed_words(self.seed_words)

    def _check_split(self, split: Mapping[str, float]) -> None:
        if not isinstance(split, Mapping):
            raise InputError(f"split must give each edge its part of the budget, got {split!r}.")
        split = {edge: plain_number(part) for edge, part in split.items()}
        valid = all(isinstance(part, (int, float)) and 0 < part <= 1 for part in split.values())
        if not split or not valid or abs(math.fsum(split.values()) - 1) > 1e-6:
            text = ",".join(f"{edge}={part}" for edge, part in split.items())
            raise InputError(f"split must give each edge a positive part, and the parts must sum to 1, got {text!r}.")
        object.__setattr__(self, "split", split)

    def _check_seed_words(self, seed_words: Mapping[str, tuple[str, ...]]) -> None:
        if not registry.find(self.placement).takes_seed_words:
            raise InputError(f"seed words are for the default placement, not for {self.placement}. Leave one out.")
        if self.topics == "auto" or int(self.topics) < len(seed_words):
            raise InputError(
                f"seed words for {len(seed_words)} topics need a number of topics of at least {len(seed_words)}, "
                f"got topics={self.topics}."
            )
        listed = [word for words in seed_words.values() for word in words]
        if not all(seed_words.values()) or not all(seed_words):
            raise InputError("seed words must be a name and at least one word for each topic.")
        if twice := sorted({word for word in listed if listed.count(word) > 1}):
            raise InputError(f"the seed word {twice[0]!r} is listed twice. Give each word to one topic, once.")

    @property
    def noiseless(self) -> bool:
        """Whether the placement adds no noise at all."""
        return registry.find(self.placement).noiseless

    @property
    def guiding_words(self) -> tuple[str, ...]:
        """All seed words."""
        return tuple(word for words in (self.seed_words or {}).values() for word in words)

    @property
    def least_words(self) -> int:
        """The least length of a public word list: one word for each topic, two words for ``auto``."""
        return 2 if self.topics == "auto" else int(self.topics)

    @property
    def words_needed(self) -> int:
        """The least number of words that a noisy run needs to learn topics of text: two per topic, two for ``auto``."""
        return 2 if self.topics == "auto" else 2 * int(self.topics)


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """A user's settings for `fit`. All of them are public."""

    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    prior: PriorTopics | None = None
    series: str | None = None  # the name of the series that the documents belong to, and of their batch in it
    batch: str | None = None

    def __post_init__(self) -> None:
        words, topics = self.vocabulary.public, self.model.topics
        if words is not None and len(words) < self.model.least_words:
            raise InputError(
                f"topics must not exceed the number of words, got topics={topics} with a vocabulary of {len(words)}. "
                "Ask for fewer topics or give more words."
            )
        for name, seeds in (self.model.seed_words or {}).items():
            if words is not None and not set(seeds) & set(words):
                raise InputError(
                    f"none of the seed words of topic {name!r} is in the vocabulary. Give others, or leave it out."
                )
        if topics != "auto" and int(topics) > self.vocabulary.max_vocabulary:
            raise InputError(
                f"topics must not exceed the number of words, got topics={topics} with "
                f"max_vocabulary={self.vocabulary.max_vocabulary}. Ask for fewer topics or more words."
            )
        if self.execution.engine == "dask" and not registry.find(self.model.placement).runs_on_cluster:
            raise InputError(
                f"{self.model.placement} needs the exact moments of all documents in one place: use --engine local."
            )
        if (self.series is None) != (self.batch is None):
            raise InputError("a batch belongs to a series, and a series has batches: give both names, or neither.")
        if self.series is not None and self.privacy.adjacency != ADJACENCIES[0]:
            raise InputError("a series needs adjacency add-remove: a document that is replaced may leave its batch.")
        if self.prior is not None:
            self._check_prior(self.prior)

    @property
    def continues_series(self) -> bool:
        """Whether the run continues a series: its prior contains the counts that the previous batch released."""
        return self.series is not None and self.prior is not None and self.prior.counts is not None

    def check_prior_possible(self) -> None:
        """Raise `InputError` if these settings allow no prior.

        A prior needs a placement that learns from one, a number of topics, and, unless it continues a series, the CPU.
        """
        if registry.find(self.model.placement).learn_from_prior is None:
            raise InputError(f"a prior is for the default placement, not for {self.model.placement}. Leave one out.")
        if self.model.topics == "auto":
            raise InputError("a fit with a prior needs a number of topics, such as --topics 12.")
        if self.execution.device != "cpu" and not self.continues_series:
            raise InputError("a fit with a prior computes on the CPU: use --device cpu.")

    def _check_prior(self, prior: PriorTopics) -> None:
        from dplda.model.prior_topics import PriorTopics  # imported here so that the command line starts fast

        if not isinstance(prior, PriorTopics):
            raise InputError(
                f"prior must be PriorTopics, got {type(prior).__name__}. Make them: dplda.public_prior(corpus) from "
                "public text, dplda.released_prior(model) from a private model."
            )
        self.check_prior_possible()
        if int(self.model.topics) > len(prior):
            raise InputError(
                f"a prior of {len(prior)} topics needs a number of topics up to {len(prior)}, "
                f"got topics={self.model.topics}. Ask for fewer topics, or give a larger prior."
            )
        known = set(prior.words)
        for name, words in (self.model.seed_words or {}).items() if not self.continues_series else ():
            unknown = [word for word in words if word not in known]
            if 2 * len(unknown) > len(words):
                raise InputError(
                    f"the prior contains {len(words) - len(unknown)} of the {len(words)} seed words of topic {name!r}, "
                    f"and must contain half of them; unknown: {', '.join(unknown)}. Give other words, or no prior."
                )

    @classmethod
    def of(
        cls, *, prior: PriorTopics | None = None, series: str | None = None, batch: str | None = None, **named: Any
    ) -> Self:
        """Return settings from field names of any group; other fields keep their defaults."""
        groups = (PrivacySettings, VocabularySettings, ModelSettings, ExecutionSettings)
        by_group = [{f.name: named.pop(f.name) for f in fields(group) if f.name in named} for group in groups]
        if named:
            raise TypeError(f"a fit has no setting {next(iter(named))!r}")
        names = "privacy", "vocabulary", "model", "execution"
        made = {name: group(**given) for name, group, given in zip(names, groups, by_group, strict=True)}
        return cls(**made, prior=prior, series=series, batch=batch)

    def to_json(self) -> dict[str, Any]:
        """Return the settings that decide what is learned, as plain JSON; settings that are None are left out."""
        values = asdict(self.model) | asdict(self.privacy) | asdict(self.vocabulary)
        values["vocabulary"] = "private" if values.pop("public") is None else "public"
        if values["vocabulary"] == "public":
            del values["words"]
        values |= {"prior": self.prior and self.prior.to_json(), "series": self.series, "batch": self.batch}
        return {name: value for name, value in values.items() if value is not None}


DEFAULTS = FitSettings()
