"""What happens where the work is done: things arrive once, and code is compiled once a machine."""

from __future__ import annotations

import errno
import os
import pickle
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leafwise.envs.core.files import open_itself
from leafwise.training.runs.lock import HELD, lock_file

KEPT = 8
"""Things that a worker keeps; the one that was not asked for the longest goes first."""
LOCK = "warm.lock"
"""The file in the cache folder that is locked while the first of a machine's workers compiles."""
POLL = 0.1
"""Seconds between two looks at that lock."""
_kept: OrderedDict[str, Any] = OrderedDict()


def known(ident: str, fetch: Callable[[], bytes], begin: Callable[[Any], None] = lambda thing: None) -> Any:
    """Returns a thing by its name; the first time here it is fetched, unpickled and begun."""
    if ident not in _kept:
        thing = pickle.loads(fetch())
        begin(thing)
        _kept[ident] = thing
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(ident)
    return _kept[ident]


def warm(work: Any) -> None:
    """Has work load the code that it needs, by its method `warm` where it has one.

    Of those that come at once on a machine one compiles, and the others find what it has left in the cache.
    """
    load = getattr(work, "warm", None)
    if load is None:
        return
    from leafwise.envs.core.compile.cache import cache_root

    try:
        root = cache_root()
        root.mkdir(parents=True, exist_ok=True)
        handle = open_itself(root / LOCK)
    except OSError as problem:  # where nothing can be kept there, the cache says so
        if problem.errno == errno.ELOOP:
            warnings.warn(f"workers compile at the same time: {problem}", stacklevel=2)
        load()
        return
    try:
        first = True
        while not _locked(handle, root / LOCK):
            first = False
            time.sleep(POLL)
        if not first:
            os.close(handle)  # before loading: the others need not wait for that
            handle = -1
        load()
    finally:
        if handle >= 0:
            os.close(handle)


def _locked(handle: int, path: Path) -> bool:
    """Locks a file, if no other holds it; returns whether."""
    try:
        lock_file(handle)
    except OSError as problem:
        if problem.errno not in HELD:
            raise OSError(problem.errno, problem.strerror, str(path)) from None
        return False
    return True
