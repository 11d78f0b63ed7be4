"""All ways to learn, in all games, at equal processor time: what is learned in each game, how it is judged, and the runs.

`python -m leafwise.experiments.methods` compares them. Each run has a process of its own, whose time and memory are known
when it is over.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.programs import Process
from leafwise.models.files import write_atomically
from leafwise.training.runs.files import config_file


@dataclass(frozen=True)
class Way:
    """One way to learn a game: a method of the package, by its recipe, or one of Stable-Baselines3."""

    steps: float
    """Steps of the method in a minute of one processor core, about; of Stable-Baselines3, which is stopped by the clock, 0."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options besides the recipe's."""
    leaf: str = "search:{run},depth={depth}"
    """Player with what was learned as a leaf; "" where there is none."""
    policy: str = ""
    """Player that asks what was learned for an action without a search; "" where it says nothing of actions."""
    algorithm: str = ""
    """Of Stable-Baselines3: DQN or PPO."""
    limits: str | None = None
    """Options of its searches, where they are not the plan's."""


@dataclass(frozen=True)
class Plan:
    """What is learned in a game, and how it is judged."""

    variant: str
    hand: str
    """The best hand-made leaf."""
    ways: dict[str, Way]
    games: dict[int, int]
    """Final games by the depth of the searches; bare policies play as many as searches of depth 1."""
    unit: str
    """What a figure counts."""
    limits: str = ""
    """Options of all searches."""
    plies: int = 0
    """Random decisions of openings, in games for two."""
    env: dict[str, Any] = field(default_factory=dict)
    """Keywords of the environment of Stable-Baselines3."""


LIKELIEST = "mcts:{run},prior={run},simulations=1,proofs=0"
SB3 = {
    f"SB3 {name}": Way(0, leaf="search:sb3:{run}/model.zip,depth={depth}", policy="sb3:{run}/model.zip", algorithm=name)
    for name in ("DQN", "PPO")
}
POINTS = "share of the points against it"
MIXED = "0123 4567 0145 1256 569a 012456 45689a 012345 456789"

PLANS: dict[str, Plan] = {
    "threes": Plan(
        "",
        "openness",
        {
            "ntuple-td": Way(35e6, {"tuples": MIXED, "interval": 2_000_000}),
            "ntuple-q": Way(35e6, {"interval": 2_000_000}),
            "ppo": Way(1.6e6, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 100},
        "mean score",
    ),
    "trilobite": Plan(
        "board=7x6,k=4",
        "lines",
        {
            "value-td": Way(40, {"positions": 40_000, "plies": 16}),
            "selfplay": Way(40, {"positions": 40_000, "buffer_size": 800_000, "batch_size": 4096, "depth": 2, "plies": 16}),
            "alphazero": Way(7.5, policy=LIKELIEST),
            "dqn": Way(1.9e6),
            "ppo": Way(9e5, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        POINTS,
        plies=6,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "cassis": Plan(
        "",
        "safe_edges",
        {
            "value-td": Way(270, {"positions": 20_000, "plies": 10}),
            "selfplay": Way(280, {"positions": 20_000, "plies": 10}),
            "alphazero": Way(25, {"plies": 6, "hidden": [128, 32]}, policy=LIKELIEST),
            "dqn": Way(3e6),
            "ppo": Way(1.5e6, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        POINTS,
        plies=4,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "trap": Plan(
        "",
        "reach_open",
        {
            "value-td": Way(35, {"candidates": "near+traps", "rare": 0.25}),
            "selfplay": Way(35, {"candidates": "near+traps", "rare": 0.25}),
            "dqn": Way(8e5),
            "ppo": Way(1e6, policy=LIKELIEST),
            **{name: replace(way, limits=",candidates=near+traps") for name, way in SB3.items()},
        },
        {1: 400, 2: 200},
        POINTS,
        limits=",candidates=near+traps,rare=0.25",
        plies=4,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "friday": Plan(
        "level=1",
        "pirates",
        {
            "value-td": Way(4, {"eased": 10, "credited": 30}),
            "selfplay": Way(4.2, {"eased": 10, "credited": 30}),
            "dqn": Way(3.7e5),
            "ppo": Way(1.3e5, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        "share won",
        limits=",nodes=100",
        env={"reward": "shaped"},
    ),
    "starship": Plan(
        "preset=scout",
        "hopeful",
        {
            "ship-values": Way(900, leaf="build:{run},depth={depth}"),
            "ppo": Way(2.2e4, leaf="", policy="policy:{run}"),
            **{name: replace(way, leaf="") for name, way in SB3.items()},
        },
        {1: 200, 2: 50},
        "mean quality",
    ),
}  # fmt: skip


SCORES = ("eval/keeps_value", "eval/best_elo", "eval/score_mean", "rollout/ep_rew_mean")
"""Tags of learning curves, the first that a run logged counts."""
RECIPE = "its recipe"
"""The length of a run that is as long as its game's recipe says."""
MB = 1e6
PERIOD = 0.5
"""Seconds between two looks at the memory of a run."""


def key_of(game: str, way: str, minutes: float | None, what: str) -> str:
    """Returns the name of a result: what is known of a way to learn a game for so long (None: it learns nothing)."""
    return ", ".join([game, way, *([] if minutes is None else [length_said(minutes)]), what])


def length_said(minutes: float) -> str:
    """Returns how long a run is, in words; 0 minutes stand for what its recipe says."""
    return f"{minutes:g} minutes" if minutes else RECIPE


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Has SIGTERM stop the study as Ctrl-C does, so that no run goes on without it."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def words_of(game: str, plan: Plan, name: str, way: Way, path: Path, minutes: float) -> list[str]:
    """Returns the command of a run, as a module's name and its arguments; 0 minutes: what `leafwise train` makes of its name."""
    if way.algorithm:
        env = json.dumps(plan.env)
        own = ["--game", game, "--variant", plan.variant, "--algorithm", way.algorithm, "--env", env]
        return ["leafwise.experiments.methods.newcomers", *own, "--minutes", f"{minutes:g}", "--run", str(path)]
    words = ["--game", game, "--variant", plan.variant, "--run", str(path)]
    if minutes:
        words += ["--total-steps", str(max(1, round(way.steps * minutes)))]
    for option, value in way.options.items() if minutes else ():
        words += [flag_of(option), *(map(str, value) if isinstance(value, list) else [str(value)])]
    return ["leafwise", "train", game, "--method", name, *words[2:]]


def trained(words: Sequence[str], path: Path) -> dict[str, Any]:
    """Trains, or goes on; returns how the run went.

    Raises KeyboardInterrupt for a run that was stopped, ValueError for one that failed.
    """
    if not (path / "results.json").exists():
        from leafwise.experiments.study import finished

        # A run of Stable-Baselines3 keeps its options in config.json.
        again = ["--resume"] if config_file(path) is not None or (path / "config.json").exists() else []
        with Process([sys.executable, "-m", *words, *again], shows=True) as process:
            most = watched(process)
        if process.status:
            raise UserError(f"expected a run that learns, got status {process.status} of {' '.join(words)}")
        finished(path)
        write_atomically(path / "memory.json", json.dumps(most).encode())
    told = json.loads(read_text(path / "results.json"))
    memory = path / "memory.json"
    return {
        "command": told["command"],
        "commit": told["commit"],
        "seconds": told["seconds"],
        "steps": told["steps"],
        "memory_mb": json.loads(read_text(memory)) if memory.exists() else None,
        "curve": curve(path),
    }


def watched(process: Process) -> float:
    """Waits for a run to end; returns the most memory that it had, in MB. Where the study is stopped the run is too, and saves."""
    import psutil  # of the extra `experiments`; `newcomers` does without

    most = 0.0
    try:
        while not process.wait(PERIOD):
            with suppress(psutil.NoSuchProcess):
                most = max(most, psutil.Process(process.pid).memory_info().rss / MB)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    return most


def curve(path: Path) -> dict[str, Any]:
    """Returns the learning curve of a run: what is scored, and by its share of the run's time; {} where nothing was logged."""
    from leafwise.experiments.study import logged

    for tag in SCORES:
        try:
            found: Mapping[int, float] = logged(path, [tag])[tag]
        except UserError:
            continue
        steps = sorted(found)
        return {"tag": tag, "steps": steps, "values": [round(found[step], 4) for step in steps]}
    return {}
