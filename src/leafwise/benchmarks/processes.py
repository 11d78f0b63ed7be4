"""Times of fresh processes: to import leafwise, to refuse a command line, to do a first search, and to compile one.

Compilation is measured on the search of Connect Four, as `envs/core/compile` links it and by numba alone
(`LEAFWISE_PLAIN_NUMBA=1`). Plain numba caches nothing: its second process compiles again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from leafwise.envs.core.errors import UserError

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

FIRST_SEARCH = """
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
"""Name of a comparison -> the arguments of two Python processes."""
ROUNDS = 10


def answer_of(script: str, environment: Mapping[str, str] = os.environ) -> Any:
    """Returns the JSON that a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def start_seconds(game: Game) -> dict[str, float]:
    """Returns wall seconds by name, the minimum of three fresh processes with compiled code in the cache."""
    script = FIRST_SEARCH.format(name=game.name, options=game.given_options)
    times = [answer_of(script) for _ in range(RUNS + 1)][1:]  # the first fills the cache
    least = [min(column) for column in zip(*times, strict=True)]
    return dict(zip(("import_seconds", "first_search_seconds"), least, strict=True))


def start_ratios() -> dict[str, float]:
    """Returns the processor time of starts of leafwise, as multiples of the compared processes.

    Each is the minimum of ten fresh processes, timed in turns, so that the load of the machine affects all alike. All use compiled
    modules, as in an installed package.
    """
    processes = list(dict.fromkeys(process for pair in COMPARED.values() for process in pair))
    least = dict.fromkeys(processes, float("inf"))
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(ROUNDS):
            for process in processes:
                least[process] = min(least[process], processor_seconds(process, environment))
    return {name: least[ours] / least[other] for name, (ours, other) in COMPARED.items()}


def processor_seconds(arguments: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Returns the processor time of one Python process; raises ValueError if the system does not report it."""
    try:
        import resource
    except ModuleNotFoundError:
        raise UserError("expected a system that reports the processor time of processes, got Windows") from None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    subprocess.run([sys.executable, *arguments], env=environment, stdout=quiet, stderr=quiet, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


COMPILED_SEARCH = """
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
"""Way to compile -> its environment variables."""


def compile_costs(tell: Callable[[str], object]) -> dict[str, float]:
    """Returns the costs of compilation by name; `tell` gets a line before each measurement, which takes minutes.

    The costs are processor seconds until searches are ready, in a first and in a second process, milliseconds of a search of depth
    1, and megabytes of peak memory. Raises ValueError if the system does not report a process's memory.
    """
    if sys.platform == "win32":
        raise UserError("expected a system that reports the memory of processes, got Windows")
    costs: dict[str, float] = {}
    for form, variables in FORMS.items():
        tell(f"compiling the search of Connect Four {form}, twice: up to two minutes")
        with tempfile.TemporaryDirectory() as folder:  # an empty cache
            environment = {**os.environ, "LEAFWISE_CACHE_DIR": folder, **variables}
            first, second = (answer_of(COMPILED_SEARCH, environment) for _ in range(2))
        costs |= {
            f"seconds until it is ready, {form}": first[0],
            f"seconds in a second process, {form}": second[0],
            f"milliseconds of a search of depth 1, {form}": second[1],
            f"MB of memory, {form}": second[2],
        }
    return costs
