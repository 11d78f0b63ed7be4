"""Draws how a run of self-play learned: Elo over earlier networks, loss, by iteration.

`python -m leafwise.experiments.trap.curves --run runs/trap-selfplay-1` reads the run's TensorBoard events and writes
`curves.json` and `curves.png`, or files of another --name (needs matplotlib and the `train` extra); without --run the
picture is drawn again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from leafwise.envs.core.textfile import read_text
from leafwise.experiments.study import Study, command, logged, picture, write_json

TAGS = ("eval/elo", "eval/best_elo", "eval/score_mean", "train/loss", "rollout/ep_len_mean")


@dataclass(frozen=True)
class Config(Study):
    """Draws the learning curves of a run."""

    run: str = ""
    """Run folder (default: what an earlier run logged is drawn again)."""
    name: str = "curves"
    """Name of the files."""


def curves(folder: str) -> dict[str, list[float]]:
    """Returns what was logged after each iteration, by tag; raises ValueError for a folder without events."""
    return {tag: [round(value, 4) for value in by_step.values()] for tag, by_step in logged(Path(folder), TAGS).items()}


def plot(found: dict[str, list[float]], path: Path) -> None:
    """Draws Elo and loss against iterations."""
    steps = range(1, 1 + len(found["eval/elo"]))
    with picture(path, columns=2) as (left, right):
        left.plot(steps, found["eval/elo"], marker="o", label="newest network")
        left.step(steps, found["eval/best_elo"], where="post", label="best so far")
        left.set(xlabel="iteration", ylabel="Elo; the network at the start has 0")
        left.legend()
        right.plot(steps, found["train/loss"], marker="o")
        right.set(xlabel="iteration", ylabel="loss")


def study(config: Config) -> None:
    """Reads the run, if one is given, and draws."""
    name = f"{config.name}.json"
    if config.run:
        write_json(config, name, curves(config.run), indent=None)
    found = json.loads(read_text(config.needed(name, "--run RUN")))
    plot(found, config.target(f"{config.name}.png"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
