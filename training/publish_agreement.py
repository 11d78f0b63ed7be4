"""Ships the best sparse network of a run: judges it on positions of the final seeds and writes the model and its card.

Without an exact solver there is no judge; the card then names the study that measures the shipped file.

python -m leafwise.training.publish_agreement --run runs/cassis-selfplay-1 --plies 1 13
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.models.files import (
    game_of,
    load_sparse,
    load_tensors,
    model_path,
    save_network,
    shipped_name,
    write_atomically,
)
from leafwise.training.evaluation.agreement import critical_positions, has_solver
from leafwise.training.evaluation.arena import FINAL_SEED, bootstrap_interval
from leafwise.training.runs.folder import hardware, publish_main


@dataclass(frozen=True)
class Config:
    """Options of the publication."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card; the files take the name of the game's Gymnasium id."""
    positions: int = 500
    """Critical positions (some legal action loses value) that judge it."""
    plies: tuple[int, int] = (8, 20)
    """Least and most actions before such a position."""
    ahead: int = 0
    """Those actions are random, or with a depth those of players who search so deep for an end and else act at random."""
    depths: tuple[int, ...] = (1, 2, 3)
    """Search depths at which it is judged."""


def ship(config: Config) -> Path:
    """Judges and writes a model; returns its path. Raises ValueError if there is no such model to publish."""
    source = model_path(config.run)
    game = game_of(source)
    network = load_sparse(source, game)
    told = load_tensors(source)[1]
    scores: list[dict[str, Any]] = []
    judged = None
    if has_solver(game):
        judged = critical_positions(game, config.positions, FINAL_SEED, config.plies, config.ahead)
    for depth in config.depths if judged is not None else ():
        assert judged is not None
        found: dict[str, Any] = {"depth": depth, "positions": config.positions, "plies": list(config.plies)}
        found["ahead"] = config.ahead
        for name, leaf in (("learned", network.evaluator("learned")), ("hand_made", game.score())):
            kept = judged.kept(judged.choices(leaf, depth)).astype(float)
            low, high = bootstrap_interval(kept)
            found[name] = {"mean": float(kept.mean()), "ci_low": low, "ci_high": high}
        scores.append(found)
        print(
            f"depth {depth}: keeps the value in {found['learned']['mean']:.1%}, by hand {found['hand_made']['mean']:.1%}"
        )
    kept_words: dict[str, Any] = {
        name: told[name] for name in ("steps", "seconds", "command", "commit", "start") if name in told
    }
    target = Path(config.out) / f"{shipped_name(game)}.safetensors"
    kept_words |= {"hardware": hardware(), "selected": told["score"], "score": scores}
    save_network(target, network, kept_words)
    write_atomically(target.with_suffix(".md"), card(target).encode())
    return target


def card(path: Path) -> str:
    """Returns the card of a published model, told by the file itself."""
    told = load_tensors(path)[1]
    game = game_of(path)
    options = "".join(f", {k} = {v}" for k, v in told["options"].items())
    lines = [
        f"# {game.name}{options}: a shipped value network",
        "",
        f"A network with a sparse first layer, layers {', '.join(map(str, told['hidden']))}, {path.stat().st_size / 1e6:.2f} MB.",
        f"It says what a position is worth to the player who acts. `leafwise.load({path.stem!r})` loads it.",
        "",
        f"- command: `{told['command']}`",
        f"- commit: {told['commit']}",
        f"- {told['steps']:,} steps (see the method's page) in {told['seconds']:,.0f} s on {told['hardware']}",
        *started(told),
        "- no solver's label was learned from; the network was chosen by matches against earlier ones",
        "",
    ]
    lines += judgement(game, told["score"]) if told["score"] else [
        f"`python -m leafwise.experiments.{game.name}.learned` measures it; its page is",
        f"[learned.md](../../experiments/{game.name}/learned.md). Written by",
        "",
        "    python -m leafwise.training.publish_agreement --run RUN",
    ]  # fmt: skip
    return "\n".join([*lines, ""])


def started(told: dict[str, Any]) -> list[str]:
    """Returns the lines of a card about the network that training started from, if it did from one."""
    start = told.get("start")
    if not start:
        return []
    steps, seconds = f"{start['steps']:,} steps", f"{start['seconds']:,.0f} s"
    return [f"- it started from the network of `{start['command']}` (commit {start['commit']}, {steps} in {seconds})"]


def judgement(game: Game, scores: list[dict[str, Any]]) -> list[str]:
    """Returns the lines of a card about positions that the exact solver judges."""
    low, high = scores[0]["plies"]
    ahead = scores[0].get("ahead", 0)
    source = f"actions of players who see {ahead} ahead and know nothing else" if ahead else "random actions"
    lines = [
        f"Share of {scores[0]['positions']} critical positions (some legal action loses value) after {low} to {high}",
        f"{source} in which the search's choice keeps the game's value, with 95 % bootstrap intervals:",
        "",
        f"| search depth | learned | hand-made (`{game.default_score}`) |",
        "|---|---|---|",
    ]
    for s in scores:
        cells = (
            f"{s[k]['mean']:.1%} ({s[k]['ci_low']:.1%} to {s[k]['ci_high']:.1%})" for k in ("learned", "hand_made")
        )
        lines.append(f"| {s['depth']} | {' | '.join(cells)} |")
    return [
        *lines,
        "",
        f"Positions are drawn from seed {FINAL_SEED:,}, which neither training nor selection used. Written by",
        "",
        f"    python -m leafwise.training.publish_agreement --run RUN --plies {low} {high}"
        + f" --ahead {ahead}" * bool(ahead),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return publish_main("leafwise.training.publish_agreement", Config, ship, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
