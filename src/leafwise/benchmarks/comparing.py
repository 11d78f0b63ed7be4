"""Measures two versions of leafwise in turns, and says what has become slower by more than the noise.

Each round asks both for one measurement, now one first, now the other, and gives the ratio of their processor times. The middle of
the rounds' ratios is told, with the interval in which the true one lies however the noise is distributed (of eleven rounds the
second to the tenth: 98.8 %, by the sign test). Slower is what lies above 1 with its whole interval.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import IO, Any

from leafwise.benchmarks import probe
from leafwise.benchmarks.versions import Version, version_of
from leafwise.envs.core.contract.game import Game
from leafwise.models.files import model_path, shipped_name
from leafwise.search import Search

ROUNDS, OUTERMOST = 11, 1
"""Rounds, and how many ratios at either end lie outside the interval."""
SEARCH_SECONDS = 0.005
"""Searches are measured at the first depth at which one takes as long here."""
DEEPEST = 12


@dataclass(frozen=True)
class Compared:
    """One measurement of two versions: processor seconds of a unit, and the ratio of now to before."""

    before: float
    now: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or "" where the noise may be all."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else ""


class Probe:
    """A process that measures with one version."""

    def __init__(self, version: Version, question: tuple[Any, ...], folder: str, told: IO[str]) -> None:
        code = f"{inspect.getsource(probe)}\nmain(*{question!r})"
        self._told = told
        self._process = subprocess.Popen(
            [version.interpreter, "-c", code], env=version.environment, cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True,
        )  # fmt: skip

    def ask(self, name: str, seconds: float) -> float:
        """Returns the processor time of a unit; raises ValueError if it cannot be measured."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"name": name, "seconds": seconds}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._told.seek(0)
            raise ValueError((self._told.read().strip().splitlines() or ["the process ended"])[-1])
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        return float(answer["time"])

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def search_depths(game: Game) -> dict[str, int]:
    """Returns the leaves that are measured, and how deep: the default score, and the shipped network where there is one."""
    depths = {game.default_score: depth_for(Search, game, game.score())}
    if model_path(shipped_name(game)).exists():
        from leafwise.models.files import load_evaluator

        name = shipped_name(game)
        depths[f"load:{name}"] = depth_for(Search, game, load_evaluator(game, name))
    return depths


def depth_for(search: Callable[..., Any], game: Game, leaf: Any) -> int:
    """Returns the first depth at which a search of the start takes SEARCH_SECONDS of processor time."""
    state = game.new(0)
    for depth in range(1, DEEPEST):
        found = search(game, leaf, depth=depth)
        found(state)  # compiles
        start = process_time()
        found(state)
        if process_time() - start >= SEARCH_SECONDS:
            return depth
    return DEEPEST


@contextlib.contextmanager
def both(what: str, question: tuple[Any, ...]) -> Iterator[tuple[Probe, Probe]]:
    """Yields the probes of the version named and of this one."""
    with version_of(what) as other, contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        probes = []
        for version in (other, Version(sys.executable)):
            told = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            probes.append(Probe(version, question, folder, told))
            stack.callback(probes[-1].close)
        yield probes[0], probes[1]


def compare(
    game: Game, what: str, seconds: float, tell: Callable[[str, Compared | str], None], rounds: int = ROUNDS
) -> dict[str, Compared]:
    """Returns what was measured by name, and tells it as it goes; where one version cannot be measured, why.

    `seconds` is the processor time of one measurement. Raises ValueError if `what` names no version.
    """
    if not game.ids:
        raise ValueError(f"{game.name}: expected a game with environment ids, got none")
    depths = search_depths(game)
    found: dict[str, Compared] = {}
    with both(what, (game.name, dict(game.given_options), id_of(game), depths)) as probes:
        for name in ("step", "batch_64", *(f"search {leaf}" for leaf in depths)):
            try:
                found[name] = measured(probes, name, seconds, rounds)
            except ValueError as problem:
                tell(name, f"not measured: {problem}")
                continue
            tell(name, found[name])
    return found


def id_of(game: Game) -> str:
    """Returns the environment id of a game with its options; raises ValueError where there is none."""
    for name, options in game.ids.items():
        if dict(options) == dict(game.given_options):
            return f"leafwise/{name}-v0"
    raise ValueError(f"{game.name}: expected the options of one of {', '.join(game.ids)}, got {game!r}")


def measured(probes: tuple[Probe, Probe], name: str, seconds: float, rounds: int = ROUNDS) -> Compared:
    """Measures both in turns."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):  # the first compiles
        answers = {k: probes[k].ask(name, seconds if turn else 0.0) for k in ((0, 1), (1, 0))[turn % 2]}
        times.append((answers[0], answers[1]))
    return judged(times[1:])


def judged(times: Sequence[tuple[float, float]]) -> Compared:
    """Returns the middle ratio of rounds (before, now), and its interval."""
    ratios = sorted(now / before for before, now in times)
    outside = OUTERMOST if len(ratios) > 2 * OUTERMOST else 0
    return Compared(
        min(before for before, _ in times), min(now for _, now in times),
        median(ratios), ratios[outside], ratios[-1 - outside],
    )  # fmt: skip
