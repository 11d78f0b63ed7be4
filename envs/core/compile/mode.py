"""How this process compiles: with functions linked and kept on disk, plainly, or not at all.

Linking builds on numba's inner parts, which may change with any version. They are checked once for each version of numba;
where they are not as expected, or `LEAFWISE_PLAIN_NUMBA` is set, everything is compiled by numba's own means: it answers the
same, but more slowly, and compiles at every start.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import llvmlite
import numba

from leafwise.envs.core.compile.cache import cache_root
from leafwise.envs.core.files import open_itself

config: Any = numba.config
DISABLED = bool(config.DISABLE_JIT)
BOUNDSCHECK = bool(config.BOUNDSCHECK)
"""Whether compiled code checks every index, and takes a negative one for a mistake (slow; for tests and `check_game`)."""

COMMON: dict[str, Any] = {"error_model": "numpy", "nogil": True}
# No reference counting: an allocation in compiled code becomes a compile error, and array arguments cost nothing.
# With index checks on, numba needs the runtime for its exceptions.
AS_PLAYED: dict[str, Any] = {**COMMON, "_nrt": False, "no_cfunc_wrapper": True, "boundscheck": None}
INDEX_CHECKED: dict[str, Any] = {**AS_PLAYED, "_nrt": True, "boundscheck": True}
FLAGS = INDEX_CHECKED if BOUNDSCHECK else AS_PLAYED


def _is_as_expected() -> bool:
    """Whether numba's inner parts do what linking asks of them; checked by use, and remembered in the cache."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    try:
        known = cache_root() / f"numba-{numba.__version__}-{digest.hexdigest()[:16]}"
        if known.exists():
            return True
    except OSError:  # no cache, or none that may be read: checked at every start
        known = None
    try:
        from leafwise.envs.core.compile.linking import check_numba

        with tempfile.TemporaryDirectory() as folder:
            check_numba(Path(folder), FLAGS)
    except Exception as problem:
        warnings.warn(
            f"numba {numba.__version__}: expected the inner parts that fast compilation builds on, got {problem!r}; everything "
            "is compiled plainly, runs more slowly, and is compiled again at every start",
            stacklevel=2,
        )
        return False
    try:
        if known is not None:
            known.parent.mkdir(parents=True, exist_ok=True)
            os.close(open_itself(known))
    except OSError:  # checked again next time
        pass
    return True


PLAIN = not DISABLED and (bool(os.environ.get("LEAFWISE_PLAIN_NUMBA")) or not _is_as_expected())
"""Whether numba's own means alone are used."""


@functools.cache
def refuse_negative_indices() -> None:
    """Lets numba leave negative indices as they are where it checks them, and refuse them: no row is counted from the end."""
    from numba.np import arrayobj

    before, cast = arrayobj.fix_integer_index, arrayobj.fix_integer_index.__globals__["types"].intp

    def as_it_is(context, builder, kind, index, size):
        if context.enable_boundscheck:
            return context.cast(builder, index, kind, cast)
        return before(context, builder, kind, index, size)

    arrayobj.fix_integer_index = as_it_is


if BOUNDSCHECK and not DISABLED:
    refuse_negative_indices()
