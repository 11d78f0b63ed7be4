"""Compares all ways to learn in all six games, with equal processor time.

`python -m leafwise.experiments.methods` trains every method of `PLANS`, and DQN and PPO of Stable-Baselines3, each for some
minutes of one core (`--dry-run` only prints the hours). Then the results play final games: as the leaf of searches of depth 1 and
2, and as a policy without search if there is one. In two-player games the opponent is the best hand-made leaf in the same search;
in single-player games that leaf has its own row. `methods.json`, `methods.md` and `methods.png` are updated after each
figure; a stopped study continues, and so do its runs. The page has runs of several lengths (`--minutes`), also those of the
recipes (`--minutes 0`). `--seeds 5` trains each way with five training seeds instead and measures each run at depth 1. It
compares the ways by interquartile means and by probabilities of improvement.
"""

from __future__ import annotations

import itertools
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.programs import Process
from leafwise.envs.core.ranges import Range, need_among
from leafwise.experiments.study import (
    DistributedStudy,
    Results,
    Study,
    bootstrapped,
    command,
    finished,
    logged,
    picture,
    results_of,
    scored,
    signed,
    table,
    write_page,
)
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.run_sets import estimate, improvement, interquartile_mean
from leafwise.training.evaluation.statistics import bounds, interval_text, mean_interval
from leafwise.training.execution import in_pieces
from leafwise.training.runs.files import config_file
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.recipes import method_of, recipe

# The ways to learn each game, their evaluation, and the runs: each is a process, whose time and memory are known at its end.


@dataclass(frozen=True)
class Way:
    """One way to learn a game: a method of the package, by its recipe, or one of Stable-Baselines3."""

    steps: float
    """Approximate steps of the method in a minute of one core; 0 for Stable-Baselines3, which the clock stops."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options besides the recipe's."""
    leaf: str = "search:{run},depth={depth}"
    """Player with the result as a leaf; "" if there is none."""
    policy: str = ""
    """Player with the result as a policy, without a search; "" if there is none."""
    algorithm: str = ""
    """Algorithm of Stable-Baselines3: DQN, PPO, or MaskablePPO by settings; else ""."""
    limits: str | None = None
    """Options of its searches (None: the plan's)."""
    network: str = ""
    """Torch network of the method ("": the sparse network)."""


@dataclass(frozen=True)
class GamePlan:
    """The ways to learn a game, and their evaluation."""

    variant: str
    hand: str
    """The best hand-made leaf."""
    ways: dict[str, Way]
    games: dict[int, int]
    """Final games by the depth of the searches; bare policies play as many as searches of depth 1."""
    unit: str
    """Meaning of the figures."""
    limits: str = ""
    """Options of all searches."""
    plies: int = 0
    """Random decisions of openings, in two-player games."""
    env: dict[str, Any] = field(default_factory=dict)
    """Keywords of the environment for Stable-Baselines3."""


LIKELIEST = "mcts:{run},prior={run},simulations=1,proofs=0"
NORMALIZED = "sb3:{run}/model.zip,normalize={run}/normalize.pkl"
SB3 = {
    **{
        f"SB3 {name}": Way(
            0, leaf="search:sb3:{run}/model.zip,depth={depth}", policy="sb3:{run}/model.zip", algorithm=name
        )
        for name in ("DQN", "PPO")
    },
    "SB3 MaskablePPO": Way(0, leaf=f"search:{NORMALIZED},depth={{depth}}", policy=NORMALIZED, algorithm="MaskablePPO"),
}
SETTINGS = "examples/maskable_ppo.yml"
"""Hyper-parameters of MaskablePPO; DQN and PPO have their defaults."""
POINTS = "share of the points against it"
MIXED = "0123 4567 0145 1256 569a 012456 45689a 012345 456789"

PLANS: dict[str, GamePlan] = {
    "threes": GamePlan(
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
    "trilobite": GamePlan(
        "board=7x6,k=4",
        "lines",
        {
            "value-td": Way(40, {"positions": 40_000, "plies": 16}),
            "selfplay": Way(40, {"positions": 40_000, "buffer_size": 800_000, "batch_size": 4096, "depth": 2, "plies": 16}),
            "selfplay conv": Way(6, network="conv"),
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
    "cassis": GamePlan(
        "",
        "safe_edges",
        {
            "value-td": Way(270, {"positions": 20_000, "plies": 10}),
            "selfplay": Way(280, {"positions": 20_000, "plies": 10}),
            "selfplay mlp": Way(3200 / 30, {"final_learning_rate": 0.0002}, network="mlp"),
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
    "trap": GamePlan(
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
    "friday": GamePlan(
        "level=1",
        "pirates",
        {
            "value-td": Way(4, {"curriculum_iterations": 10, "partial_credit_iterations": 30}),
            "selfplay": Way(4.2, {"curriculum_iterations": 10, "partial_credit_iterations": 30}),
            "dqn": Way(3.7e5),
            "ppo": Way(1.3e5, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        "share of games won",
        limits=",nodes=100",
        env={"reward": "shaped"},
    ),
    "starship": GamePlan(
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
"""Tags of learning curves; the first tag that a run logged is used."""
POINTS_DRAWN = 300
"""Maximum points of a saved learning curve."""
RECIPE = "its recipe"
"""Length of a run by its game's recipe."""
MB = 1e6
PERIOD = 0.5
"""Seconds between two looks at the memory of a run."""


def key_of(game: str, way: str, minutes: float | None, what: str) -> str:
    """Returns the name of a result: game, way, length of training (None: no training), kind of result."""
    return ", ".join([game, way, *([] if minutes is None else [length_text(minutes)]), what])


def length_text(minutes: float) -> str:
    """Returns the length of a run in words; 0 minutes is the recipe's."""
    return f"{minutes:g} minutes" if minutes else RECIPE


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM stop the study as Ctrl-C does, so that no run continues without it."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def words_of(game: str, plan: GamePlan, name: str, way: Way, path: Path, minutes: float) -> list[str]:
    """Returns the command of a run, as a module's name and its arguments; 0 minutes: the recipe's run."""
    if way.algorithm:
        env = json.dumps(plan.env)
        words_of_run = ["--game", game, "--variant", plan.variant, "--algorithm", way.algorithm]
        words_of_run += ["--settings", SETTINGS] if way.algorithm == "MaskablePPO" else ["--env", env]
        return [
            "leafwise.experiments.methods.newcomers",
            *words_of_run,
            "--minutes",
            f"{minutes:g}",
            "--run",
            str(path),
        ]
    words = ["--game", game, "--variant", plan.variant, "--run", str(path)]
    if minutes:
        words += ["--total-steps", str(max(1, round(way.steps * minutes)))]
    for option, value in way.options.items() if minutes else ():
        words += [flag_of(option), *(map(str, value) if isinstance(value, list) else [str(value)])]
    if way.network:
        words += ["--network", way.network]
    return ["leafwise", "train", game, "--method", method_name(name), *words[2:]]


def method_name(way: str) -> str:
    """Returns the method of a way to learn: the first word of its name."""
    return way.split()[0]


def trained(words: Sequence[str], path: Path) -> dict[str, Any]:
    """Trains or continues a run; returns its figures.

    Raises KeyboardInterrupt if the run was stopped, ValueError if it failed.
    """
    if not (path / "results.json").exists():
        # A run of Stable-Baselines3 keeps its options in config.json.
        again = ["--resume"] if config_file(path) is not None or (path / "config.json").exists() else []
        with Process([sys.executable, "-m", *words, *again], shows=True) as process:
            most = watched(process)
        if process.status:
            raise UserError(f"expected a run that learns, got status {process.status} of {' '.join(words)}")
        finished(path)
        write_atomically(path / "memory.json", json.dumps(most).encode())
    results = json.loads(read_text(path / "results.json"))
    memory = path / "memory.json"
    return {
        "command": results["command"],
        "commit": results["commit"],
        "seconds": results["seconds"],
        "steps": results["steps"],
        "memory_mb": json.loads(read_text(memory)) if memory.exists() else None,
        "curve": curve(path),
    }


def watched(process: Process) -> float:
    """Waits for a run to end; returns its peak memory in MB. If the study is stopped, the run saves and stops."""
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
    """Returns the learning curve of a run: tag, steps and values; {} if nothing was logged."""
    for tag in SCORES:
        try:
            points: Mapping[int, float] = logged(path, [tag])[tag]
        except UserError:
            continue
        steps = sorted(points)
        steps = steps[:: -(-len(steps) // POINTS_DRAWN)]
        return {"tag": tag, "steps": steps, "values": [round(points[step], 4) for step in steps]}
    return {}


SEED = 2_000_000
"""First seed of the final games."""
HAND_MADE, SEEDED = "hand-made", "seed"
BARE = "policy"
ADDED = ("games", "ways", "minutes", "newcomer_minutes", "seeds", "runs")
"""Options that only add results to the known ones."""


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Compares all ways to learn in all games."""

    games: tuple[str, ...] = tuple(PLANS)
    """Games; none: only write the page."""
    ways: tuple[str, ...] = ()
    """Ways to learn, as selfplay, "selfplay mlp" or "SB3 PPO" (default: all)."""
    minutes: Annotated[float, Range(0)] = 30.0
    """Approximate processor time of each run in minutes (0: the recipe's length)."""
    newcomer_minutes: Annotated[float, Range(0, above=True)] = 15.0
    """The same for Stable-Baselines3."""
    seeds: Annotated[int, Range(0, 100)] = 0
    """Number of training seeds of each way (0: one run of each, with the full evaluation)."""
    share: Annotated[float, Range(0, above=True)] = 1.0
    """Share of the final games to play, above 0."""
    runs: str = "runs/methods"
    """Folder of the runs."""
    dry_run: bool = False
    """List the runs with their times, and do nothing."""

    def minutes_of(self, way: Way) -> float:
        """Returns the minutes of a way to learn."""
        return self.newcomer_minutes if way.algorithm else self.minutes

    @property
    def bare(self) -> Config:
        """The study without the options that only add results."""
        added: dict[str, Any] = {name: getattr(Config, name) for name in ADDED}
        return replace(self, **added)

    def ways_of(self, name: str) -> dict[str, Way]:
        """Returns the requested ways to learn a game."""
        return {word: way for word, way in PLANS[name].ways.items() if word in (self.ways or PLANS[name].ways)}


def evaluations(plan: GamePlan, way: Way | None) -> Iterator[tuple[str, str, str, int]]:
    """Yields the evaluations of a way to learn (None: the hand-made leaf).

    Each has a name, the texts of the player and of the hand-made opponent, and the number of games; RUN stands for the run folder.
    """
    for depth, games in plan.games.items():
        opponent = f"search:{plan.hand},depth={depth}{plan.limits}"
        if way is None:
            yield f"depth {depth}", opponent, opponent, games
        elif way.leaf:
            limits = plan.limits if way.limits is None else way.limits
            yield f"depth {depth}", way.leaf.format(run="RUN", depth=depth) + limits, opponent, games
    if way is not None and way.policy:
        yield BARE, way.policy.format(run="RUN"), f"search:{plan.hand},depth=1{plan.limits}", plan.games[1]


def measured(
    config: Config, name: str, plan: GamePlan, text: str, opponent: str, games: int, file: Path
) -> dict[str, Any]:
    """Plays final games; returns the mean, its 95 % interval and the seconds of a move.

    Raises ValueError if a player fails in a game.
    """
    game, games = find_variant(name, plan.variant), max(2, 2 * round(config.share * games / 2))
    where: dict[str, Any] = {"processes": config.processes, "cluster": config.cluster, "file": file, "resume": True}
    if name == "starship":
        return built(config, plan, text, games)
    against = None if game.players == 1 else opponent
    return scored(game, text, games, SEED, against, plan.plies, **where)


def built(config: Config, plan: GamePlan, text: str, ships: int) -> dict[str, Any]:
    """Builds ships; returns their mean quality, its interval and the seconds of a ship."""
    from leafwise.training.starship.builders import records

    game = find_variant("starship", plan.variant)
    work = partial(records, game, text.replace("search:", "build:"))
    seeds = range(SEED, SEED + ships)
    ships_built = [one for part in config.each(work, in_pieces(seeds, 10)) for one in part]
    quality = np.array([one["quality"] for one in ships_built])
    spent = sum(one["seconds"] for one in ships_built) / ships
    return {"mean": float(quality.mean()), **bounds(mean_interval(quality)), "games": ships, "seconds": spent}


def of_game(config: Config, results: Results, name: str) -> None:
    """Trains and evaluates what is missing of a game; updates the page after every way."""
    plan = PLANS[name]
    ways: dict[str, Way | None] = {**config.ways_of(name)}
    if find_variant(name, plan.variant).players == 1:
        ways = {HAND_MADE: None, **ways}
    for way_name, way in ways.items() if not config.seeds else ():
        minutes = config.minutes_of(way) if way else None
        known = partial(key_of, name, way_name, minutes)
        length = [] if minutes is None else [f"{minutes:g}min" if minutes else "recipe"]
        path = Path(config.runs) / "-".join([name, *way_name.split(), *length])
        if way is not None and minutes is not None:
            words = words_of(name, plan, way_name, way, path, minutes)
            results.find(known("run"), partial(trained, words, path))
        for what, text, opponent, games in evaluations(plan, way):
            file = path.with_name(f"{path.name}-{what.replace(' ', '')}.json")
            file.parent.mkdir(parents=True, exist_ok=True)
            arguments = text.replace("RUN", str(path)), opponent, games, file
            results.find(known(what), partial(measured, config, name, plan, *arguments))
        write(config.bare, results)


def of_seeds(config: Config, results: Results, name: str) -> None:
    """Trains and evaluates what is missing of a game with several training seeds."""
    for way_name, way in config.ways_of(name).items():
        minutes = config.minutes_of(way)
        length = f"{minutes:g}min" if minutes else "recipe"
        for seed in range(1, config.seeds + 1):
            path = Path(config.runs) / "-".join([name, *way_name.split(), length, f"seed{seed}"])
            work = partial(seeded, config, name, way_name, seed, path)
            results.find(key_of(name, way_name, minutes, f"{SEEDED} {seed}"), work)
            write(config.bare, results)


def seeded(config: Config, name: str, way_name: str, seed: int, path: Path) -> dict[str, Any]:
    """Trains with a seed and evaluates the run one decision deep; returns its figures."""
    plan = PLANS[name]
    way = plan.ways[way_name]
    words = [*words_of(name, plan, way_name, way, path, config.minutes_of(way)), "--seed", str(seed)]
    run = trained(words, path)
    _, text, opponent, games = next(evaluations(plan, way))
    file = path.with_name(f"{path.name}-judged.json")
    return {**run, "curve": {}, **measured(config, name, plan, text.replace("RUN", str(path)), opponent, games, file)}


def dry_run(config: Config) -> None:
    """Prints every run with its approximate minutes, and the total hours."""
    minutes = []
    for name in config.games:
        for word, way in config.ways_of(name).items():
            minutes.append(config.minutes_of(way) * max(1, config.seeds))
            if not minutes[-1]:
                usual: Any = method_of(name, method_name(word)).options
                steps = recipe(name, method_name(word), PLANS[name].variant).get("total_steps", usual.total_steps)
                minutes[-1] = steps / way.steps
            print(f"{name}: {word}, {minutes[-1]:.3g} minutes")
    print(f"{len(minutes)} runs, {sum(minutes) / 60:.1f} processor hours of training; the final games come on top")


def study(config: Config) -> None:
    """Runs the study; raises ValueError for unknown names."""
    for name in config.games:
        need_among(name, PLANS, "games")
    for way in config.ways:
        need_among(way, dict.fromkeys(way for plan in PLANS.values() for way in plan.ways), "ways")
    if config.dry_run:
        dry_run(config)
        return
    results = results_of(config, "methods.json", command=config.bare.repeated_by, anew=False)
    with stopped_by_sigterm():
        for name in config.games:
            (of_seeds if config.seeds else of_game)(config, results, name)
    if results:
        write(config.bare, results)


NAME, PICTURE = "methods.md", "methods.png"
COLUMNS = ("depth 1", "depth 2", "policy")
ELO = "eval/best_elo"
WIDE = 3
"""Learning curves beside each other."""
CURVES = {
    "eval/keeps_value": "critical positions kept",
    ELO: "Elo by own matches, share of the last",
    "eval/score_mean": "score",
    "rollout/ep_rew_mean": "reward",
}
"""Tags of learning curves in words."""


def cell(figures: dict[str, Any] | None, plan: GamePlan) -> str:
    """Formats a figure with its interval; "-" for None."""
    if figures is None:
        return "-"
    form = ",.0f" if plan.unit == "mean score" else ".3f" if plan.unit == "mean quality" else ".1%"
    return f"{figures['mean']:{form}} ({interval_text(figures['ci_low'], figures['ci_high'], form)})"


def known_of(name: str, plan: GamePlan, results: Results) -> list[tuple[str, float | None, dict[str, Any]]]:
    """Returns the known results of a game: way, minutes, and results by the last part of their names.

    Ways are in the plan's order, shorter runs first.
    """
    order, by_way = ("hand-made", *plan.ways), dict[tuple[int, float], dict[str, Any]]()
    for key, result in results.items():
        game, way, *length, what = key.split(", ")
        if game == name and way in order:
            minutes = -1.0 if not length else 0.0 if length == [RECIPE] else float(length[0].split()[0])
            by_way.setdefault((order.index(way), minutes), {})[what] = result
    return [(order[way], None if minutes < 0 else minutes, by_way[way, minutes]) for way, minutes in sorted(by_way)]


def rows_of(name: str, plan: GamePlan, results: Results) -> list[list[str]]:
    """Returns the rows of a game's table that have results."""
    rows = []
    for way, minutes, known in known_of(name, plan, results):
        if all(what.startswith(SEEDED) for what in known):
            continue
        run = known.get("run")
        memory = f"{run['memory_mb']:,.0f}" if run and run["memory_mb"] else "-"
        spent = [f"{run['seconds']:,.0f}", f"{run['steps']:,}", memory] if run else ["-"] * 3
        rows.append(
            [
                way,
                "-" if minutes is None else length_text(minutes).removesuffix(" minutes"),
                *spent,
                *(cell(known.get(what), plan) for what in COLUMNS),
            ]
        )
    return rows


def seeds_of(name: str, plan: GamePlan, results: Results) -> list[str]:
    """Returns the lines on ways with several training seeds: a table, and the significant differences in words."""
    scores: dict[float, dict[str, Floats]] = {}
    commands: dict[float, list[str]] = {}
    for way, minutes, known in known_of(name, plan, results):
        runs = [one for what, one in known.items() if what.startswith(SEEDED)]
        if minutes is not None and len(runs) > 1:
            scores.setdefault(minutes, {})[way] = np.array([one["mean"] for one in runs])
            commands.setdefault(minutes, []).append(f"    {runs[0]['command']}")
    lines = []
    for minutes, ways in scores.items():
        rows, comparisons = [], []
        for way, of_runs in ways.items():
            middle = dict(zip(("mean", "ci_low", "ci_high"), estimate(interquartile_mean, [of_runs]), strict=True))
            ends = (cell({**middle, "mean": x}, plan).split(" ")[0] for x in (of_runs.min(), of_runs.max()))
            rows.append([way, str(len(of_runs)), cell(middle, plan), *ends])
        for pair in itertools.combinations(ways, 2):
            first, second = sorted(pair, key=lambda way: -interquartile_mean([ways[way]]))
            better = estimate(improvement, [ways[first]], [ways[second]])
            stands = "significantly" if better.low > 0.5 else "not significantly"
            chance = f"{better.value:.0%} ({better.low:.0%} to {better.high:.0%})"
            comparisons.append(
                f"- `{first}` is {stands} better than `{second}`. The probability that a run of `{first}` is better than a run of "
                f"`{second}` is {chance}."
            )
        lines += [
            "The next table has several runs of each method, with different training seeds. "
            f"The planned time of a run is {length_text(minutes)}.",
            "Each run is measured at depth 1. The table has the interquartile mean over the runs, and the lowest and highest "
            "result",
            "of a run. Intervals are from a bootstrap over the seeds. With so few seeds they are too narrow.", "",
            *table("way | seeds: | interquartile mean: | lowest: | highest:", rows), "", *comparisons, *[""][: len(comparisons)],
            "The commands of the runs with the first training seed:", "", *commands[minutes], "",
        ]  # fmt: skip
    return lines


def section(name: str, results: Results) -> list[str]:
    """Returns the lines of a game."""
    plan = PLANS[name]
    rows, seeded = rows_of(name, plan, results), seeds_of(name, plan, results)
    if not rows and not seeded:
        return []
    options = f", {plan.variant}" if plan.variant else ""
    commands = [known["run"]["command"] for _, _, known in known_of(name, plan, results) if "run" in known]
    limits = f" (with `{plan.limits.strip(',')}`)" if plan.limits else ""
    unit, hand = plan.unit, f"the hand-made leaf `{plan.hand}` in the same search{limits}"
    sentence = f"The row `hand-made` has {hand}."
    if "against" in plan.unit:
        unit = "share of the [points](../../docs/terms.md#points) that the network wins"
        sentence = f"The opponent has {hand}. A policy alone plays against a search of depth 1 with this leaf."
    return [
        f"## {name.capitalize()}{options}", "",
        f"The table has the {unit}. {sentence}", "",
        *table("way | minutes: | seconds: | steps: | MB: | depth 1: | depth 2: | policy alone:", rows), "",
        *(f"    {command}" for command in commands), "",
        *seeded,
    ]  # fmt: skip


def plot(study: Study, results: Results) -> bool:
    """Draws the known learning curves of all games; returns whether there are any."""
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for name, plan in PLANS.items():
        for way, minutes, results_of_way in known_of(name, plan, results):
            if "run" in results_of_way and results_of_way["run"]["curve"] and minutes is not None:
                known.setdefault(name, {})[f"{way}, {length_text(minutes)}"] = results_of_way["run"]
    if not known:
        return False
    columns = min(len(known), WIDE)
    rows = -(-len(known) // columns)
    with picture(study.target(PICTURE), rows, columns, size=(4.5 * columns, 4 * rows)) as drawn:
        axes = np.ravel(drawn)
        for axis in axes[len(known) :]:
            axis.set_visible(False)
        for axis, (name, runs) in zip(axes, known.items(), strict=False):
            tags = [run["curve"]["tag"] for run in runs.values()]
            tag = max(CURVES, key=tags.count)
            for way, run in runs.items():
                if run["curve"]["tag"] == tag:
                    steps = run["curve"]["steps"]
                    seconds = [step / steps[-1] * run["seconds"] for step in steps]
                    values = np.array(run["curve"]["values"])
                    if tag == ELO and values[-1] > 0:
                        values = values / values[-1]
                    axis.plot(seconds, values, label=way, linewidth=1.2)
            axis.set_title(f"{name}: {CURVES[tag]}", fontsize=9)
            axis.set_xlabel("processor seconds, about")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
    return True


def write(study: Study, results: Results) -> None:
    """Writes the page and its picture with the known results."""
    curves = [f"![Learning curves]({PICTURE})", ""] if plot(study, results) else []
    lines = [
        "# Training methods at equal processor time", "",
        "This study runs each method in every game that the method supports, with the options of the game's",
        "[recipe](../../docs/terms.md#recipe) if there is one. After training we measure the network as the",
        "[leaf](../../docs/terms.md#leaf) of a search, at depth 1 and at depth 2. The games have seeds from 2,000,000 on, and",
        "intervals are 95 % intervals. Two-player games have random openings, and each opening is played from both seats. The",
        "tables have these columns:",
        "",
        "- `way` is the method of `leafwise train`, or a variation: `selfplay conv` has a convolutional network, for example.",
        "- `minutes` is the planned time of the run on one core. For `its recipe` the run is as long as the recipe says.",
        "- `seconds` is the processor time of the run, including compilation.",
        "- `steps` is the length of the run in moves, decisions or iterations, as the method counts.",
        "- `MB` is the memory of the run.",
        "- `policy alone` has the results of the network's policy without a search.",
        "",
        "DQN and PPO of Stable-Baselines3 (SB3) have their default options, with one exception. In Starship the replay",
        "buffer of DQN is smaller, so that it fits into 4 GB. [Another page](learners.md) measures MaskablePPO of sb3-contrib.",
        "",
        "Below each table are the training commands of its rows, in the same order. To repeat a row, add",
        "`--games`, `--ways` and `--minutes` to the last command of this page, with the game, the way and the minutes of the",
        "row. For `its recipe` add `--minutes 0`. Tables with several training seeds also need `--seeds`.",
        "",
        "The picture has the learning curves of the runs that logged them. Elo ratings of different runs cannot be compared, so",
        "each curve of Elo is divided by its last value.", "",
        *curves,
        *(line for name in PLANS for line in section(name, results)),
        *bootstrapped(results.values()),
    ]  # fmt: skip
    write_page(study, NAME, signed(study, lines))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
