"""What a fresh process takes to import leafwise, to refuse a command line, and to answer a first search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from leafwise.envs.core.errors import UserError

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

SCRIPT = """
import json, time
start = time.perf_counter()
import leafwise
imported = time.perf_counter()
game = leafwise.game({name!r}, **{options!r})
leafwise.Search(game, game.score(), depth=2)(game.new(1))
print(json.dumps([imported - start, time.perf_counter() - imported]))
"""
RUNS = 3
COMPARED = {
    "import leafwise / import gymnasium": (("-c", "import leafwise"), ("-c", "import gymnasium")),
    "leafwise --help / import tyro": (("-m", "leafwise", "--help"), ("-c", "import tyro")),
    "leafwise eval --help / import tyro": (("-m", "leafwise", "eval", "--help"), ("-c", "import tyro")),
    "a wrong option / import tyro": (
        ("-m", "leafwise", "eval", "threes", "random", "--wrong", "1"),
        ("-c", "import tyro"),
    ),
    "an unknown game / import tyro": (("-m", "leafwise", "eval", "threse", "random"), ("-c", "import tyro")),
}
"""What is compared -> the arguments of two Python processes."""
ROUNDS = 10


def bench_start(game: Game, seconds: float = 0.0) -> dict[str, float]:
    """Returns seconds, the least of three fresh processes with compiled code in the cache; `seconds` has no effect."""
    script = SCRIPT.format(name=game.name, options=game.given_options)
    times: list[list[float]] = []
    for _ in range(RUNS + 1):  # the first fills the cache
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        times.append(json.loads(done.stdout))
    return {
        "import_seconds": min(t[0] for t in times[1:]),
        "first_search_seconds": min(t[1] for t in times[1:]),
    }


def start_ratios() -> dict[str, float]:
    """Returns how much processor time starts of leafwise take, as multiples of what they are compared with.

    Each is the least of ten fresh processes, taken in turns, so that the load of the machine meets all alike. All find their
    modules compiled, as where a package is installed.
    """
    processes = list(dict.fromkeys(process for pair in COMPARED.values() for process in pair))
    least = dict.fromkeys(processes, float("inf"))
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(ROUNDS):
            for process in processes:
                least[process] = min(least[process], processor_seconds(process, environment))
    return {name: least[own] / least[other] for name, (own, other) in COMPARED.items()}


def processor_seconds(arguments: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Returns the processor time of one Python process; raises ValueError where the system does not tell."""
    try:
        import resource
    except ModuleNotFoundError:
        raise UserError("expected a system that tells the processor time of processes, got Windows") from None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    subprocess.run([sys.executable, *arguments], env=environment, stdout=quiet, stderr=quiet, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
