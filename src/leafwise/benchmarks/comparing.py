"""Measures two versions of leafwise in turns, and reports what is slower by more than the noise.

| part | name | unit |
|---|---|---|
| envs | `step` | a step of one environment |
| | `batch_64` | a step of an environment in a batch of 64 |
| search | `search LEAF` | a search of a start, the default score and the shipped network |
| | `solver one`, `solver all`, `solver batch` | a position near the end: its value, also its actions' values, 300 values at once |
| models | `leaf LEAF depth=D` | a leaf that a search values; `sparse`: a network of 32 and 32 units with random weights |
| training | `td` | a move of temporal differences with nine tuples |
| | `selfplay depth=D` | a position recorded |
| warmup | `warmup`, `warmup without hooks` | all that `leafwise warmup GAME` compiles, into an empty cache |

Each round measures both versions once, in alternating order, and gives the ratio of their times. The result is the median ratio,
with an interval that holds for any distribution of the noise (of eleven rounds the second to the tenth: 98.8 %, by the sign test).
A measurement is slower if its whole interval lies above 1. Each version runs the code of `probe`.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from leafwise.benchmarks import probe
from leafwise.benchmarks.rates import learns_by_selfplay, room_bench, shipped
from leafwise.envs.core.compile.cache import PACKAGE
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.programs import NoAnswer, Program, Refused
from leafwise.models.files import model_path, shipped_name
from leafwise.search import Search

ENVS, SEARCH, MODELS, TRAINING, WARMUP = PARTS = ("envs", "search", "models", "training", "warmup")

# Statistics of rounds

ROUNDS, OUTERMOST = 11, 1
"""Number of rounds, and of ratios outside the interval at either end."""


@dataclass(frozen=True)
class Comparison:
    """One measurement of two versions: processor seconds of a unit, and the ratio of now to before."""

    before: float
    now: float
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or "" if the difference may be noise."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else ""


def judged(times: Sequence[tuple[float, float]]) -> Comparison:
    """Returns the median ratio of rounds (before, now), and its interval."""
    ratios = sorted(now / before for before, now in times)
    outside = OUTERMOST if len(ratios) > 2 * OUTERMOST else 0
    before, now = map(min, zip(*times, strict=True))
    return Comparison(before, now, median(ratios), ratios[outside], ratios[-1 - outside])


def in_turns(before: Callable[[], float], now: Callable[[], float], rounds: int) -> Comparison:
    """Compares two measurements in rounds, after one that compiles; 0 rounds: that one alone. Each returns its time."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        if turn % 2:
            later = now()
            times.append((before(), later))
        else:
            times.append((before(), now()))
    return judged(times[1:] or times)


# Versions

INTERPRETERS = ("", "bin/python", ".venv/bin/python", "Scripts/python.exe", ".venv/Scripts/python.exe")
"""Places of an interpreter below a given path."""
ROOMS = ("envs", "search", "models", "training", "experiments")
"""Folders of a checkout that are installed in the package."""


@dataclass(frozen=True)
class Version:
    """How to start Python with a version of leafwise."""

    interpreter: str
    path: str = ""
    """Folder with the package, first in the search path ("": the installed package)."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of its processes."""
        return {**os.environ, "PYTHONPATH": self.path} if self.path else dict(os.environ)


HERE = Version(sys.executable)
"""The version of this process."""


@contextlib.contextmanager
def version_of(what: str) -> Iterator[Version]:
    """Yields the version of a path (an interpreter, an environment, a checkout with one) or of a commit.

    A commit's files are in a temporary folder meanwhile, and run with this interpreter and its packages. Raises ValueError for
    anything else.
    """
    interpreters = [Path(what) / place for place in INTERPRETERS if (Path(what) / place).is_file()]
    if interpreters and os.access(interpreters[0], os.X_OK):
        yield Version(str(interpreters[0].absolute()))
        return
    files = None if interpreters else files_of(what)
    if files is None:
        raise UserError(f"expected a commit, or the path of an interpreter or an environment, got {what!r}")
    with tempfile.TemporaryDirectory(prefix="leafwise-") as folder:
        yield Version(sys.executable, lay_out(files, Path(folder)))


def files_of(commit: str) -> bytes | None:
    """Returns a commit of this checkout as a tar archive, None if it does not exist."""
    if not (PACKAGE / ".git").exists():
        return None
    # The commit is never read as an option of git.
    known = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    return known and git("archive", "--format=tar", known.decode().strip())


def git(*words: str) -> bytes | None:
    """Returns the output of a command of git in this checkout, None if it fails."""
    try:
        done = subprocess.run(["git", "-C", str(PACKAGE), *words], capture_output=True, check=False)
    except FileNotFoundError:
        raise UserError("expected git to read a commit, found none") from None
    return done.stdout if done.returncode == 0 else None


def lay_out(files: bytes, folder: Path) -> str:
    """Writes the files of a checkout in their installed layout; returns the folder with the package."""
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(folder, filter="data")
    for room in filter(lambda room: (folder / room).exists(), ROOMS):
        (folder / room).rename(folder / "src" / "leafwise" / room)
    return str(folder / "src")


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


# What is measured

SEARCH_SECONDS = 0.005
"""A search is measured at the first depth that takes this long here."""
DEEPEST = 12
CONNECT_FOUR = {"board": "7x6", "k": 4}
NTUPLE_DEPTHS = (3, 4)
WARM_UPS = {"warmup": (), "warmup without hooks": ("--no-hooks",)}
"""Measurements that compile into an empty cache once -> their options of `leafwise warmup`."""


def compare(
    game: Game, what: str, seconds: float, rounds: int = ROUNDS, part: str = ""
) -> Iterator[tuple[str, Comparison | str]]:
    """Yields comparisons by name, or why one version cannot be measured.

    `seconds` is the processor time of one measurement, `part` one of `PARTS` or "" for all. Raises ValueError if `what` names no
    version.
    """
    if not game.ids:
        raise UserError(f"{game.name}: expected a game with environment ids, got none")
    depths = search_depths(game) if part in ("", SEARCH) else {}
    names = names_of(game, part, depths)
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(version_of(what))
        measures: dict[str, tuple[Callable[[], float], Callable[[], float], int]] = {}
        if names:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            question = game.name, dict(game.given_options), id_of(game), depths, texts_of(game)
            before, now = (stack.enter_context(Probe(version, question, folder)) for version in (other, HERE))
            for name in names:
                measures[name] = partial(before.measure, name, seconds), partial(now.measure, name, seconds), rounds
        if part in ("", WARMUP) and not game.given_options:
            for name, options in WARM_UPS.items():
                measures[name] = partial(warm_up, other, game, options), partial(warm_up, HERE, game, options), 0
        for name, measure in measures.items():
            try:
                yield name, in_turns(*measure)
            except UserError as problem:
                yield name, f"not measured: {problem}"


def warm_up(version: Version, game: Game, options: Sequence[str]) -> float:
    """Returns the processor seconds that a version takes to compile a game into an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**version.environment, "LEAFWISE_CACHE_DIR": folder}
        command = [version.interpreter, "-m", "leafwise", "warmup", game.name, "--json", *options]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError((done.stderr.strip().splitlines() or ["the process ended"])[-1])
    return float(json.loads(done.stdout)["seconds"])


def id_of(game: Game) -> str:
    """Returns the environment id of a game with its options; raises ValueError if there is none."""
    for name, options in game.ids.items():
        if dict(options) == dict(game.given_options):
            return f"leafwise/{name}-v0"
    raise UserError(f"{game.name}: expected the options of one of {', '.join(game.ids)}, got {game!r}")


def search_depths(game: Game) -> dict[str, int]:
    """Returns leaves with their depths: the default score, and the shipped network if there is one."""
    depths = {game.default_score: depth_for(game, game.score())}
    if leaf := shipped(game):
        depths[f"load:{shipped_name(game)}"] = depth_for(game, leaf)
    return depths


def depth_for(game: Game, leaf: Any) -> int:
    """Returns the first depth at which a search of the start takes SEARCH_SECONDS of processor time."""
    state = game.new(0)
    for depth in range(1, DEEPEST):
        search = Search(game, leaf, depth=depth)
        search(state)  # compiles
        start = process_time()
        search(state)
        if process_time() - start >= SEARCH_SECONDS:
            return depth
    return DEEPEST


def texts_of(game: Game) -> list[str]:
    """Returns the positions at which leaves are measured; []: starts."""
    return [] if game.given_options else list(getattr(room_bench(game), "POSITIONS", {}).values())


def names_of(game: Game, part: str, depths: dict[str, int]) -> list[str]:
    """Returns the measurements of a part ("": all); `depths` are those of `search_depths`."""
    cells = "ntuple" in game.features and game.players == 1
    by_part = {
        ENVS: ["step", "batch_64"],
        SEARCH: [f"search {leaf}" for leaf in depths],
        MODELS: [],
        TRAINING: ["td"] if cells else [],
    }
    if game.name == "trilobite" and game.given_options == CONNECT_FOUR:
        by_part[SEARCH] += [f"solver {kind}" for kind in ("one", "all", "batch")]
    if cells and model_path(shipped_name(game)).exists():
        by_part[MODELS] += [f"leaf load:{shipped_name(game)} depth={depth}" for depth in NTUPLE_DEPTHS]
    if learns_by_selfplay(game):
        by_part[TRAINING] += ["selfplay depth=1", "selfplay depth=2"]
        if part in ("", MODELS):
            leaf = probe.random_network(game).evaluator("sparse")
            by_part[MODELS] += [f"leaf sparse depth={depth_for(game, leaf)}"]
    return [name for room, names in by_part.items() if part in ("", room) for name in names]
