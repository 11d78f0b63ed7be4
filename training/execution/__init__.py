"""Runs work in this process, in processes of this machine, or on a cluster, as a command's options say.

The caller's code is the same for all three.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, is_number_in
from leafwise.training.execution.executor import AUTO, LOCAL, Executor, P, R, SerialExecutor

MOST_PROCESSES = 1024
"""Maximum number of processes."""
ADDRESS = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


def check_backend(processes: int, cluster: str) -> None:
    """Raises ValueError for a wrong number of processes or an invalid cluster."""
    if not is_number_in(processes, Range(1, MOST_PROCESSES), int):
        raise UserError(f"expected 1 to {MOST_PROCESSES:,} processes, got {processes!r}")
    if not cluster:
        return
    if not isinstance(cluster, str) or (cluster not in (AUTO, LOCAL) and not ADDRESS.fullmatch(cluster)):
        raise UserError(f"expected a cluster {AUTO}, {LOCAL} or HOST:PORT, got {cluster!r}")
    if cluster != LOCAL and processes > 1:
        raise UserError(f"expected processes of this machine or a running cluster, got {processes} and {cluster!r}")
    if importlib.util.find_spec("ray") is None:
        raise UserError("expected ray, found none: pip install 'leafwise[cluster]'")


def executor_for(work: Callable[[P], R], processes: int = 1, cluster: str = "", pieces: int = 0) -> Executor[P, R]:
    """Returns an executor for some work: a module's function, a `partial` of one, or a callable object that pickles.

    An object may have a method `warm`, which compiles or loads its code. `cluster` is "" for none, "auto" for the Ray cluster that
    this machine belongs to, HOST:PORT, or "local". A local cluster has `processes` cores of this machine (1: all of them) and
    ends with this process. `pieces` limits the number of processes; 0 means no limit.

    Raises ValueError as `check_backend` does, and IncompatibleWorker for a cluster that is missing or does not fit.
    """
    check_backend(processes, cluster)
    if cluster:
        from leafwise.training.execution.cluster import RayExecutor, connect

        connect(cluster, processes)
        return RayExecutor(work)
    processes = min(processes, pieces or processes)
    if processes == 1:
        return SerialExecutor(work)
    from leafwise.training.execution.processes import ProcessExecutor

    return ProcessExecutor(work, processes)


def in_pieces(sequence: Sequence[Any], size: int) -> list[Any]:
    """Splits a sequence into slices of equal length; the last may be shorter."""
    return [sequence[k : k + size] for k in range(0, len(sequence), size)]


def map_pieces(work: Callable[[P], R], pieces: Sequence[P], processes: int = 1, cluster: str = "") -> Iterator[R]:
    """Yields the results of the pieces in order; other arguments as in `executor_for`."""
    with executor_for(work, processes, cluster, len(pieces)) as executor:
        yield from executor.in_order(enumerate(pieces))
