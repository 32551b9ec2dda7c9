"""How fast each kernel is on a GPU, beside the CPU's, and how near it comes to what the GPU can do.

Sums the contributions of a store's first documents over its first words, which lie on the GPU already, and divides the
operations and bytes that this takes at least (`kernel_costs`) by the seconds. Limits are measured on the same GPU just
before: a product of float32 matrices, and a copy. The CPU sums a part of the same documents on all cores; sums of that
part must agree.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.corpora import stored_counts
from benchmarks.kernels import clip_of, clipped_sum, kernels, mixed_topics, size_of, units_of
from benchmarks.measuring import least
from benchmarks.tables import Table
from dplda.base.arrays import Gpu, find_gpu
from dplda.base.threads import thread_count
from dplda.private.statistics import Contribution
from dplda.private.statistics.clipping import BOUND
from dplda.private.statistics.gpu_sums import GpuSums, UnitArrays, arrange, require_working, upload

STEPS = 1e-4 * BOUND  # lattice steps that a unit's sums may differ by
MATRIX, COPIED = 8192, 1 << 30  # rows of the product, float32 of the copy


def measure(
    store: Path,
    topics: int,
    words: int,
    vocabulary: int,
    documents: int,
    repeats: int,
    part: int,
    gpu: Gpu | None = None,
) -> None:
    """Print a row for each kernel; the CPU sums the first `part` documents."""
    gpu = find_gpu() if gpu is None else gpu
    require_working(gpu)
    matrix = stored_counts(store, documents, vocabulary)
    flops, moved = product_rate(gpu, MATRIX, repeats), copy_rate(gpu, COPIED, repeats)
    print(f"{flops / 1e12:.1f} Tflop/s (sgemm), {moved / 1e9:.0f} GB/s (copy); CPU: {thread_count()} threads\n")
    table = Table(
        "kernel", "shape", "documents/s", "times the CPU", "Gflop/s", "share of peak", "share of memory bandwidth"
    )
    on_gpu = uploaded(gpu, matrix)
    for name, f, cost in kernels(mixed_topics(words, topics, vocabulary)):
        if f is None:
            continue  # votes are counted on the CPU
        done, n = cost(size_of(matrix, f)), matrix.shape[0]
        clip, own = agreed(gpu, f, matrix[:part])
        seconds = least(partial(summed, gpu, f, clip, on_gpu), repeats)
        table.row(
            name, f.shape, f"{n / seconds:,.0f}", f"{n / seconds / own:.1f}", f"{done.flops / seconds / 1e9:,.0f}",
            f"{done.flops / seconds / flops:.1%}", f"{done.memory / seconds / moved:.1%}",
        )  # fmt: skip


def uploaded(gpu: Gpu, matrix: sparse.csr_matrix) -> UnitArrays:
    """Counts in which each row is a unit, on the GPU."""
    counts = units_of(matrix)
    return upload(gpu, arrange(counts.indptr, counts.words, counts.counts, counts.unit_ptr, counts.n_words))


def summed(gpu: Gpu, f: Contribution, clip: float, units: UnitArrays) -> tuple[np.ndarray, int]:
    """The GPU's sum."""
    sums = GpuSums(gpu, f, clip)
    sums.add(units)
    return sums.result()


def agreed(gpu: Gpu, f: Contribution, matrix: sparse.csr_matrix) -> tuple[float, float]:
    """The median norm of some units, and documents a second on the CPU, whose sum must be the GPU's within `STEPS`."""
    counts, threads = units_of(matrix), thread_count()
    clip = clip_of(f, counts)
    total = clipped_sum(counts, f, clip, threads)
    found, _ = summed(gpu, f, clip, uploaded(gpu, matrix))
    if np.abs(found - total).max() > STEPS * counts.n_units:
        raise SystemExit("The GPU's sums are not the CPU's.")
    return clip, counts.n_units / least(lambda: clipped_sum(counts, f, clip, threads), 3)


def product_rate(gpu: Gpu, n: int, repeats: int) -> float:
    """The most float32 operations a second in a product of matrices."""
    A = gpu.xp.ones((n, n), np.float32)
    return 2 * n**3 / least(lambda: _finished(gpu, A @ A), repeats)


def copy_rate(gpu: Gpu, n: int, repeats: int) -> float:
    """The most bytes a second that a copy reads and writes."""
    a = gpu.xp.ones(n, np.float32)
    return 8 * n / least(lambda: _finished(gpu, a.copy()), repeats)


def _finished(gpu: Gpu, _: object) -> None:
    gpu.finish()
