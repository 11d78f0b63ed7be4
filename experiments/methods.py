"""The three ways to learn a value network of a game for two, on one page: strength, time, learning curves.

`python -m leafwise.experiments.methods --game trilobite` (or `cassis`) trains a network by `selfplay`, `dqn` and `ppo` with
about the same processor time, judges each by the exact solver on critical positions of the final seeds, lets them meet each
other and the hand-made leaf in an arena, and writes `methods.json`, `methods.md` and `methods.png` to the game's folder of
studies. Runs and results that are there are gone on with.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.game import Game
from leafwise.experiments.learned import Page
from leafwise.models.files import load_evaluator, load_tensors, write_atomically
from leafwise.training.evaluation.agreement import critical_positions
from leafwise.training.evaluation.arena import FINAL_SEED, arena, bootstrap_interval
from leafwise.training.evaluation.match_workers import from_text
from leafwise.training.runs.folder import training_command
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.options import config_file

HERE = Path(__file__).parent
MODULE = "leafwise.experiments.methods"
CURVES = ("time/seconds", "eval/keeps_value", "eval/elo")
HAND_MADE = "hand-made"


@dataclass(frozen=True)
class Plan:
    """What is learned, how, and how it is judged."""

    variant: str
    runs: dict[str, dict[str, Any]]
    """Options of each method's run."""
    judged: dict[str, Any]
    """Options of every run that say which positions judge it, on the way and in the end."""
    arena_plies: int
    """Random decisions of the arena's openings."""


PLANS = {
    "trilobite": Plan(
        variant="board=7x6,k=4",
        runs={
            "selfplay": {
                "total_steps": 60, "positions": 40_000, "buffer_size": 800_000, "batch_size": 4096, "depth": 2, "plies": 16,
            },
            "dqn": {"total_steps": 10_000_000, "interval": 204_800},
            "ppo": {"total_steps": 2_800_000},
        },
        judged={"judged": 300, "judged_plies": (12, 30), "judged_depth": 4},
        arena_plies=6,
    ),
    "cassis": Plan(
        variant="",
        runs={
            "selfplay": {"total_steps": 40, "positions": 20_000, "plies": 10},
            "dqn": {"total_steps": 4_000_000},
            "ppo": {"total_steps": 1_100_000},
        },
        judged={"judged": 300, "judged_plies": (1, 13)},
        arena_plies=4,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Compares self-play, Q-learning and PPO on one game."""

    game: str = "trilobite"
    """Game: trilobite or cassis."""
    share: float = 1.0
    """Share of each run's length, above 0."""
    positions: int = 1000
    """Critical positions that judge the networks."""
    depths: tuple[int, ...] = (1, 2)
    """Search depths at which they are judged."""
    games: int = 200
    """Games of every two players in the arena, at the last of those depths."""
    runs: str = "runs/methods"
    """Folder of the runs."""
    folder: str = ""
    """Folder of the results (default: that of the game's studies)."""


def trained(game: Game, plan: Plan, method: str, share: float, folder: Path) -> Path:
    """Returns the folder of a finished run, trained now, or gone on with, if it is not."""
    path = folder / f"{game.name}-{method}"
    if not (path / "results.json").exists():
        options = {**plan.runs[method], "total_steps": max(1, round(share * plan.runs[method]["total_steps"]))}
        module = importlib.import_module(f"leafwise.training.methods.{method}")
        config = module.Config(game=game.name, variant=plan.variant, run=str(path), **plan.judged, **options)
        module.train(replace(config, resume=config_file(path) is not None))
    if not (path / "results.json").exists():
        raise KeyboardInterrupt  # the run was stopped, and so is the study
    return path


def curve(path: Path) -> dict[str, list[float]]:
    """Returns what a run has logged after each match: processor seconds, share of values kept, Elo."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(path), size_guidance={"scalars": 0})
    events.Reload()
    found = [{event.step: event.value for event in events.Scalars(tag)} for tag in CURVES]
    steps = sorted(set.intersection(*map(set, found)))
    return {tag: [values[step] for step in steps] for tag, values in zip(CURVES, found, strict=True)}


def made(path: Path) -> dict[str, Any]:
    """Returns how a run's best network was made, and the run's curve."""
    told = load_tensors(path / "model.safetensors")[1]
    return {"command": told["command"], "commit": told["commit"], "hidden": told["hidden"], "curve": curve(path)}


def strength(leaf: Any, judged: Any, depths: tuple[int, ...]) -> dict[str, Any]:
    """Returns the share of positions in which a search with a leaf keeps the value, by depth, with its interval."""
    found = {}
    for depth in depths:
        kept = judged.kept(judged.choices(leaf, depth)).astype(float)
        low, high = bootstrap_interval(kept)
        found[str(depth)] = {"mean": float(kept.mean()), "ci_low": low, "ci_high": high}
    return found


def met(game: Game, texts: dict[str, str], config: Config, plan: Plan, file: Path) -> dict[str, Any]:
    """Returns the standings of an arena between players named by texts."""
    makers = {name: from_text(text) for name, text in texts.items()}
    tournament = arena(game, makers, config.games, plies=plan.arena_plies, file=file, resume=True)
    return {line["player"]: line for line in tournament.figures()["standings"]}


def plot(curves: dict[str, dict[str, list[float]]], hand_made: float) -> bytes:
    """Returns a picture of the learning curves, PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, tag, title in (
        (axes[0], CURVES[1], "critical positions whose value one-ply play keeps"),
        (axes[1], CURVES[2], "Elo by matches on the run's own ladder (untrained: 0)"),
    ):
        for method, found in curves.items():
            axis.plot(found[CURVES[0]], found[tag], label=method, linewidth=1.2)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("processor seconds of training")
        axis.grid(alpha=0.3)
    axes[0].axhline(hand_made, color="grey", linestyle="--", linewidth=1, label=f"{HAND_MADE} leaf")
    axes[0].yaxis.set_major_formatter("{x:.0%}")
    axes[0].legend(fontsize=9)
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=110)
    pyplot.close(figure)
    return target.getvalue()


def page_of(game: Game, plan: Plan, config: Config, results: dict[str, Any]) -> list[str]:
    """Returns the page's lines."""
    low, high = plan.judged["judged_plies"]
    ahead = plan.judged.get("judged_depth", 0)
    source = f"moves of players who see {ahead} ahead and know nothing else" if ahead else "random moves"
    depths = [str(depth) for depth in config.depths]
    options = "".join(f", {name} = {value}" for name, value in game.given_options.items())
    lines = [
        f"# {game.name.capitalize()}{options}: three ways to learn a leaf", "",
        f"Judged on {config.positions} critical positions (some legal action loses value) after {low} to {high} {source}: the",
        f"share in which a search keeps the game's value, with 95 % bootstrap intervals. Elo: an arena at depth {depths[-1]},",
        f"{config.games} games of every two, random openings of {plan.arena_plies} moves from both seats, with 95 % errors.",
        "Times are processor seconds of one thread, with the compiling before the first point of a curve; nothing was learned",
        "from the solver.", "",
        f"| leaf | layers | seconds | {' | '.join(f'depth {depth}' for depth in depths)} | Elo |",
        "|---|---|---|" + "---|" * (len(depths) + 1),
    ]  # fmt: skip
    for name in (*plan.runs, HAND_MADE):
        run, line = results.get(f"run {name}"), results["arena"][name]
        shares = [results[f"strength {name}"][depth] for depth in depths]
        cells = [f"{s['mean']:.1%} ({s['ci_low']:.1%} to {s['ci_high']:.1%})" for s in shares]
        spent = f"{run['curve'][CURVES[0]][-1]:,.0f}" if run else "-"
        layers = ", ".join(map(str, run["hidden"])) if run else "-"
        lines.append(
            f"| {name} | {layers} | {spent} | {' | '.join(cells)} | {line['elo']:+.0f} ± {line['elo_error']:.0f} |"
        )
    lines += ["", "![Learning curves](methods.png)", "", "The runs:", ""]
    return [*lines, *(f"    {results[f'run {name}']['command']}" for name in plan.runs), ""]


def study(config: Config) -> None:
    """Works the page out; raises ValueError for a game without a plan."""
    if config.game not in PLANS:
        raise ValueError(f"expected a game among {', '.join(PLANS)}, got {config.game!r}")
    if config.share <= 0:
        raise ValueError(f"expected --share above 0, got {config.share!r}")
    plan = PLANS[config.game]
    game, runs = find_variant(config.game, plan.variant), Path(config.runs)
    paths = {method: trained(game, plan, method, config.share, runs) for method in plan.runs}
    folder = Path(config.folder or HERE / config.game)
    models = [str(path) for path in paths.values()]
    page = Page(folder / "methods.json", training_command(MODULE, config), models)
    judged = cache(
        lambda: critical_positions(
            game, config.positions, FINAL_SEED, plan.judged["judged_plies"], plan.judged.get("judged_depth", 0)
        )
    )
    leaves: dict[str, Callable[[], Any]] = {m: partial(load_evaluator, game, path) for m, path in paths.items()}
    leaves[HAND_MADE] = game.score
    for method, path in paths.items():
        page.part(f"run {method}", partial(made, path))
    for name, leaf in leaves.items():
        page.part(f"strength {name}", lambda: strength(leaf(), judged(), config.depths))  # noqa: B023
    texts = {name: f'search:"{path}",depth={config.depths[-1]}' for name, path in paths.items()}
    texts[HAND_MADE] = f"search:{game.default_score},depth={config.depths[-1]}"
    file = runs / f"{game.name}-arena-{'-'.join(page.about['models'].values())}.json"
    page.part("arena", lambda: met(game, texts, config, plan, file))
    curves = {method: page.results[f"run {method}"]["curve"] for method in paths}
    hand_made = page.results[f"strength {HAND_MADE}"][str(config.depths[0])]["mean"]
    write_atomically(folder / "methods.png", plot(curves, hand_made))
    page.write(page_of(game, plan, config, page.results))


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, f"python -m {MODULE}")
    try:
        study(config)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
