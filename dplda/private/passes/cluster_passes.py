"""Passes over the private counts on a Dask cluster: counts stay on the workers, which return integer sums.

Workers read ranges of units from the store and keep them in memory. Every pass is one task for each range, and the
sums are added in a tree. Tasks are pure: if a worker is lost, others read and sum its ranges again, and each range
enters a sum once. Only the driver adds noise.

Exact sums travel between workers and to the driver, so everyone who controls the cluster must be allowed to see the
documents (docs/scale.md).
"""

from __future__ import annotations

import logging
import platform
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba
import numpy as np
from numba.core.registry import cpu_target

from dplda.base.errors import ClusterError, InputError
from dplda.base.software import code_digest
from dplda.base.threads import add
from dplda.private.attributes import Answers, Attribute, TableRows
from dplda.private.passes.local_passes import RANGE_BYTES, SPENT, Pass, Passes, Sums, group_votes, read_range
from dplda.private.statistics.exact_moments import ExactMoments
from dplda.private.store.count_store import CountStore
from dplda.private.store.units import UnitCounts, UnitRange
from dplda.text.records import DOCUMENT

if TYPE_CHECKING:
    from distributed import Client, Future

_T = TypeVar("_T")

_TIMEOUT_SECONDS = 15.0  # how long to wait for the scheduler, and then for its first worker
_FAN_IN = 8  # largest number of sums that one task adds
_RANGES_PER_THREAD = 2  # least number of ranges per thread, so that all threads finish at about the same time

_SAME_SOFTWARE = (
    "All workers must run the same versions of dplda, numba, numpy and scipy on the same kind of processor as this "
    "machine, so that all documents are computed alike."
)


@contextmanager
def connected(address: str | None) -> Iterator[Client]:
    """Yield a client of the Dask scheduler at `address`, such as ``tcp://host:8786``.

    Raises `InputError` without Dask, a scheduler that answers, or workers.
    """
    try:
        import dask
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
        client = Client(address, timeout=_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError):  # TimeoutError is an OSError; ImportError: an unknown protocol
        raise InputError(f"No Dask scheduler answers at {address}. Start one with: dask scheduler") from None
    log = logging.getLogger("distributed.client")
    level = log.level
    try:
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT_SECONDS)
        except TimeoutError:
            raise InputError(f"The scheduler at {address} has no workers. Start some: dask worker {address}") from None
        log.setLevel(logging.CRITICAL)  # `ClusterError` reports a lost connection in one line
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):  # the warning shows sizes
            yield client
    finally:
        client.close()
        log.setLevel(level)


class ClusterPasses(Passes):
    """`Passes` on the workers of `client`, each of which must see the folder of `store`.

    Raises `InputError` if a worker does not see it, or runs other code or another kind of processor: a unit's rounding
    must not depend on which worker sums it (docs/privacy.md, rule 12). Passes raise `ClusterError` if the cluster
    fails.
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
        blocks = store.n_blocks if store.unit == DOCUMENT else threads * _RANGES_PER_THREAD
        self._n_ranges = max(1, min(blocks, max(threads * _RANGES_PER_THREAD, -(-store.n_bytes // RANGE_BYTES))))
        self._counts: list[Future] | None = None

    def use_words(self, words: tuple[str, ...] | Answers | None, rows: TableRows | None = None) -> None:
        """See `Passes`."""
        super().use_words(words, rows)
        self._counts = None

    def exact_moments(self, h: np.ndarray) -> ExactMoments:
        """Raise `InputError`: exact moments are not available on a cluster."""
        raise InputError("This placement needs all counts in one place: use --engine local.")

    def _group_votes(self, attribute: Attribute, most: int) -> Iterable[tuple[list[str], np.ndarray, int]]:
        ranges = [UnitRange(index, self._n_ranges) for index in range(self._n_ranges)]
        with _one_line():
            tasks = [self._submit(_vote, _arithmetic(), self._where, attribute, most, units) for units in ranges]
            return [part.value for part in self._client.gather(tasks)]

    def _map_ranges(self, work: Callable[..., Any], *shared: Any, per_range: Sequence[Any] | None = None) -> list[Any]:
        with _one_line():
            return [part.value for part in self._client.gather(self._tasks(work, shared, per_range))]

    def _sum_ranges(self, work: Pass, *shared: Any, per_range: Sequence[Any] | None = None) -> Sums:
        with _one_line():
            parts = self._tasks(work, shared, per_range)
            while len(parts) > 1:
                groups = [parts[first : first + _FAN_IN] for first in range(0, len(parts), _FAN_IN)]
                parts = [self._submit(_sum, *group) for group in groups]
            return tuple(parts[0].result().value)

    def _tasks(self, work: Callable[..., Any], shared: Sequence[Any], per_range: Sequence[Any] | None) -> list[Future]:
        if self._counts is None:
            words = self._submit(_same, self._words)
            ranges = [UnitRange(index, self._n_ranges) for index in range(self._n_ranges)]
            table = self._rows
            self._counts = [self._submit(_load, _arithmetic(), self._where, words, units, table) for units in ranges]
        arguments = self._submit(_same, tuple(shared))  # a task, so that it outlives the worker that holds it
        more: Sequence[tuple[Any, ...]]
        more = [()] * self._n_ranges if per_range is None else [(value,) for value in per_range]
        return [
            self._submit(_work, _arithmetic(), work, counts, arguments, last)
            for counts, last in zip(self._counts, more, strict=True)
        ]

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Submit a task so that neither its name nor what Dask shows of its arguments reveals their contents."""
        from distributed import Future

        hidden = [value if isinstance(value, Future) else _Hidden(value) for value in arguments]
        key = f"{function.__name__.strip('_')}-{secrets.token_hex(8)}"
        return self._client.submit(function, *hidden, key=key, pure=False)

    def _check(self) -> None:
        path, identity = self._where
        try:
            workers = list(self._client.run(_inspect, path).values())
        except ImportError:
            raise InputError(f"The workers cannot import dplda. {_SAME_SOFTWARE}") from None
        if not workers:
            raise InputError("The cluster has lost its last worker. Start some: dask worker ADDRESS")
        if {arithmetic for arithmetic, _ in workers} != {_arithmetic()}:
            raise InputError(_SAME_SOFTWARE)
        if any(seen is None for _, seen in workers):
            raise InputError(
                f"Not every worker can read the corpus store {path}. Use a folder that all of them see (set "
                "DPLDA_CACHE, or write it there with dplda corpus import)."
            )
        if {seen for _, seen in workers} != {identity}:
            raise InputError(f"Not every worker sees the same corpus store at {path}. Use one folder for all.")


@dataclass(frozen=True, repr=False)
class _Hidden:
    """A task's argument or result with a repr that hides it, since workers log the arguments of failing tasks."""

    value: Any

    def __sizeof__(self) -> int:
        """Return the size in bytes, so that Dask can decide what to move and what to write to disk."""
        from dask.sizeof import sizeof

        counts = self.value
        parts = (*counts.arrays, counts.rows) if isinstance(counts, UnitCounts) else (counts,)
        return sum(map(sizeof, parts))


def _task(function: Callable[..., Any]) -> Callable[..., _Hidden]:
    """Make `function` a task on hidden values. An error reveals only its type: its message may quote private values."""

    @wraps(function)
    def task(*arguments: _Hidden) -> _Hidden:
        try:
            return _Hidden(function(*(argument.value for argument in arguments)))
        except ClusterError:
            raise
        except Exception as error:
            name = type(error).__name__
        raise ClusterError(f"A worker failed ({name}) in a pass over the documents. {SPENT}")

    return task


@cache
def _arithmetic() -> str:
    """Everything that this process's results depend on: code, compiler, processor, Python and tzdata.

    Python and tzdata (time zones) decide to which period of a table the date of a document belongs.
    """
    compiler = [numba.__version__, version("llvmlite"), version("numpy"), version("scipy")]
    options = [numba.config.DISABLE_JIT, numba.config.OPT, numba.config.LOOP_VECTORIZE, numba.config.SLP_VECTORIZE]
    processor = cpu_target.target_context.codegen().magic_tuple()
    calendar = [platform.python_version(), version("tzdata")]
    return repr((version("dplda"), code_digest(), compiler, options, processor, calendar))


def _inspect(path: str) -> tuple[str, str | None]:
    """On a worker: its `_arithmetic`, and the identity of the store at `path`, None if it cannot read one."""
    try:
        return _arithmetic(), CountStore.open(Path(path)).identity
    except InputError:
        return _arithmetic(), None


@_task
def _same(value: _T) -> _T:
    return value


@_task
def _load(
    arithmetic: str,
    where: tuple[str, str],
    words: Sequence[str] | None,
    units: UnitRange,
    rows: TableRows | None = None,
) -> UnitCounts:
    return read_range(_open(arithmetic, where), words, units, rows)


@_task
def _vote(
    arithmetic: str, where: tuple[str, str], attribute: Attribute, most: int, units: UnitRange
) -> tuple[list[str], np.ndarray, int]:
    return group_votes(_open(arithmetic, where), attribute, most, units)


def _open(arithmetic: str, where: tuple[str, str]) -> CountStore:
    _require(arithmetic)
    path, identity = where
    store = CountStore.open(path)
    if store.identity != identity:
        raise ClusterError(f"Another corpus store has taken the place of {path}. {SPENT}")
    return store


@_task
def _work(
    arithmetic: str, work: Callable[..., _T], counts: UnitCounts, shared: tuple[Any, ...], more: tuple[Any, ...]
) -> _T:
    _require(arithmetic)
    return work(counts, 1, *shared, *more)


@_task
def _sum(*parts: Sums) -> Sums:
    first, *others = parts
    return add([tuple(value.copy() if hasattr(value, "copy") else value for value in first), *others])


def _require(arithmetic: str) -> None:
    """Raise `ClusterError` on a worker that joined after the check and computes differently."""
    if arithmetic != _arithmetic():
        raise ClusterError(f"A worker of another version or kind of processor has joined the cluster. {SPENT}")


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn a failure of the cluster into a one-line `ClusterError`."""
    from distributed import CancelledError, KilledWorker

    try:
        yield
    except KilledWorker:
        raise ClusterError(f"Several workers died on one range of documents: give them more memory. {SPENT}") from None
    except (CancelledError, OSError) as error:
        raise ClusterError(f"The connection to the cluster is lost ({type(error).__name__}). {SPENT}") from None
