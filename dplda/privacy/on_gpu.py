"""Passes over the private counts on a GPU: contributions are summed there, everything else on this machine.

Portions are read in threads and brought to the GPU while the one before is computed; those that find room there stay.
A run computes all contributions on the GPU or none (docs/privacy.md, rule 12): a GPU that fails ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from dplda.compute.arrays import to_numpy
from dplda.compute.gpu import Gpu
from dplda.corpus.store import CountStore
from dplda.corpus.units import UnitCounts
from dplda.errors import DeviceError, InputError
from dplda.moments.contributions import Contribution
from dplda.moments.on_gpu import GpuSums, UnitArrays, arranged, upload
from dplda.privacy.passes import SPENT, Local, Pass, clipped_sum, in_threads, unit_norms

T = TypeVar("T")

HELD = 0.5  # of the free memory at most, for portions that stay on the GPU


class OnGpu:
    """`Passes` whose contributions are summed on `gpu`, in the portions of `Local`; they raise `DeviceError`."""

    def __init__(self, store: CountStore, gpu: Gpu) -> None:
        self._local, self._gpu = Local(store), gpu
        self._held: list[UnitArrays] = []
        with _told():
            self._room = HELD * gpu.free()

    def use(self, words: Sequence[str]) -> None:
        """See `Passes`."""
        self._held, self._room = [], self._room + sum(units.n_bytes for units in self._held)
        self._local.use(words)

    def each(self, work: Pass[T], *given: Any, own: Sequence[Any] | None = None) -> list[T]:
        """See `Passes`."""
        if work is unit_norms and own is not None:
            return cast(list[T], self._norms(given[0], own))
        return self._local.each(work, *given, own=own)

    def added(self, work: Pass[tuple[Any, ...]], *given: Any) -> tuple[Any, ...]:
        """See `Passes`."""
        return self._sum(*given) if work is clipped_sum else self._local.added(work, *given)

    def whole(self) -> UnitCounts:
        """See `Passes`."""
        return self._local.whole()

    def _sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        with _told():
            sums = GpuSums(self._gpu, contribution, clip)
            for units in self._units():
                sums.add(units)
            return sums.result()

    def _norms(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> list[np.ndarray]:
        with _told():
            sums = GpuSums(self._gpu, contribution)
            found = [sums.norms(units, own) for units, own in zip(self._units(), chosen, strict=True)]
            self._gpu.finish()
            return [to_numpy(norms) for norms in found]

    def _units(self) -> Iterator[UnitArrays]:
        """Every portion, on the GPU and in a turn of its own."""
        held = len(self._held)
        for index, units in enumerate(self._held):
            with self._gpu.turn(index):
                yield units

        def read(index: int) -> UnitArrays:
            c = self._local.portion(held + index)
            return arranged(c.indptr, c.words, c.counts, c.unit_ptr, c.n_words)

        for index, read_units in enumerate(in_threads(read, self._local.portions - held), held):
            with self._gpu.turn(index):
                units = upload(self._gpu, read_units)
                if index == len(self._held) and units.n_bytes <= self._room:
                    self._held.append(units)
                    self._room -= units.n_bytes
                yield units


@contextmanager
def _told() -> Iterator[None]:
    """One line for a GPU that cannot finish; messages of its library may tell sizes, which are private."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise DeviceError(f"The GPU failed ({kind}) in a pass over the documents. {SPENT}") from None
