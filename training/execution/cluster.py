"""Runs pieces as tasks of a Ray cluster. A piece that is lost with its process or machine is submitted again.

All machines must run the same versions and the same sources of the package and of external games. Only this module imports Ray,
and it is imported only if a command names a cluster.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import itertools
import json
import logging
import operator
import os
import pickle
import platform
import socket
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, TypeVar

import ray
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayTaskError,
    TaskUnschedulableError,
    WorkerCrashedError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import INHERITED, NETWORKS
from leafwise.training.execution.executor import AUTO, LOCAL, Executor, Lost, P, R, Shared, Unfit
from leafwise.training.execution.processes import known, warm
from leafwise.training.types import Json

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds envs, search, models, ... (a checkout, or the installed leafwise package)."""
FOLDERS = ("envs", "search", "models", "training", "experiments")


def sources(*places: Path) -> str:
    """Returns a hash of the Python sources in folders, or of files."""
    digest = hashlib.sha256()
    for place in places:
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            digest.update(file.relative_to(place.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def _own() -> dict[str, str]:
    packages = {name: version(name) for name in ("leafwise", "numpy", "numba")}
    return {"Python": platform.python_version(), **packages, "sources": sources(*(PACKAGE / name for name in FOLDERS))}


def identity() -> dict[str, str]:
    """Returns versions and source hashes of this process, by name."""
    from leafwise.envs.registry import listed

    games = {name: told["module"] for name, told in json.loads(added()[INHERITED]).items()}
    games |= {name: told.module for name, told in listed().items() if told.plugin}
    return _own() | {f"game {name}": _source_of(module) for name, module in games.items()}


def _source_of(module: str) -> str:
    """Returns a hash of a game's sources, without importing it."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return "nowhere"
    file = Path(spec.origin)
    return sources(file.parent if file.name == "__init__.py" else file)


def added() -> dict[str, str]:
    """Returns environment variables with the games and networks that the command line added."""
    return {name: os.environ.get(name, "{}") for name in (INHERITED, NETWORKS)}


def take_added(told: dict[str, str], where: str) -> None:
    """Registers here what the driver's command line added; the files have the same path on each machine.

    Raises Unfit where it does not.
    """
    from leafwise.envs.plugins import module_name
    from leafwise.envs.registry import listed

    if added() != told:
        os.environ.update(told)
        listed.cache_clear()
    games, networks = (json.loads(told[name]).values() for name in (INHERITED, NETWORKS))
    for source in (*(game["source"] for game in games), *networks):
        try:
            module_name(source)
        except UserError as problem:
            raise Unfit(f"{problem}, on {where}") from None


def check_identity(expected: Mapping[str, str], where: str) -> None:
    """Raises Unfit in one line if versions or sources differ from the driver's; `where` names this machine."""
    own = identity()
    for name, wanted in expected.items():
        if own.get(name) != wanted:
            raise Unfit(f"expected {name} {wanted} on {where} as on the driver, got {own.get(name, 'none')}")


T = TypeVar("T")
GONE = (WorkerCrashedError, NodeDiedError, ObjectLostError, OutOfMemoryError)
"""What is raised for a piece whose process or machine is gone."""
MOST_LOSSES = 5
"""Times that a piece may be lost."""
STORE_BYTES = 100 * 2**20
"""Memory for shared objects of a local cluster: networks, and results on their way."""
CONNECT_SECONDS = 10.0
"""What the head of a cluster may take to answer."""
LOOK_SECONDS = 5.0
"""Between two looks at how many cores the cluster has."""
_numbers = itertools.count()


def connect(cluster: str, processes: int = 1) -> None:
    """Connects this process to a cluster or starts a local one; the connection lasts until the process ends.

    Raises Unfit where there is no such cluster.
    """
    if ray.is_initialized():
        return
    if cluster not in (AUTO, LOCAL):  # where nobody listens, Ray would try for minutes
        host, _, port = cluster.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as problem:
            raise Unfit(f"expected a Ray cluster that runs, got {cluster!r}: {problem}") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options: Json = {"address": cluster}
    if cluster == LOCAL:
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # a local cluster is as urgent as processes would be; Ray's default is 15
        cores = processes if processes > 1 else os.cpu_count() or 1
        options |= {"num_cpus": cores, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
        except (
            Exception
        ) as problem:  # where a machine is too busy to start one in time, Ray raises nothing more special
            said = " ".join(str(problem).split())
            raise Unfit(f"expected a Ray cluster that runs, got {cluster!r}: {said:.200}") from None


class Pickler(pickle.Pickler):
    """Names what is of a module that runs as `__main__` by its own name: that of the processes of a cluster is another."""

    def reducer_override(self, thing: Any) -> Any:
        """Returns how a function or class of that module is found."""
        main = sys.modules["__main__"]
        own = isinstance(thing, (type, FunctionType)) and thing.__module__ == "__main__"
        if own and main.__spec__ is not None:
            return named, (main.__spec__.name, thing.__qualname__)
        return NotImplemented


def named(module: str, name: str) -> Any:
    """Returns what has a name in a module."""
    return operator.attrgetter(name)(importlib.import_module(module))


def pickled(thing: Any) -> bytes:
    """Pickles an object for processes of the cluster."""
    stream = io.BytesIO()
    Pickler(stream).dump(thing)
    return stream.getvalue()


class Put(Generic[T]):
    """Reference to an object in the cluster's memory; each machine fetches it once, each process unpickles it once."""

    def __init__(self, thing: T) -> None:
        self.ident = f"{ray.get_runtime_context().get_job_id()}-{next(_numbers)}"
        self.place = ray.put(pickled(thing))

    def get(self) -> T:
        """Returns the object."""
        return self._known(lambda thing: None)

    def work(self) -> T:
        """Returns the object, which is work; the first call also loads its code."""
        return self._known(warm)

    def _known(self, begin: Callable[[Any], None]) -> T:
        return known(self.ident, lambda: pickle.loads(ray.get(self.place)), begin)


class Cluster(Executor[P, R]):
    """Runs pieces on the cores of a Ray cluster."""

    def __init__(self, work: Callable[[P], R]) -> None:
        """Checks versions and sources of each machine, and warms each up."""
        self._told = identity(), added()
        self._work = Put(work)
        self._task = ray.remote(num_cpus=1, max_retries=0)(task)
        self._pieces: dict[int, P] = {}
        self._keys: dict[Any, int] = {}
        self._losses: Counter[int] = Counter()
        self._looked = 0.0
        self._cores = 1
        self._check_machines()

    def _check_machines(self) -> None:
        """Checks and warms up every machine; raises Unfit for the first that does not fit."""
        probe = ray.remote(num_cpus=1, max_retries=0)(_probe(*self._told))
        nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
        for call in (
            lambda on: probe.options(**on).remote(),
            lambda on: self._task.options(**on).remote(*self._told, self._work),
        ):
            tasks = [call({"scheduling_strategy": NodeAffinitySchedulingStrategy(n, soft=False)}) for n in nodes]
            for one in tasks:
                try:
                    self._got(one)
                except (*GONE, TaskUnschedulableError):  # a machine that has just gone
                    continue
                except ImportError as missing:
                    raise Unfit(str(missing)) from None

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Current number of cores of the cluster."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked, self._cores = time.monotonic(), max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self._cores

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        self._pieces[key] = piece
        self._keys[self._task.remote(*self._told, self._work, piece)] = key

    def next(self) -> tuple[int, R]:
        """Waits for a finished piece; returns its key and result."""
        while True:
            (task,), _ = ray.wait(list(self._keys), num_returns=1)
            key = self._keys.pop(task)
            try:
                result = self._got(task)
            except GONE as problem:
                self._losses[key] += 1
                self.repeated += 1
                if self._losses[key] > MOST_LOSSES:
                    said = " ".join(str(problem).split())
                    raise Lost(
                        f"expected work that leaves its process alive, got one lost {MOST_LOSSES} times: {said:.200}"
                    ) from None
                self.submit(key, self._pieces[key])
            else:
                del self._pieces[key]
                self._losses.pop(key, None)
                return key, result

    @staticmethod
    def _got(task: Any) -> Any:
        """Returns what a task returned, or raises what it raised."""
        try:
            return ray.get(task)
        except RayTaskError as problem:
            raise (problem.cause if isinstance(problem.cause, Exception) else problem) from None

    def cancel(self, *keys: int) -> None:
        """Starts no more pieces."""
        self._give_up(set(keys) or set(self._pieces), force=False)

    def shutdown(self) -> None:
        """Ends the worker processes."""
        self._give_up(set(self._pieces), force=True)

    def _give_up(self, keys: set[int], *, force: bool) -> None:
        for one, key in list(self._keys.items()):
            if key in keys:
                ray.cancel(one, force=force)
                del self._keys[one], self._pieces[key]
                self._losses.pop(key, None)

    def share(self, thing: T) -> Shared[T]:
        """Puts an object into the cluster's memory."""
        return Put(thing)


def _probe(told: dict[str, str], others: dict[str, str]) -> Callable[[], None]:
    """Returns a function that checks a machine; it is sent by value, because leafwise may be missing there."""

    def probe() -> None:
        try:
            from leafwise.training.execution.cluster import prepare
        except ImportError as missing:
            where = ray.util.get_node_ip_address()
            raise ImportError(
                f"expected leafwise {told['leafwise']} on the machine {where}, got none: {missing}"
            ) from None
        prepare(told, others)

    return probe


def prepare(told: dict[str, str], others: dict[str, str]) -> None:
    """Checks versions and sources of this process at first use; raises Unfit."""
    if (told, others) != _prepared.get("for"):
        where = f"the machine {ray.util.get_node_ip_address()}"
        take_added(others, where)
        check_identity(told, where)
        _prepared["for"] = told, others


def task(told: dict[str, str], others: dict[str, str], work: Put[Callable[[Any], Any]], *piece: Any) -> Any:
    """Runs in a process of the cluster: runs a piece, or without one only warms up."""
    prepare(told, others)
    ready = work.work()
    return ready(piece[0]) if piece else None


_prepared: Json = {}
