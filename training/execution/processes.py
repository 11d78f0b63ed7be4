"""Runs pieces in processes of this machine, with `concurrent.futures`. If one is killed, its pieces run again.

`cached` and `warm` run in the workers: shared objects are loaded once, and code is compiled once on a machine.
"""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

from leafwise.envs.core.files import mapped, open_itself
from leafwise.envs.core.waiting import speak
from leafwise.training.execution.executor import Executor, P, R, Ref, WorkerLost
from leafwise.training.runs.files import HELD, lock_file
from leafwise.training.types import Json

KEPT = 8
"""Number of shared objects that a worker keeps; it drops the least recently used."""
LOCK = "warm.lock"
"""The file in the cache folder that is locked while the first of a machine's workers compiles."""
POLL = 0.1
"""Seconds between two attempts to take that lock."""
_kept: OrderedDict[str, Any] = OrderedDict()


def cached(ident: str, fetch: Callable[[], Any], begin: Callable[[Any], None] = lambda obj: None) -> Any:
    """Returns an object by its name; fetches it and calls `begin` on it at first use."""
    if ident not in _kept:
        obj = fetch()
        begin(obj)
        _kept[ident] = obj
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(ident)
    return _kept[ident]


def warm(work: Any) -> None:
    """Calls the work's method `warm`, if it has one, so that it loads its code.

    Of several processes on a machine that start together one compiles. The others wait and load its code from the cache.
    """
    load = getattr(work, "warm", None)
    if load is None:
        return
    from leafwise.envs.core.compile.cache import cache_root

    try:
        root = cache_root()
        root.mkdir(parents=True, exist_ok=True)
        handle = open_itself(root / LOCK)
    except OSError as problem:  # nothing can be written there; the cache warns about it
        if problem.errno == errno.ELOOP:
            warnings.warn(f"workers compile at the same time: {problem}", stacklevel=2)
        load()
        return
    waited = False
    with open(handle, "wb"):
        while not _locked(handle, root / LOCK):
            waited = True
            time.sleep(POLL)
        if not waited:
            speak()
            load()
    if waited:  # without the lock: all load from the cache at the same time
        load()


def _locked(handle: int, path: Path) -> bool:
    """Tries to lock a file; returns whether it succeeded."""
    try:
        lock_file(handle)
    except OSError as problem:
        if problem.errno not in HELD:
            raise OSError(problem.errno, problem.strerror, str(path)) from None
        return False
    return True


T = TypeVar("T")
MOST_BREAKS = 5
"""Maximum number of times in a row that processes may end without finishing a piece."""
LARGE = 1 << 16
"""Larger results, in bytes, are passed in files. A pipe holds no more than this: its writer would wait for the reader, and so would
all other workers that have a result."""
ALIGNED = 64
"""Arrays begin at a multiple of this number of bytes in a file."""
_numbers = itertools.count()
_work: list[Any] = []
"""In a worker process: [the work, pickled until the first piece comes, the folder for large results]."""


class PickledRef(Generic[T]):
    """Reference to an object in a temporary file, which is removed when this process drops the reference.

    Each worker reads the file once. Arrays are mapped from the file, so that all processes share their memory (`mapped`).
    """

    def __init__(self, obj: T) -> None:
        self.ident = f"{os.getpid()}-{next(_numbers)}"
        arrays: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(obj, protocol=5, buffer_callback=arrays.append)
        self.spans: list[tuple[int, int]] = []
        handle, self.path = tempfile.mkstemp(prefix="leafwise-shared-")
        with os.fdopen(handle, "wb") as file:
            for part in (memoryview(pickled), *(array.raw() for array in arrays)):
                file.write(bytes(-file.tell() % ALIGNED))
                start = file.tell()
                file.write(part)
                self.spans.append((start, file.tell()))
        weakref.finalize(self, Path(self.path).unlink, missing_ok=True)

    def __getstate__(self) -> Json:
        return {"ident": self.ident, "path": self.path, "spans": self.spans}

    def get(self) -> T:
        """Returns the object."""
        return cached(self.ident, self._fetch)

    def _fetch(self) -> T:
        memory = mapped(Path(self.path))
        pickled, *arrays = (memory[start:end] for start, end in self.spans)
        return pickle.loads(pickled, buffers=arrays)


class ProcessExecutor(Executor[P, R]):
    """Runs pieces in a number of processes, which are started as needed."""

    def __init__(self, work: Callable[[P], R], slots: int) -> None:
        self.slots, self._pickled = slots, pickle.dumps(work)
        self._pieces: dict[int, P] = {}
        self._keys: dict[Future[bytes | str], int] = {}
        self._breaks = 0
        self._folder = tempfile.TemporaryDirectory(prefix="leafwise-results-", ignore_cleanup_errors=True)
        self._open()

    def _open(self) -> None:
        context = get_context("spawn")
        end, self._leash = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self.slots, context, initializer=_begin, initargs=(end, self._pickled, self._folder.name)
        )
        self._end: Connection = end

    def _close(self) -> None:
        """Kills the processes."""
        self._leash.close()
        self._pool.shutdown(cancel_futures=True)  # waits for the pool's thread, which cleans up
        self._end.close()

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        self._pieces[key] = piece
        while True:
            try:
                self._keys[self._pool.submit(_done, piece)] = key
            except BrokenProcessPool:
                self._begin_again()
            else:
                return

    def next(self) -> tuple[int, R]:
        """Waits for a finished piece; returns its key and result."""
        while True:
            for future in wait(self._keys, return_when=FIRST_COMPLETED).done:
                try:
                    answer = future.result()
                except BrokenProcessPool:
                    continue
                self._breaks = 0
                key = self._keys.pop(future)
                del self._pieces[key]
                if isinstance(answer, bytes):
                    return key, pickle.loads(answer)
                file = Path(answer)
                result = pickle.loads(file.read_bytes())
                file.unlink()
                return key, result
            self._begin_again()

    def _begin_again(self) -> None:
        """Starts new processes for unfinished pieces; raises WorkerLost after repeated failures."""
        self._breaks += 1
        if self._breaks > MOST_BREAKS:
            raise WorkerLost(
                f"expected work that leaves its process alive, got {self._breaks} processes that ended in a row"
            )
        self._close()
        done = {f: key for f, key in self._keys.items() if f.done() and not f.cancelled() and f.exception() is None}
        lost = [key for future, key in self._keys.items() if future not in done]
        self.repeated += len(lost)
        self._keys = done
        self._open()
        for key in lost:
            self._keys[self._pool.submit(_done, self._pieces[key])] = key

    def cancel(self, *keys: int) -> None:
        """Starts no more pieces; the results of running ones are dropped."""
        for future, key in list(self._keys.items()):
            if not keys or key in keys:
                future.cancel()
                del self._keys[future], self._pieces[key]

    def shutdown(self) -> None:
        """Ends the processes."""
        self._close()
        self._folder.cleanup()
        self._pieces.clear()
        self._keys.clear()

    def share(self, obj: T) -> Ref[T]:
        """Returns a reference to an object for use in pieces."""
        return PickledRef(obj)


def end_with(gone: Callable[[], object]) -> None:
    """Leaves Ctrl-C to the parent process, and ends this process when `gone` returns or fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait_for_it() -> None:
        with suppress(EOFError, OSError):
            gone()
        os._exit(1)

    threading.Thread(target=wait_for_it, daemon=True).start()


def _begin(end: Connection, pickled: bytes, folder: str) -> None:
    """Runs in a new process, which ends when its parent closes the other end of a pipe or is gone."""
    end_with(end.recv_bytes)
    _work.extend((pickled, folder))


def _done(piece: Any) -> bytes | str:
    """Runs a piece (the first one loads the work and its code); returns the pickled result or a file with it."""
    if isinstance(_work[0], bytes):
        work = pickle.loads(_work[0])
        warm(work)
        _work[0] = work
    result = pickle.dumps(_work[0](piece), protocol=pickle.HIGHEST_PROTOCOL)
    if len(result) <= LARGE:
        return result
    handle, path = tempfile.mkstemp(dir=_work[1])
    with os.fdopen(handle, "wb") as file:
        file.write(result)
    return path
