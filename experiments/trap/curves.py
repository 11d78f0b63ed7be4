"""Draws how a run of self-play learned: Elo over earlier networks, loss, by iteration.

`python -m leafwise.experiments.trap.curves --run runs/trap-selfplay-1` reads the run's TensorBoard events and writes
`curves.json` and `curves.png` here (needs matplotlib and the `train` extra), or files of another --name.
"""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from leafwise.envs.core.commandline import parse
from leafwise.models.files import write_atomically

FOLDER = Path(__file__).resolve().parent
MODULE = "leafwise.experiments.trap.curves"
TAGS = ("eval/elo", "eval/best_elo", "eval/score_mean", "train/loss", "rollout/ep_len_mean")


@dataclass(frozen=True)
class Config:
    """Draws the learning curves of a run."""

    run: str
    """Run folder."""
    name: str = "curves"
    """Name of the files."""
    folder: Path = FOLDER
    """Folder for them."""


def curves(run: str) -> dict[str, list[float]]:
    """Returns what was logged after each iteration, by tag; raises ValueError for a folder without events."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(run)
    events.Reload()
    logged = events.Tags()["scalars"]
    if not set(TAGS) <= set(logged):
        raise ValueError(f"expected a run of self-play with events, got {run!r}")
    return {tag: [round(event.value, 4) for event in events.Scalars(tag)] for tag in TAGS}


def plot(found: dict[str, list[float]], path: Path) -> None:
    """Draws Elo and loss against iterations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    steps = range(1, 1 + len(found["eval/elo"]))
    left.plot(steps, found["eval/elo"], marker="o", label="newest network")
    left.step(steps, found["eval/best_elo"], where="post", label="best so far")
    left.set(xlabel="iteration", ylabel="Elo; the network at the start has 0")
    left.legend()
    right.plot(steps, found["train/loss"], marker="o")
    right.set(xlabel="iteration", ylabel="loss")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())


def main() -> int:
    """Runs the command."""
    config = parse(Config, sys.argv[1:], f"python -m {MODULE}")
    try:
        found = curves(config.run)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    write_atomically(config.folder / f"{config.name}.json", (json.dumps(found) + "\n").encode())
    plot(found, config.folder / f"{config.name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
