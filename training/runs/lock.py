"""One writer at a time: a lock on a run folder, held by the system for a process and gone with it, however it ends."""

from __future__ import annotations

import errno
import os
import socket
import sys
import weakref
from pathlib import Path

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import open_itself, read_text

LOCK = "run.lock"
"""The file in a run folder that is locked; it stays, and says which process held it last."""
FAR = 1 << 20
"""Where Windows locks a byte of it: nobody else can read what is locked there."""
HELD = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""What the system says of a lock that another holds."""


class FolderLock:
    """The lock of a run folder, held until `release`, or until the process ends."""

    def __init__(self, folder: Path) -> None:
        """Takes the lock of a folder, which is made if need be; raises ValueError that names the process that holds it.

        OSError for one that cannot be had, as where the lock's file is a link.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / LOCK
        handle = open_itself(path)
        self.release = weakref.finalize(self, os.close, handle)
        """Lets another have the folder."""
        try:
            lock_file(handle)
        except OSError as problem:
            self.release()
            if problem.errno not in HELD:
                raise OSError(problem.errno, problem.strerror, str(path)) from None
            holder = read_text(path, errors="replace").strip() or "another process"
            raise UserError(f"expected a run that is not going on, {str(folder)!r} is written by {holder}") from None
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
