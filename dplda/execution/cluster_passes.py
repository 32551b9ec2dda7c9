"""Passes over the private counts on a Dask cluster: shards stay on the workers, integer sums come back.

Shards are read where the store lies and kept in the workers' memory; every pass is a task for each shard, whose
sums are added in a tree. Tasks are pure: what a lost worker held is read and summed again elsewhere, and each shard
enters a sum once, whoever computed it. Noise is added by the driver alone.

Exact sums travel between workers and to the driver: a cluster belongs to whoever may see the documents (docs/scale.md).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba
import numpy as np
from numba.core.registry import cpu_target

from dplda.errors import ClusterError, InputError
from dplda.execution.passes import SHARD_BYTES, SPENT, Pass, Passes, Sums, read_shard
from dplda.numerics.compiled import PACKAGE, digest
from dplda.numerics.threads import add
from dplda.readers.records import DOCUMENT
from dplda.statistics.exact_moments import ExactMoments
from dplda.store.count_store import CountStore
from dplda.store.units import Shard, UnitCounts

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

SECONDS = 15.0  # to wait for a scheduler, and for its first worker
FAN_IN = 8  # sums that one task adds up
PER_THREAD = 2  # shards at least for each thread, so that all end at about the same time

ALIKE = (
    "All workers must run the same versions of dplda, numba, numpy and scipy on the same kind of processor as this "
    "machine, so that all documents are computed alike."
)


def connect(address: str | None) -> Client:
    """A client of the Dask scheduler at `address`, such as ``tcp://host:8786``, which has a worker.

    Raises `InputError` without Dask, a scheduler or workers.
    """
    try:
        from distributed import Client, Security
    except ImportError:
        raise InputError("engine dask needs Dask: pip install 'dplda[dask]'.") from None
    if not address:
        raise InputError("engine dask needs the address of a scheduler, such as --scheduler tcp://host:8786.")
    if address.startswith("tls:") and Security().get_connection_args("client")["ssl_context"] is None:
        raise InputError(
            "A tls:// address needs the keys in Dask's configuration, distributed.comm.tls (docs/scale.md)."
        )
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError):  # TimeoutError is an OSError; ImportError: an unknown protocol
        raise InputError(f"No Dask scheduler answers at {address}. Start one with: dask scheduler") from None
    try:
        client.wait_for_workers(1, timeout=SECONDS)
    except TimeoutError:
        client.close()
        raise InputError(f"The scheduler at {address} has no workers. Start some: dask worker {address}") from None
    return client


@contextmanager
def connected(scheduler: str | None) -> Iterator[Client]:
    """A client that is closed at the end; see `connect` for errors."""
    client = connect(scheduler)
    import dask

    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)  # a lost connection is told in one line, by `ClusterError`
    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):  # a warning tells sizes
            yield client
    finally:
        client.close()
        log.setLevel(level)


class ClusterPasses(Passes):
    """`Passes` on the workers of `client`, each of which must see the folder of `store`.

    Raises `InputError` if one does not, or runs other code or on another kind of processor: a unit's rounding must not
    depend on which worker sums it (docs/privacy.md, rule 12). Passes raise `ClusterError`.
    """

    def __init__(self, store: CountStore, client: Client) -> None:
        super().__init__(store)
        if store.path is None:
            raise InputError(
                "engine dask reads the corpus on every worker, and this one is in memory only. Write it to a folder "
                "that all workers see, with Corpus.write or dplda corpus import, and fit that."
            )
        self._client = client
        self._where = str(store.path.resolve()), store.identity
        with _one_line():
            self._check()
            threads = sum(client.nthreads().values())
        blocks = store.n_blocks if store.unit == DOCUMENT else threads * PER_THREAD
        self._n_shards = max(1, min(blocks, max(threads * PER_THREAD, -(-store.n_bytes // SHARD_BYTES))))
        self._counts: list[Future] | None = None

    def use_words(self, words: tuple[str, ...]) -> None:
        """See `Passes`."""
        super().use_words(words)
        self._counts = None

    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """Not here: raises `InputError`."""
        raise InputError("This placement needs all counts in one place: use --engine local.")

    def _each(self, work: Callable[..., Any], *shared: Any, own: Sequence[Any] | None = None) -> list[Any]:
        with _one_line():
            return [part.value for part in self._client.gather(self._tasks(work, shared, own))]

    def _added(self, work: Pass, *shared: Any, own: Sequence[Any] | None = None) -> Sums:
        with _one_line():
            parts = self._tasks(work, shared, own)
            while len(parts) > 1:
                groups = [parts[first : first + FAN_IN] for first in range(0, len(parts), FAN_IN)]
                parts = [self._submit(_sum, *group) for group in groups]
            return tuple(parts[0].result().value)

    def _tasks(self, work: Callable[..., Any], shared: Sequence[Any], own: Sequence[Any] | None) -> list[Future]:
        if self._counts is None:
            words = self._submit(_same, self._words)
            shards = [Shard(index, self._n_shards) for index in range(self._n_shards)]
            self._counts = [self._submit(_load, _kind(), self._where, words, shard) for shard in shards]
        arguments = self._submit(_same, tuple(shared))  # a task, so that it outlives the worker that holds it
        more: Sequence[tuple[Any, ...]] = [()] * self._n_shards if own is None else [(value,) for value in own]
        return [
            self._submit(_work, _kind(), work, counts, arguments, last)
            for counts, last in zip(self._counts, more, strict=True)
        ]

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """A task of its own, whose name says nothing of its arguments, nor does what Dask shows of them."""
        from distributed import Future

        hidden = [value if isinstance(value, Future) else Hidden(value) for value in arguments]
        key = f"{function.__name__.strip('_')}-{secrets.token_hex(8)}"
        return self._client.submit(function, *hidden, key=key, pure=False)

    def _check(self) -> None:
        path, identity = self._where
        try:
            found = list(self._client.run(_seen, path).values())
        except ImportError:
            raise InputError(f"The workers cannot import dplda. {ALIKE}") from None
        if not found:
            raise InputError("The cluster has lost its last worker. Start some: dask worker ADDRESS")
        if {kind for kind, _ in found} != {_kind()}:
            raise InputError(ALIKE)
        if any(seen is None for _, seen in found):
            raise InputError(
                f"Not every worker can read the corpus store {path}. Use a folder that all of them see (set "
                "DPLDA_CACHE, or write it there with dplda corpus import)."
            )
        if {seen for _, seen in found} != {identity}:
            raise InputError(f"Not every worker sees the same corpus store at {path}. Use one folder for all.")


@dataclass(frozen=True, repr=False)
class Hidden:
    """A wrapper for the arguments and results of tasks, whose repr hides them: workers log the arguments of failing
    tasks."""

    value: Any

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what to move and what to write to disk."""
        from dask.sizeof import sizeof

        parts = self.value.arrays if isinstance(self.value, UnitCounts) else (self.value,)
        return sum(map(sizeof, parts))


def _task(function: Callable[..., Any]) -> Callable[..., Hidden]:
    """A task on hidden values, whose failure tells no more than its kind: messages may quote what is private."""

    @wraps(function)
    def task(*arguments: Hidden) -> Hidden:
        try:
            return Hidden(function(*(argument.value for argument in arguments)))
        except ClusterError:
            raise
        except Exception as error:
            kind = type(error).__name__
        raise ClusterError(f"A worker failed ({kind}) in a pass over the documents. {SPENT}")

    return task


@cache
def _kind() -> str:
    """What the arithmetic of a process depends on: code, compiler and processor."""
    compiler = [numba.__version__, version("llvmlite"), version("numpy"), version("scipy")]
    options = [numba.config.DISABLE_JIT, numba.config.OPT, numba.config.LOOP_VECTORIZE, numba.config.SLP_VECTORIZE]
    processor = cpu_target.target_context.codegen().magic_tuple()
    return repr((version("dplda"), digest(PACKAGE.rglob("*.py")), compiler, options, processor))


def _seen(path: str) -> tuple[str, str | None]:
    """On a worker: its kind, and which store it sees, if it can read one."""
    try:
        return _kind(), CountStore.open(Path(path)).identity
    except InputError:
        return _kind(), None


@_task
def _same(value: T) -> T:
    return value


@_task
def _load(kind: str, where: tuple[str, str], words: Sequence[str] | None, shard: Shard) -> UnitCounts:
    _require(kind)
    path, identity = where
    store = CountStore.open(path)
    if store.identity != identity:
        raise ClusterError(f"Another corpus store has taken the place of {path}. {SPENT}")
    return read_shard(store, words, shard)


@_task
def _work(kind: str, work: Callable[..., T], counts: UnitCounts, shared: tuple[Any, ...], own: tuple[Any, ...]) -> T:
    _require(kind)
    return work(counts, 1, *shared, *own)


@_task
def _sum(*parts: Sums) -> Sums:
    first, *others = parts
    return add([tuple(value.copy() if hasattr(value, "copy") else value for value in first), *others])


def _require(kind: str) -> None:
    """A worker may have joined late."""
    if kind != _kind():
        raise ClusterError(f"A worker of another version or kind of processor has joined the cluster. {SPENT}")


@contextmanager
def _one_line() -> Iterator[None]:
    """One line for a cluster that cannot finish."""
    from distributed import CancelledError, KilledWorker

    try:
        yield
    except KilledWorker:
        raise ClusterError(
            f"A shard of the documents has ended several workers: give them more memory. {SPENT}"
        ) from None
    except (CancelledError, OSError) as error:
        raise ClusterError(f"The connection to the cluster is lost ({type(error).__name__}). {SPENT}") from None
