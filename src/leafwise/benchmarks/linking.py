"""What `envs/core/compile` saves: the search of Connect Four as it compiles it, and by numba alone (`LEAFWISE_PLAIN_NUMBA=1`).

Both in fresh processes, the first of which find an empty cache. Plain numba keeps nothing: its second process compiles again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from leafwise.envs.core.errors import UserError

SCRIPT = """
import json, resource, sys, time
import leafwise
game = leafwise.game("trilobite", board="7x6", k=4)
state, leaf = game.start(), game.score()
start = time.process_time()
searches = [leafwise.Search(game, leaf, depth, pruning=pruning) for depth, pruning in ((1, True), (4, True), (4, False))]
for search in searches:
    search(state)
ready = time.process_time() - start
times = []
for _ in range(20):
    start = time.perf_counter()
    searches[0](state)
    times.append(time.perf_counter() - start)
per_mb = 1 << 20 if sys.platform == "darwin" else 1 << 10
print(json.dumps([ready, 1e3 * min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mb]))
"""
FORMS = {"linked": {}, "by plain numba": {"LEAFWISE_PLAIN_NUMBA": "1"}}
"""How code is compiled -> the environment variables that ask for it."""


def bench_compile(tell: Callable[[str], object] = print) -> dict[str, float]:
    """Returns processor seconds until searches are ready, in a first and in a second process, milliseconds of a search of depth 1,
    and megabytes of memory at the peak; says first what it begins, since it takes minutes.

    Raises ValueError where the system does not tell a process's memory.
    """
    if sys.platform == "win32":
        raise UserError("expected a system that tells the memory of processes, got Windows")
    found: dict[str, float] = {}
    for form, variables in FORMS.items():
        tell(f"compiling the search of Connect Four {form}, twice: up to two minutes")
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(Path(folder) / "cache"), **variables}
            first, second = (_measured(environment) for _ in range(2))
        found |= {
            f"seconds until it is ready, {form}": first[0],
            f"seconds in a second process, {form}": second[0],
            f"milliseconds of a search of depth 1, {form}": second[1],
            f"MB of memory, {form}": second[2],
        }
    return found


def _measured(environment: dict[str, str]) -> list[float]:
    """Returns what a fresh process measures of itself."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    found: list[float] = json.loads(done.stdout)
    return found
