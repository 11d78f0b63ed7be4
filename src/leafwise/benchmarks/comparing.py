"""Measures two versions of leafwise in turns, and says what has become slower by more than the noise.

Each round asks both for one measurement, now one first, now the other; `judging` says what follows from their ratios.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from leafwise.benchmarks import probe
from leafwise.benchmarks.beside import beside
from leafwise.benchmarks.judging import ROUNDS, Compared, judged
from leafwise.benchmarks.measurements import SEARCH, WARMUP, names_of, search_depths, texts_of
from leafwise.benchmarks.versions import Version, version_of
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.programs import NoAnswer, Program, Refused

WARM_UPS = {"warmup": ("",), "warmup without hooks": ("--no-hooks", "")}
"""What is compiled into an empty cache, once each -> options of `leafwise warmup` that say it, the first that a version knows."""


class Probe(Program):
    """A process that measures with one version."""

    def __init__(self, version: Version, question: tuple[Any, ...], folder: str) -> None:
        code = f"{inspect.getsource(probe)}\nmain(*{question!r})"
        super().__init__([version.interpreter, "-c", code], folder, version.environment)

    def measure(self, name: str, seconds: float) -> float:
        """Returns the processor time of a unit; raises ValueError if it cannot be measured."""
        try:
            return float(self.ask({"name": name, "seconds": seconds})["time"])
        except Refused as problem:
            raise UserError(str(problem)) from None
        except NoAnswer:
            raise UserError(*(self.last_lines(1) or ["the process ended"])) from None


@contextlib.contextmanager
def both(what: str, question: tuple[Any, ...]) -> Iterator[tuple[Probe, Probe]]:
    """Yields the probes of the version named and of this one."""
    with version_of(what) as other, contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        first = stack.enter_context(Probe(other, question, folder))
        yield first, stack.enter_context(Probe(Version(sys.executable), question, folder))


def compare(
    game: Game,
    what: str,
    seconds: float,
    tell: Callable[[str, Compared | str], None],
    rounds: int = ROUNDS,
    part: str = "",
) -> dict[str, Compared]:
    """Returns what was measured by name, and tells it as it goes; where one version cannot be measured, why.

    `seconds` is the processor time of one measurement, `part` one of `measurements.PARTS` or "" for all. Raises ValueError if
    `what` names no version.
    """
    if not game.ids:
        raise UserError(f"{game.name}: expected a game with environment ids, got none")
    depths = search_depths(game) if part in ("", SEARCH) else {}
    found: dict[str, Compared] = {}

    def take(name: str, measure: Callable[[], Compared]) -> None:
        try:
            found[name] = measure()
        except UserError as problem:
            tell(name, f"not measured: {problem}")
        else:
            tell(name, found[name])

    names = names_of(game, part, depths)
    if names:
        with both(what, (game.name, dict(game.given_options), id_of(game), depths, texts_of(game))) as probes:
            for name in names:
                take(name, lambda name=name: measured(probes, name, seconds, rounds))  # type: ignore[misc]
    for name, measure in beside(game, part, seconds, rounds).items():
        take(name, measure)
    if part in ("", WARMUP) and not game.given_options:
        with version_of(what) as other:
            for name, options in WARM_UPS.items():
                take(name, lambda options=options: judged([warmed(other, game, options)]))  # type: ignore[misc]
    return found


def warmed(other: Version, game: Game, options: Sequence[str]) -> tuple[float, float]:
    """Returns the processor seconds in which another version and this one compile a game into an empty cache."""
    return warm_up(other, game, options), warm_up(Version(sys.executable), game, options)


def warm_up(version: Version, game: Game, options: Sequence[str]) -> float:
    """Returns the processor seconds of `leafwise warmup GAME` with the first of some options that the version knows."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**version.environment, "LEAFWISE_CACHE_DIR": folder}
        for option in options:
            command = [version.interpreter, "-m", "leafwise", "warmup", game.name, "--json", *option.split()]
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return float(json.loads(done.stdout)["seconds"])
    raise UserError((done.stderr.strip().splitlines() or ["the process ended"])[-1])


def id_of(game: Game) -> str:
    """Returns the environment id of a game with its options; raises ValueError where there is none."""
    for name, options in game.ids.items():
        if dict(options) == dict(game.given_options):
            return f"leafwise/{name}-v0"
    raise UserError(f"{game.name}: expected the options of one of {', '.join(game.ids)}, got {game!r}")


def measured(probes: tuple[Probe, Probe], name: str, seconds: float, rounds: int = ROUNDS) -> Compared:
    """Measures both in turns."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):  # the first compiles
        answers = {k: probes[k].measure(name, seconds if turn else 0.0) for k in ((0, 1), (1, 0))[turn % 2]}
        times.append((answers[0], answers[1]))
    return judged(times[1:])
