"""How long a fresh process takes to import leafwise and to answer a first search."""

from __future__ import annotations

import json
import subprocess
import sys

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
