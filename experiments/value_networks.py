"""The three ways to learn a value network of a game for two, on one page: strength, time, learning curves.

`python -m leafwise.experiments.value_networks --game trilobite` (or `cassis`) trains a network by `selfplay`, `dqn` and `ppo` with
about the same processor time, judges each by the exact solver on critical positions of the final seeds, lets them meet each
other and the hand-made leaf in an arena, and writes `methods.json`, `methods.md` and `methods.png` to the game's folder of
studies. Runs and results that are there are gone on with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.experiments.study import (
    PlacedStudy,
    Results,
    command,
    logged,
    picture,
    results_of,
    share,
    signed,
    table,
    trained,
    write_page,
)
from leafwise.models.files import load_evaluator, load_tensors
from leafwise.training.evaluation.agreement import Judged, critical_positions
from leafwise.training.evaluation.arena import FINAL_SEED, arena, bootstrap_interval
from leafwise.training.evaluation.match_workers import from_text
from leafwise.training.runs.loop import find_variant

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
class Config(PlacedStudy):
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

    @property
    def home(self) -> Path | None:
        """The game's folder in the checkout."""
        folder = super().home
        return folder and folder / self.game


def trained_by(method: str, plan: Plan, config: Config) -> Path:
    """Returns the folder of a method's finished run."""
    options = {**plan.runs[method], **plan.judged}
    options["total_steps"] = max(1, round(config.share * options["total_steps"]))
    path = Path(config.runs) / f"{config.game}-{method}"
    return trained(path, method, {"game": config.game, "variant": plan.variant, **options})


def made(path: Path) -> dict[str, Any]:
    """Returns how a run's best network was made, and what the run logged after each match."""
    told, found = load_tensors(path / "model.safetensors")[1], logged(path, CURVES)
    steps = sorted(set.intersection(*(set(values) for values in found.values())))
    curve = {tag: [values[step] for step in steps] for tag, values in found.items()}
    return {"command": told["command"], "commit": told["commit"], "hidden": told["hidden"], "curve": curve}


def strength(leaf: Any, judged: Judged, depths: tuple[int, ...]) -> dict[str, Any]:
    """Returns the share of positions in which a search with a leaf keeps the value, by depth, with its interval."""
    found = {}
    for depth in depths:
        kept = judged.kept(judged.choices(leaf, depth)).astype(float)
        low, high = bootstrap_interval(kept)
        found[str(depth)] = {"mean": float(kept.mean()), "ci_low": low, "ci_high": high}
    return found


def met(game: Game, texts: dict[str, str], games: int, plies: int, file: Path, **where: Any) -> dict[str, Any]:
    """Returns the standings of an arena between players named by texts."""
    makers = {name: from_text(text) for name, text in texts.items()}
    tournament = arena(game, makers, games, plies=plies, file=file, resume=True, **where)
    return {line["player"]: line for line in tournament.figures()["standings"]}


def plot(curves: dict[str, dict[str, list[float]]], hand_made: float, path: Path) -> None:
    """Draws the learning curves."""
    with picture(path, columns=2) as axes:
        for axis, tag, title in (
            (axes[0], CURVES[1], "critical positions whose value one-ply play keeps"),
            (axes[1], CURVES[2], "Elo by matches on the run's own ladder (untrained: 0)"),
        ):
            for method, found in curves.items():
                axis.plot(found[CURVES[0]], found[tag], label=method, linewidth=1.2)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("processor seconds of training")
            axis.grid(alpha=0.3)
        axes[0].axhline(hand_made, color="grey", linestyle="--", linewidth=1, label=f"{HAND_MADE} leaf")
        axes[0].yaxis.set_major_formatter("{x:.0%}")
        axes[0].legend(fontsize=9)


def page_of(game: Game, plan: Plan, config: Config, results: Results) -> list[str]:
    """Returns the page's lines."""
    low, high = plan.judged["judged_plies"]
    ahead = plan.judged.get("judged_depth", 0)
    source = f"moves of players who see {ahead} ahead and know nothing else" if ahead else "random moves"
    options = "".join(f", {name} = {value}" for name, value in game.given_options.items())
    rows = []
    for name in (*plan.runs, HAND_MADE):
        told, line, kept = results.get(f"run {name}"), results["arena"][name], results[f"strength {name}"]
        spent = f"{told['curve'][CURVES[0]][-1]:,.0f}" if told else "-"
        layers = ", ".join(map(str, told["hidden"])) if told else "-"
        shares = [share(kept[str(depth)]) for depth in config.depths]
        rows.append([name, layers, spent, *shares, f"{line['elo']:+.0f} ± {line['elo_error']:.0f}"])
    depths, deepest = " | ".join(f"depth {depth}" for depth in config.depths), config.depths[-1]
    runs = [results[f"run {name}"] for name in plan.runs]
    return [
        f"# {game.name.capitalize()}{options}: three ways to learn a leaf", "",
        f"Judged on {config.positions} critical positions (some legal action loses value) after {low} to {high} {source}: the",
        f"share in which a search keeps the game's value, with 95 % bootstrap intervals. Elo: an arena at depth {deepest},",
        f"{config.games} games of every two, random openings of {plan.arena_plies} moves from both seats, with 95 % errors.",
        "Times are processor seconds of one thread, with the compiling before the first point of a curve; nothing was learned",
        "from the solver.", "",
        *table(f"leaf | layers | seconds | {depths} | Elo", rows), "",
        "![Learning curves](methods.png)", "",
        f"The runs, as of commit {' and '.join(sorted({run['commit'][:7] for run in runs}))}:", "",
        *(f"    {run['command']}" for run in runs), "",
    ]  # fmt: skip


def study(config: Config) -> None:
    """Works the page out; raises ValueError for a game without a plan."""
    if config.game not in PLANS:
        raise ValueError(f"expected a game among {', '.join(PLANS)}, got {config.game!r}")
    if config.share <= 0:
        raise ValueError(f"expected --share above 0, got {config.share!r}")
    plan = PLANS[config.game]
    game = find_variant(config.game, plan.variant)
    paths = {method: trained_by(method, plan, config) for method in plan.runs}
    results = results_of(config, "methods.json", [str(path) for path in paths.values()])
    judged = cache(
        lambda: critical_positions(
            game, config.positions, FINAL_SEED, plan.judged["judged_plies"], plan.judged.get("judged_depth", 0)
        )
    )
    leaves: dict[str, Callable[[], Any]] = {m: partial(load_evaluator, game, path) for m, path in paths.items()}
    leaves[HAND_MADE] = game.score
    for method, path in paths.items():
        results.find(f"run {method}", partial(made, path))
    for name, leaf in leaves.items():
        results.find(f"strength {name}", lambda: strength(leaf(), judged(), config.depths))  # noqa: B023
    texts = {name: f'search:"{path}",depth={config.depths[-1]}' for name, path in paths.items()}
    texts[HAND_MADE] = f"search:{game.default_score},depth={config.depths[-1]}"
    file = Path(config.runs) / f"{game.name}-arena-{'-'.join(results.about['models'].values())}.json"
    where = {"processes": config.processes, "cluster": config.cluster}
    results.find("arena", lambda: met(game, texts, config.games, plan.arena_plies, file, **where))
    curves = {method: results[f"run {method}"]["curve"] for method in paths}
    hand_made = results[f"strength {HAND_MADE}"][str(config.depths[0])]["mean"]
    plot(curves, hand_made, config.target("methods.png"))
    write_page(config, "methods.md", signed(config, page_of(game, plan, config, results)))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
