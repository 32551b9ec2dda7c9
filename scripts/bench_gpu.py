#!/usr/bin/env python
"""How fast each kernel is on a GPU, beside the CPU's, and how near it comes to what the GPU can do.

    python scripts/bench_scale.py make planted --documents 500000 --words 20000 --topics 100
    python scripts/bench_gpu.py planted --topics 100 --vocabulary 5000

Sums the contributions of a store's first documents over its first words, which lie on the GPU already, and divides the
operations and bytes that this takes at least (kernel_costs.py) by the seconds. Limits are measured on the same GPU just
before: a product of float32 matrices, and a copy. The CPU sums a part of the same documents on all cores; sums of that
part must agree. Needs CuPy and a GPU. Prints Markdown. For whole fits: bench_scale.py fit STORE --device cuda.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from bench_kernels import clip_of, kernels, parser_of, size_of, units_of
from planted_stores import counts_of, planted_topics
from scipy import sparse

from dplda.compute.gpu import Gpu, find_gpu
from dplda.compute.lattice import BOUND
from dplda.compute.threads import thread_count
from dplda.moments.contributions import Contribution
from dplda.moments.on_gpu import GpuSums, UnitArrays, arranged, require_working, upload
from dplda.privacy.passes import clipped_sum

STEPS = 1e-4 * BOUND  # lattice steps that a unit's sums may differ by
MATRIX, COPIED = 8192, 1 << 30  # rows of the product, float32 of the copy


def main(argv: Sequence[str] | None = None, gpu: Gpu | None = None) -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--part", type=int, default=2000, help="documents that the CPU sums")
    parser.add_argument("--matrix", type=int, default=MATRIX)
    parser.add_argument("--copied", type=int, default=COPIED)
    options = parser.parse_args(argv)
    gpu = find_gpu() if gpu is None else gpu
    require_working(gpu)
    matrix = counts_of(options.store, options.documents, options.vocabulary)
    flops, moved = product_rate(gpu, options.matrix, options.repeats), copy_rate(gpu, options.copied, options.repeats)
    print(f"{flops / 1e12:.1f} Tflop/s (sgemm), {moved / 1e9:.0f} GB/s (copy); CPU: {thread_count()} threads\n")
    print(
        "| kernel | shape | documents/s | times the CPU | Gflop/s | share of peak | share of memory bandwidth |\n"
        "|---|---|---|---|---|---|---|"
    )
    on_gpu = uploaded(gpu, matrix)
    for name, f, cost in kernels(matrix, planted_topics(options.words, options.topics, options.vocabulary)):
        if f is None:
            continue  # votes are counted on the CPU
        done, n = cost(size_of(matrix, f)), matrix.shape[0]
        clip, own = agreed(gpu, f, matrix[: options.part])
        seconds = best(lambda f=f, clip=clip: summed(gpu, f, clip, on_gpu), options.repeats)
        rate = n / seconds
        print(
            f"| {name} | {f.shape} | {rate:,.0f} | {rate / own:.1f} | {done.flops / seconds / 1e9:,.0f} | "
            f"{done.flops / seconds / flops:.1%} | {done.memory / seconds / moved:.1%} |",
            flush=True,
        )


def uploaded(gpu: Gpu, matrix: sparse.csr_matrix) -> UnitArrays:
    """Counts in which each row is a unit, on the GPU."""
    counts = units_of(matrix)
    return upload(gpu, arranged(*counts.arrays, counts.n_words))


def summed(gpu: Gpu, f: Contribution, clip: float, units: UnitArrays) -> tuple[np.ndarray, int]:
    """The GPU's sum."""
    sums = GpuSums(gpu, f, clip)
    sums.add(units)
    return sums.result()


def agreed(gpu: Gpu, f: Contribution, matrix: sparse.csr_matrix) -> tuple[float, float]:
    """The median norm of some units, and documents a second on the CPU, whose sum must be the GPU's within `STEPS`."""
    counts, threads = units_of(matrix), thread_count()
    clip = clip_of(f, counts)
    total, _ = clipped_sum(counts, threads, f, clip)
    found, _ = summed(gpu, f, clip, uploaded(gpu, matrix))
    if np.abs(found - total).max() > STEPS * counts.n_units:
        raise SystemExit("The GPU's sums are not the CPU's.")
    return clip, counts.n_units / best(lambda: clipped_sum(counts, threads, f, clip), 3)


def product_rate(gpu: Gpu, n: int, repeats: int) -> float:
    """The most float32 operations a second in a product of matrices."""
    A = gpu.xp.ones((n, n), np.float32)
    return 2 * n**3 / best(lambda: _finished(gpu, A @ A), repeats)


def copy_rate(gpu: Gpu, n: int, repeats: int) -> float:
    """The most bytes a second that a copy reads and writes."""
    a = gpu.xp.ones(n, np.float32)
    return 8 * n / best(lambda: _finished(gpu, a.copy()), repeats)


def _finished(gpu: Gpu, _: object) -> None:
    gpu.finish()


def best(work: Callable[[], object], repeats: int) -> float:
    """The least seconds of several runs behind a first one."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
