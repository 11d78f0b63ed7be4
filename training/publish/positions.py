"""Publishing networks of games for two: judged by the exact solver on critical positions of the final seeds.

Without an exact solver there is no judge; the card then names the study that measures the shipped file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from leafwise.envs.core.files import read_text
from leafwise.models.files import load_tensors
from leafwise.models.sparse import SparseNetwork, load_sparse
from leafwise.training.evaluation.agreement import Judged, Keeping, critical_positions, has_solver
from leafwise.training.evaluation.matches import Pairs
from leafwise.training.evaluation.statistics import bounds, elo_difference, points_interval, share_interval
from leafwise.training.execution import executor_for
from leafwise.training.execution.executor import Own
from leafwise.training.publish.card import interval
from leafwise.training.runs import FINAL_SEED, REMATCH_SEED, SELECTION_SEED
from leafwise.training.runs.gating import named

WHAT, UNIT, load = "value network", "steps", load_sparse
EXACT_NODES = "--exact-nodes"
OPTIONS = ("judged", "judged_plies", "judged_depth", "depths", "rematch", "half")


def prepare(network: SparseNetwork, source: Path, told: Any, config: Any) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns the network that is published, and what hand-made leaf it is held against."""
    more: dict[str, Any] = {"hand_made": network.game.default_score}
    if config.rematch:
        network, chosen = rematch(source, network, config.rematch)
        more |= chosen
    return network.rounded() if config.half else network, more


def rematch(source: Path, best: SparseNetwork, games: int) -> tuple[SparseNetwork, dict[str, Any]]:
    """Plays a match of a run's newest and best network, as the run does; returns the better one and what is told of it.

    Raises ValueError where the trainer's state is missing.
    """
    tensors, state = load_tensors(source.with_name("state.safetensors"))
    told = tomllib.loads(read_text(source.with_name("config.toml")))
    newest, first = best.with_tensors(named(tensors, "newest")), REMATCH_SEED - SELECTION_SEED
    how = (
        told["match_depth"],
        told["plies"],
        told["rare"],
        told["candidates"] or None,
        told.get("match_from_start", 0.0),
    )
    points = (1 + Pairs(Own((newest, best)), range(first, first + games // 2), *how)().mean(axis=1)) / 2
    mean, (low, high) = float(points.mean()), points_interval(points)
    print(f"the newest network, against the best: {mean:.1%} ({low:.1%} to {high:.1%}) of {games:,} games", flush=True)
    if mean <= 0.5:
        return best, {}
    selected = {"mean": mean, "games": games, "against": "the run's best", "elo": elo_difference(mean)}
    return newest, {"steps": state["done"], "seconds": round(state["seconds"], 1), "selected": selected}


def measure(network: SparseNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields the shares of positions in which a search keeps the value, by depth; an empty one where nothing judges."""
    game, plies = network.game, config.judged_plies
    if not has_solver(game):
        yield {}
        return
    where = config.processes, config.cluster
    with executor_for(Keeping(game), *where) as solvers:
        judged = critical_positions(game, config.judged, FINAL_SEED, plies, config.judged_depth, solvers)
    pieces = [(depth, name) for depth in config.depths for name in ("learned", "hand_made")]
    with executor_for(partial(kept, judged, network), *where, len(pieces)) as executor:
        shares = executor.in_order(enumerate(pieces))
        for depth in config.depths:
            found: dict[str, Any] = {"depth": depth, "positions": config.judged, "plies": list(plies)}
            found["ahead"] = config.judged_depth
            found |= {"learned": next(shares), "hand_made": next(shares)}
            both = f"{found['learned']['mean']:.1%}, by hand {found['hand_made']['mean']:.1%}"
            print(f"depth {depth}: keeps the value in {both}", flush=True)
            yield found


def kept(judged: Judged, network: SparseNetwork, piece: tuple[int, str]) -> dict[str, float | None]:
    """Returns in what share of decisions a leaf at a depth keeps the value, with its interval: a piece of work."""
    depth, name = piece
    leaf = network.evaluator(name) if name == "learned" else network.game.score()
    keeps = judged.kept(judged.choices(leaf, depth))
    return with_interval(float(keeps.mean()), len(keeps))


def with_interval(share: float, positions: int) -> dict[str, float | None]:
    """Returns a share of positions with its interval."""
    return {"mean": share, **bounds(share_interval(round(share * positions), positions))}


def about(path: Path, told: dict[str, Any]) -> list[str]:
    """Returns what the model is."""
    layers, size = ", ".join(map(str, told["hidden"])), path.stat().st_size / 1e6
    return [
        f"A network with a sparse first layer, layers {layers}, {size:.2f} MB.",
        "It says what a position is worth to the player who acts.",
    ]


def made(told: dict[str, Any]) -> list[str]:
    """Returns how the model was chosen."""
    words = told["command"].split()
    nodes = int(words[words.index(EXACT_NODES) + 1]) if EXACT_NODES in words else 0
    if not nodes:
        return ["- no solver's label was learned from; the network was chosen by matches against earlier ones"]
    return [
        f"- targets are exact where an alpha-beta search to the end takes at most {nodes:,} nodes (the solver's, which knew",
        "  nothing by heart), else values of the network's own searches; it was chosen by matches against earlier ones",
    ]


def figures(told: dict[str, Any]) -> list[str]:
    """Returns the table of figures, or where they are."""
    first = told["score"][0]
    if not first:
        page = "sizes" if told["options"] else "turns"
        return [
            f"`python -m leafwise.experiments.{told['game']}.{page}` measures it; its page is",
            f"[{page}.md](../../experiments/{told['game']}/{page}.md).",
        ]
    low, high = first["plies"]
    source = (
        f"actions of players who see {first['ahead']} ahead and know nothing else"
        if first["ahead"]
        else "random actions"
    )
    lines = [
        f"Share of {first['positions']} critical positions (some legal action loses value) after {low} to {high}",
        f"{source} in which the search's choice keeps the game's value, with Wilson's 95 % intervals:",
        "",
        f"| search depth | learned | hand-made (`{told['hand_made']}`) |",
        "|---|---|---|",
    ]
    for s in told["score"]:
        shares = (interval(with_interval(s[name]["mean"], s["positions"])) for name in ("learned", "hand_made"))
        lines.append(f"| {s['depth']} | {' | '.join(shares)} |")
    return [*lines, "", f"Positions are drawn from seed {FINAL_SEED:,}, which neither training nor selection used."]
