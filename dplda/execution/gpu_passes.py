"""Passes over the private counts on a GPU: contributions are summed there, everything else on this machine.

Shards are read in threads and brought to the GPU while the one before is computed; those that fit there stay. A run
computes all contributions on the GPU or none (docs/privacy.md, rule 12): a GPU that fails ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dplda.errors import DeviceError, InputError
from dplda.execution.local_passes import LocalPasses, in_threads
from dplda.execution.passes import SPENT
from dplda.numerics.arrays import to_numpy
from dplda.numerics.gpu import Gpu
from dplda.statistics import Contribution
from dplda.statistics.gpu_sums import GpuSums, UnitArrays, arranged, upload
from dplda.statistics.norm_histogram import clip_bins
from dplda.store.count_store import CountStore

HELD = 0.5  # of the free memory at most, for shards that stay on the GPU


class GpuPasses(LocalPasses):
    """`LocalPasses` whose contributions are summed on `gpu`; they raise `DeviceError`."""

    def __init__(self, store: CountStore, gpu: Gpu) -> None:
        super().__init__(store)
        self._gpu = gpu
        self._held: list[UnitArrays] = []
        with _one_line():
            self._room = HELD * gpu.free()

    def use_words(self, words: tuple[str, ...]) -> None:
        """See `Passes`."""
        self._held, self._room = [], self._room + sum(units.n_bytes for units in self._held)
        super().use_words(words)

    def clipped_sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        """See `Passes`."""
        with _one_line():
            sums = GpuSums(self._gpu, contribution, clip)
            for units in self._units():
                sums.add(units)
            return sums.result()

    def largest_norm(self, contribution: Contribution) -> float:
        """See `Passes`."""
        norms = self._norms(contribution, [np.arange(n) for n in self._shard_sizes()])
        return max((float(part.max(initial=0.0)) for part in norms), default=0.0)

    def _histogram(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> np.ndarray:
        return clip_bins(np.concatenate(self._norms(contribution, chosen)))

    def _norms(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> list[np.ndarray]:
        with _one_line():
            sums = GpuSums(self._gpu, contribution)
            found = [sums.norms(units, own) for units, own in zip(self._units(), chosen, strict=True)]
            self._gpu.finish()
            return [to_numpy(norms) for norms in found]

    def _units(self) -> Iterator[UnitArrays]:
        """Every shard, on the GPU and in a turn of its own."""
        held = len(self._held)
        for index, units in enumerate(self._held):
            with self._gpu.turn(index):
                yield units

        def read(index: int) -> UnitArrays:
            c = self.shard(held + index)
            return arranged(c.indptr, c.words, c.counts, c.unit_ptr, c.n_words)

        for index, read_units in enumerate(in_threads(read, self.n_shards - held), held):
            with self._gpu.turn(index):
                units = upload(self._gpu, read_units)
                if index == len(self._held) and units.n_bytes <= self._room:
                    self._held.append(units)
                    self._room -= units.n_bytes
                yield units


@contextmanager
def _one_line() -> Iterator[None]:
    """One line for a GPU that cannot finish; messages of its library may show sizes, which are private."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise DeviceError(f"The GPU failed ({kind}) in a pass over the documents. {SPENT}") from None
