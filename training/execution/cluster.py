"""Runs pieces as tasks of a Ray cluster. A piece that is lost with its process or machine is submitted again.

All machines must run the same versions and the same sources of the package and of external games. Only this module imports Ray.
It is imported only if a command names a cluster.
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
from leafwise.training.execution.executor import AUTO, LOCAL, Executor, IncompatibleWorker, P, R, Ref, WorkerLost
from leafwise.training.execution.processes import cached, warm
from leafwise.training.types import Json

PACKAGE = Path(__file__).resolve().parents[2]
"""The folder that holds envs, search, models, ... (a checkout, or the installed leafwise package)."""
FOLDERS = ("envs", "search", "models", "training", "experiments")


def sources(*paths: Path) -> str:
    """Returns a hash of Python files and of those in folders."""
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            digest.update(file.relative_to(path.parent).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("leafwise", "numpy", "numba")}
    return {"Python": platform.python_version(), **packages, "sources": sources(*(PACKAGE / name for name in FOLDERS))}


def identity() -> dict[str, str]:
    """Returns versions and source hashes of this process, by name."""
    from leafwise.envs.registry import listed

    games = {name: info["module"] for name, info in json.loads(added_modules()[INHERITED]).items()}
    games |= {name: info.module for name, info in listed().items() if info.plugin}
    return _versions() | {f"game {name}": _source_of(module) for name, module in games.items()}


def _source_of(module: str) -> str:
    """Returns a hash of a game's sources, without importing it."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return "nowhere"
    file = Path(spec.origin)
    return sources(file.parent if file.name == "__init__.py" else file)


def added_modules() -> dict[str, str]:
    """Returns the environment variables that name the games and networks added on the command line."""
    return {name: os.environ.get(name, "{}") for name in (INHERITED, NETWORKS)}


def register_added(modules: dict[str, str], where: str) -> None:
    """Registers the games and networks that the driver's command line added.

    Raises IncompatibleWorker if a file is missing; it must have the same path on each machine.
    """
    from leafwise.envs.plugins import module_name
    from leafwise.envs.registry import listed

    if added_modules() != modules:
        os.environ.update(modules)
        listed.cache_clear()
    games, networks = (json.loads(modules[name]).values() for name in (INHERITED, NETWORKS))
    for source in (*(game["source"] for game in games), *networks):
        try:
            module_name(source)
        except UserError as problem:
            raise IncompatibleWorker(f"{problem}, on {where}") from None


def check_identity(expected: Mapping[str, str], where: str) -> None:
    """Raises IncompatibleWorker in one line if versions or sources differ from the driver's; `where` names this machine."""
    versions = identity()
    for name, required in expected.items():
        if versions.get(name) != required:
            raise IncompatibleWorker(
                f"expected {name} {required} on {where} as on the driver, got {versions.get(name, 'none')}"
            )


T = TypeVar("T")
GONE = (WorkerCrashedError, NodeDiedError, ObjectLostError, OutOfMemoryError)
"""Errors of a piece whose process or machine was lost."""
MOST_LOSSES = 5
"""Maximum number of times that a piece may be lost."""
STORE_BYTES = 100 * 2**20
"""Memory of a local cluster for shared objects and results."""
CONNECT_SECONDS = 10.0
"""Timeout for the connection to the head of a cluster."""
LOOK_SECONDS = 5.0
"""Time between two queries for the number of cores."""
_numbers = itertools.count()


def connect(cluster: str, processes: int = 1) -> None:
    """Connects this process to a cluster or starts a local one; the connection lasts until the process ends.

    Raises IncompatibleWorker if there is no such cluster.
    """
    if ray.is_initialized():
        return
    if cluster not in (AUTO, LOCAL):  # without a listener Ray would retry for minutes
        host, _, port = cluster.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as problem:
            raise IncompatibleWorker(f"expected a running Ray cluster, got {cluster!r}: {problem}") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options: Json = {"address": cluster}
    if cluster == LOCAL:
        os.environ.setdefault("RAY_worker_niceness", "0")  # same priority as plain processes; Ray's default is 15
        cores = processes if processes > 1 else os.cpu_count() or 1
        options |= {"num_cpus": cores, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
        except Exception as problem:  # Ray has no special error for a machine that is too busy
            reason = " ".join(str(problem).split())
            raise IncompatibleWorker(f"expected a running Ray cluster, got {cluster!r}: {reason:.200}") from None


class MainModulePickler(pickle.Pickler):
    """Pickles objects of a module that runs as `__main__` by the module's own name, because workers have another `__main__`."""

    def reducer_override(self, obj: Any) -> Any:
        """Returns the import that finds a function or class of that module."""
        main = sys.modules["__main__"]
        in_main = isinstance(obj, (type, FunctionType)) and obj.__module__ == "__main__"
        if in_main and main.__spec__ is not None:
            return named, (main.__spec__.name, obj.__qualname__)
        return NotImplemented


def named(module: str, name: str) -> Any:
    """Returns the object with a qualified name in a module."""
    return operator.attrgetter(name)(importlib.import_module(module))


def pickled(obj: Any) -> bytes:
    """Pickles an object for processes of the cluster."""
    stream = io.BytesIO()
    MainModulePickler(stream).dump(obj)
    return stream.getvalue()


class RayRef(Generic[T]):
    """Reference to an object in the cluster's memory; each machine fetches it once, each process unpickles it once."""

    def __init__(self, obj: T) -> None:
        self.ident = f"{ray.get_runtime_context().get_job_id()}-{next(_numbers)}"
        self.data = ray.put(pickled(obj))

    def get(self) -> T:
        """Returns the object."""
        return self._cached(lambda obj: None)

    def work(self) -> T:
        """Returns the object, which is the work; the first call also loads its code."""
        return self._cached(warm)

    def _cached(self, begin: Callable[[Any], None]) -> T:
        return cached(self.ident, lambda: pickle.loads(ray.get(self.data)), begin)


class RayExecutor(Executor[P, R]):
    """Runs pieces on the cores of a Ray cluster."""

    def __init__(self, work: Callable[[P], R]) -> None:
        """Checks versions and sources of each machine and warms it up."""
        self._required = identity(), added_modules()
        self._work = RayRef(work)
        self._task = ray.remote(num_cpus=1, max_retries=0)(task)
        self._pieces: dict[int, P] = {}
        self._keys: dict[Any, int] = {}
        self._losses: Counter[int] = Counter()
        self._checked_at = 0.0
        self._cores = 1
        self._check_machines()

    def _check_machines(self) -> None:
        """Checks and warms up every machine; raises IncompatibleWorker for the first that does not fit."""
        probe = ray.remote(num_cpus=1, max_retries=0)(_probe(*self._required))
        nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
        for call in (
            lambda on: probe.options(**on).remote(),
            lambda on: self._task.options(**on).remote(*self._required, self._work),
        ):
            tasks = [call({"scheduling_strategy": NodeAffinitySchedulingStrategy(n, soft=False)}) for n in nodes]
            for probed in tasks:
                try:
                    self._result(probed)
                except (*GONE, TaskUnschedulableError):  # the machine was just lost
                    continue
                except ImportError as missing:
                    raise IncompatibleWorker(str(missing)) from None

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Current number of cores of the cluster."""
        if time.monotonic() - self._checked_at > LOOK_SECONDS:
            self._checked_at, self._cores = time.monotonic(), max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self._cores

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        self._pieces[key] = piece
        self._keys[self._task.remote(*self._required, self._work, piece)] = key

    def next(self) -> tuple[int, R]:
        """Waits for a finished piece; returns its key and result."""
        while True:
            (task,), _ = ray.wait(list(self._keys), num_returns=1)
            key = self._keys.pop(task)
            try:
                result = self._result(task)
            except GONE as problem:
                self._losses[key] += 1
                self.repeated += 1
                if self._losses[key] > MOST_LOSSES:
                    reason = " ".join(str(problem).split())
                    raise WorkerLost(
                        f"expected work that leaves its process alive, got one lost {MOST_LOSSES} times: {reason:.200}"
                    ) from None
                self.submit(key, self._pieces[key])
            else:
                del self._pieces[key]
                self._losses.pop(key, None)
                return key, result

    @staticmethod
    def _result(task: Any) -> Any:
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

    def share(self, obj: T) -> Ref[T]:
        """Puts an object into the cluster's memory."""
        return RayRef(obj)


def _probe(versions: dict[str, str], modules: dict[str, str]) -> Callable[[], None]:
    """Returns a function that checks a machine; Ray sends it by value, because leafwise may be missing there."""

    def probe() -> None:
        try:
            from leafwise.training.execution.cluster import prepare
        except ImportError as missing:
            where = ray.util.get_node_ip_address()
            raise ImportError(
                f"expected leafwise {versions['leafwise']} on the machine {where}, got none: {missing}"
            ) from None
        prepare(versions, modules)

    return probe


def prepare(versions: dict[str, str], modules: dict[str, str]) -> None:
    """Checks versions and sources of this process at first use; raises IncompatibleWorker."""
    if (versions, modules) != _prepared.get("for"):
        where = f"the machine {ray.util.get_node_ip_address()}"
        register_added(modules, where)
        check_identity(versions, where)
        _prepared["for"] = versions, modules


def task(versions: dict[str, str], modules: dict[str, str], work: RayRef[Callable[[Any], Any]], *piece: Any) -> Any:
    """Runs a piece in a process of the cluster; without a piece it only warms the process up."""
    prepare(versions, modules)
    ready = work.work()
    return ready(piece[0]) if piece else None


_prepared: Json = {}
