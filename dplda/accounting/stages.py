"""The names of a run's stages, as events, ledgers and models keep them."""

from __future__ import annotations

from enum import StrEnum

_CLIP = " clip"


class Stage(StrEnum):
    """What is charged under its own name. Placements state the budget share of each of their stages."""

    VOCABULARY = "vocabulary"
    FREQUENCY = "frequency"
    VOTE_TOTAL = "vote total"
    SIZE = "size"
    MEAN = "mean"
    MOMENT = "moment"
    SUBSPACE = "subspace"
    CORE = "core"
    TENSOR = "tensor"
    REFINE = "refine"
    # tests of stability and what they allow: configuration 3
    MASS = "mass"
    GAP = "gap"
    TENSOR_NORM = "tensor norm"
    DECOMPOSITION = "decomposition"
    # the same of configuration 4
    SIZE_LOWER_BOUND = "size lower bound"
    SPECTRUM = "spectrum"
    NORM = "norm"
    EIGENVALUE_GAP = "eigenvalue gap"
    TOPICS = "topics"


def clip_of(stage: str) -> str:
    """The name of the event that chooses the clipping norm of `stage`."""
    return f"{stage}{_CLIP}"


def is_clip(name: str) -> bool:
    """Whether `name` is that of an event that chooses a clipping norm."""
    return name.endswith(_CLIP)


def base_of(name: str) -> str:
    """The stage that `name` belongs to: its own, or the one whose clipping norm it chooses."""
    return name.removesuffix(_CLIP)
