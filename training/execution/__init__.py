"""Runs work in this process, in processes of this machine, or on a cluster, as a command's options say.

The caller's code is the same for all three.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.training.execution.executor import AUTO, LOCAL, Executor, Here, P, R

MOST_PROCESSES = 1024
"""What may be asked for at most."""
ADDRESS = re.compile(r"[\w.-]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")


def check_places(processes: int, cluster: str) -> None:
    """Raises ValueError for a wrong number of processes or an invalid cluster."""
    if not 1 <= processes <= MOST_PROCESSES:
        raise UserError(f"expected 1 to {MOST_PROCESSES:,} processes, got {processes!r}")
    if not cluster:
        return
    if cluster not in (AUTO, LOCAL) and not ADDRESS.fullmatch(cluster):
        raise UserError(f"expected a cluster {AUTO}, {LOCAL} or HOST:PORT, got {cluster!r}")
    if cluster != LOCAL and processes > 1:
        raise UserError(f"expected processes of this machine or a cluster that runs, got {processes} and {cluster!r}")
    if importlib.util.find_spec("ray") is None:
        raise UserError("expected ray, found none: pip install 'leafwise[cluster]'")


def executor_for(work: Callable[[P], R], processes: int = 1, cluster: str = "", pieces: int = 0) -> Executor[P, R]:
    """Returns an executor for some work: a module's function, a `partial` of one, or a callable object that pickles.

    An object may have a method `warm`, which brings what it has to compile. `cluster` is "auto" for the Ray cluster that
    this machine belongs to, "local" for one of `processes` cores of this machine (1: all of them) that ends with this process, or
    HOST:PORT; "" is none. Where it is said that there are few `pieces`, no more processes are started.

    Raises ValueError as `check_places` does, and Unfit for a cluster that cannot do it.
    """
    check_places(processes, cluster)
    if cluster:
        from leafwise.training.execution.cluster import Cluster, connect

        connect(cluster, processes)
        return Cluster(work)
    processes = min(processes, pieces or processes)
    if processes == 1:
        return Here(work)
    from leafwise.training.execution.processes import Processes

    return Processes(work, processes)


def in_pieces(things: Sequence[Any], size: int) -> list[Any]:
    """Splits a sequence into slices of equal length; the last may be shorter."""
    return [things[k : k + size] for k in range(0, len(things), size)]


def map_pieces(work: Callable[[P], R], pieces: Sequence[P], processes: int = 1, cluster: str = "") -> Iterator[R]:
    """Yields the results of the pieces in order; other arguments as in `executor_for`."""
    with executor_for(work, processes, cluster, len(pieces)) as executor:
        yield from executor.in_order(enumerate(pieces))
