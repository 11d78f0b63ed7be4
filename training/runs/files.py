"""Reads the files of a run folder without its learner, also while the run continues: lock, options, curves."""

from __future__ import annotations

import errno
import importlib.util
import math
import os
import socket
import sys
import time
import tomllib
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.files import open_itself, read_text

if TYPE_CHECKING:
    from leafwise.training.types import Json

LOCK = "run.lock"
"""The lock file in a run folder. It stays after the run and names the last process that held it."""
FAR = 1 << 20
"""Offset of the byte that Windows locks, far behind the text, because a locked byte cannot be read."""
GLANCE_SECONDS = 0.05
"""Longer than `is_held` holds the lock, in seconds."""
HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""Error numbers for a lock that another process holds."""


class FolderLock:
    """Lock of a run folder, held until `release` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder if needed and locks it.

        Raises ValueError that names the process which holds the lock, and OSError if the file cannot be locked, for example a link.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOCK
        handle = open_itself(path)
        self.release = weakref.finalize(self, os.close, handle)
        """Releases the lock."""
        try:
            try:
                lock_file(handle)
            except OSError:
                time.sleep(GLANCE_SECONDS)  # `is_held` of another process may hold it for a moment
                lock_file(handle)
        except OSError as problem:
            self.release()
            if problem.errno not in HELD:
                raise OSError(problem.errno, problem.strerror, str(path)) from None
            holder = read_text(path, errors="replace").strip() or "another process"
            raise UserError(
                f"expected a run that no other process writes, got {str(folder)!r}, written by {holder}"
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


if sys.platform == "win32":
    import msvcrt

    def lock_file(handle: int) -> None:
        """Locks an open file, or raises OSError at once."""
        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def lock_file(handle: int) -> None:
        """Locks an open file, or raises OSError at once."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_held(folder: Path) -> bool:
    """Whether a live process holds the lock of a run folder."""
    try:
        handle = open_itself(folder / LOCK, os.O_RDWR)
    except OSError:  # without a lock file there was no run
        return False
    try:
        lock_file(handle)
    except OSError as problem:
        return problem.errno in HELD
    finally:
        os.close(handle)
    return False


CONFIG = "config.toml"
"""The options of a run in its folder."""


def read_table(path: Path) -> Json:
    """Returns the table of a TOML file; raises ValueError with the file's name if it is broken."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as problem:
        raise UserError(f"expected a file of options, got {str(path)!r}: {problem.strerror}") from None
    except RecursionError:
        raise UserError(f"expected options in TOML, got {str(path)!r}: nested too deep") from None
    except ValueError as problem:
        raise UserError(f"expected options in TOML, got {str(path)!r}: {short(problem)}") from None


def config_file(folder: Path) -> Path | None:
    """Returns the options file of the run in a folder, None without a run."""
    return folder / CONFIG if (folder / CONFIG).exists() else None


def resumed_file(folder: Path) -> Path:
    """Returns the options file of the run to resume; raises ValueError for a folder without a run."""
    if (file := config_file(folder)) is None:
        raise UserError(f"expected a run to resume in {str(folder)!r}, found no {CONFIG}")
    return file


POINTS = 500
"""Maximum number of points of a curve."""
KEPT = 4000
"""Maximum number of points of a curve in memory; TensorBoard samples them at random from longer curves."""
LARGEST = 1 << 28
"""Maximum size of the events of a run, in bytes; a run of days writes a few MB."""

Curve = list[tuple[int, float]]


def run_folders(root: Path) -> dict[str, Path]:
    """Returns the run folders in `root` by name, without links and folders that contain links."""
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if _is_run(path)}


def _is_run(path: Path) -> bool:
    """Whether a path is a readable run folder without links."""
    try:
        links = path.is_symlink() or (path.is_dir() and any(one.is_symlink() for one in path.iterdir()))
        return not links and config_file(path) is not None
    except OSError:
        return False


def options_of(folder: Path) -> Json:
    """Returns a run's options; raises ValueError for a folder without a run or with a broken options file."""
    file = config_file(folder)
    if file is None:
        raise UserError(f"expected a run folder, got {str(folder)!r}")
    return read_table(file)


def last_written(folder: Path) -> float:
    """Returns the time of the last write in a run folder, in seconds since 1970; 0 for an empty folder."""
    times = []
    for path in folder.iterdir():
        try:
            times.append(path.stat().st_mtime)
        except FileNotFoundError:  # another process renamed it
            continue
    return max(times, default=0.0)


def thinned(points: Curve, most: int = POINTS) -> Curve:
    """Thins a curve to a maximum number of points; keeps the first and the last."""
    if len(points) <= most:
        return points
    import numpy as np  # slow to import

    return [points[k] for k in np.linspace(0, len(points) - 1, most).round().astype(int)]


class Curves:
    """Learning curves of a run, which may still continue. Steps that a resumed run repeats count once."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError without TensorBoard, or if the files are larger than a run writes."""
        if importlib.util.find_spec("tensorboard") is None:
            raise UserError("expected tensorboard to read the logs of runs, found none: pip install 'leafwise[ntuple]'")
        size = sum(path.stat().st_size for path in folder.glob("events.out.tfevents.*"))
        if size > LARGEST:
            raise UserError(f"expected at most {LARGEST >> 20} MB of events, got {size >> 20} MB in {str(folder)!r}")
        from tensorboard.backend.event_processing.event_accumulator import (
            COMPRESSED_HISTOGRAMS,
            HISTOGRAMS,
            IMAGES,
            SCALARS,
            EventAccumulator,
        )

        few = {IMAGES: 1, HISTOGRAMS: 1, COMPRESSED_HISTOGRAMS: 1}
        self.folder, self._events = folder, EventAccumulator(str(folder), {SCALARS: KEPT, **few})

    def read(self) -> dict[str, Curve]:
        """Returns the finite (step, number) pairs written so far by tag, steps ascending."""
        try:
            self._events.Reload()
        except Exception as problem:  # the parser raises many kinds of errors for a damaged file
            raise UserError(f"expected TensorBoard's events in {str(self.folder)!r}: {short(problem)}") from None
        curves = {}
        for tag in sorted(self._events.Tags()["scalars"]):
            points = [(int(one.step), float(one.value)) for one in self._events.Scalars(tag)]
            curves[tag] = thinned([point for point in points if math.isfinite(point[1])])
        return curves
