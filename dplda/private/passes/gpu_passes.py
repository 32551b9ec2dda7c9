"""Passes over the private counts that sum contributions on a GPU and compute everything else on the CPU.

Threads read the ranges of units and copy each to the GPU while the previous one is computed; ranges that fit stay in
GPU memory. For whitened third moments of many topics (`statistics.third_moment_products`) the CPU writes the integers
of each unit and the GPU multiplies them. A run computes each contribution in one way for all units (docs/privacy.md,
rule 12): a GPU failure ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dplda.base.arrays import Gpu, to_numpy
from dplda.base.errors import DeviceError, InputError
from dplda.private.attributes import Answers, TableRows
from dplda.private.passes.local_passes import SPENT, LocalPasses, in_threads
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import clip_bins
from dplda.private.statistics.gpu_sums import GpuSums, UnitArrays, arrange, upload
from dplda.private.statistics.third_moment_products import has_products
from dplda.private.store.count_store import CountStore

_HELD_SHARE = 0.5  # largest share of the free GPU memory that ranges kept on the GPU take


class GpuPasses(LocalPasses):
    """`LocalPasses` that sum contributions on `gpu`. Passes raise `DeviceError` if it fails."""

    _slices = False  # a range is copied to the GPU as a whole
    _gpu: Gpu

    def __init__(self, store: CountStore, gpu: Gpu) -> None:
        super().__init__(store)
        self._gpu = gpu
        self._held: list[UnitArrays] = []
        with _one_line():
            self._room = _HELD_SHARE * gpu.free()

    def use_words(self, words: tuple[str, ...] | Answers | None, rows: TableRows | None = None) -> None:
        """See `Passes`."""
        self._held, self._room = [], self._room + sum(units.n_bytes for units in self._held)
        super().use_words(words, rows)

    def clipped_sum(self, contribution: Contribution, clip: float) -> tuple[np.ndarray, int]:
        """See `Passes`."""
        with _one_line():
            if has_products(contribution):
                return super().clipped_sum(contribution, clip)
            sums = GpuSums(self._gpu, contribution, clip)
            for units in self._units():
                sums.add(units)
            return sums.result()

    def largest_norm(self, contribution: Contribution) -> float:
        """See `Passes`."""
        if has_products(contribution):
            return super().largest_norm(contribution)
        norms = self._norms(contribution, [np.arange(n) for n in self._range_sizes()])
        return max((float(part.max(initial=0.0)) for part in norms), default=0.0)

    def _histogram(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> np.ndarray:
        if has_products(contribution):
            return super()._histogram(contribution, chosen)
        return clip_bins(np.concatenate(self._norms(contribution, chosen)))

    def _norms(self, contribution: Contribution, chosen: Sequence[np.ndarray]) -> list[np.ndarray]:
        with _one_line():
            sums = GpuSums(self._gpu, contribution)
            on_gpu = [sums.norms(units, indices) for units, indices in zip(self._units(), chosen, strict=True)]
            self._gpu.finish()
            return [to_numpy(norms) for norms in on_gpu]

    def _units(self) -> Iterator[UnitArrays]:
        """Yield every range of units, on the GPU, in alternating streams (see `Gpu.turn`)."""
        held = len(self._held)
        for index, units in enumerate(self._held):
            with self._gpu.turn(index):
                yield units

        def read(index: int) -> UnitArrays:
            c = self.range_counts(held + index)
            return arrange(c.indptr, c.words, c.counts, c.unit_ptr, c.n_words)

        for index, read_units in enumerate(in_threads(read, self.n_ranges - held), held):
            with self._gpu.turn(index):
                units = upload(self._gpu, read_units)
                if index == len(self._held) and units.n_bytes <= self._room:
                    self._held.append(units)
                    self._room -= units.n_bytes
                yield units


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn a failure of the GPU into a one-line `DeviceError`; the library's own message may show private sizes."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise DeviceError(f"The GPU failed ({kind}) in a pass over the documents. {SPENT}") from None
