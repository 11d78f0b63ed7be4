"""Waiting times of the page of `leafwise web`: for an answer on an open connection, and for a click in each variant.

A click is one move with the following chance, as the page requests it, in a process with the rules loaded.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import games, ids_of

TIMES = 100
"""Repeats of answers and clicks; the fastest counts."""


def least(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Returns the minimum time of some work in milliseconds."""
    times = []
    for _ in range(TIMES):
        start = clock()
        work()
        times.append(clock() - start)
    return 1000 * min(times)


@contextmanager
def served() -> Iterator[str]:
    """Runs `leafwise web` and yields its host and port; raises ValueError without the extra `web`."""
    if find_spec("uvicorn") is None:
        raise UserError("expected uvicorn for leafwise web, found none: pip install 'leafwise[web]'")
    command = [sys.executable, "-m", "leafwise", "web", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield urlsplit(process.stdout.readline().split()[-1]).netloc
        finally:
            process.terminate()


def connection_waits() -> dict[str, float]:
    """Returns the wall time of a small answer on an open connection in ms, and its ratio to a new connection."""
    with served() as address:
        kept = HTTPConnection(address)

        def ask(connection: HTTPConnection) -> None:
            connection.request("POST", "/api/state", json.dumps({"game": "trilobite"}))
            connection.getresponse().read()

        def ask_anew() -> None:
            connection = HTTPConnection(address)
            ask(connection)
            connection.close()

        ask(kept)  # loads the rules
        milliseconds = least(lambda: ask(kept), time.perf_counter)
        anew = least(ask_anew, time.perf_counter)
        kept.close()
    return {
        "ms, an answer on a kept-open connection": milliseconds,
        "an answer on a kept-open connection / on a new one": milliseconds / anew,
    }


def click(game: str, options: dict[str, Any]) -> Callable[[], object]:
    """Returns a function that makes a click in a new game with its rules loaded."""
    from leafwise.web.games import tell_state
    from leafwise.web.requests import StateRequest
    from leafwise.web.workers import JobContext

    context = JobContext(lambda message: None)
    first = tell_state(StateRequest(game=game, options=options, seed=1), context)
    request = StateRequest(game=game, options=options, text=first["text"], moves=first["actions"][:1], seed=2)
    return lambda: tell_state(request, context)


def web_waits() -> dict[str, float]:
    """Returns waiting times by name; clicks also as a ratio to the game's first variant."""
    waits = connection_waits()
    for game in games():
        usual = ""
        for name, options in ids_of(game).items():
            waits[f"ms of the processor, a click in {name}"] = now = least(
                click(game, dict(options)), time.process_time
            )
            if usual:
                waits[f"a click in {name} / in {usual}"] = now / waits[f"ms of the processor, a click in {usual}"]
            usual = usual or name
    return waits
