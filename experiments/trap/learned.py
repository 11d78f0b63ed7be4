"""Measures the shipped network of Trap against hand-made leaves and the course's players, on the final seeds.

`python -m leafwise.experiments.trap.learned` plays the matches of every part that are missing and writes `learned.json`
after every few games; what stands there is not played again, so a stopped study goes on where it was. `learned.md` is the
table, made when all are played; `--parts` without a part makes it of what is there. Every seed is played from both seats.
Times are processor time, so that a busy machine does not disturb them.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.arena import FINAL_SEED, bootstrap_interval, evaluate
from leafwise.training.evaluation.elo import Unit, rate

FOLDER = Path(__file__).resolve().parent
MODULE = "leafwise.experiments.trap.learned"
CHUNK = 20
"""Games between two times that results are written."""


@dataclass(frozen=True)
class Config:
    """Plays the matches of Trap's learned leaf and writes learned.json and learned.md."""

    parts: tuple[str, ...] = ("depth", "time", "course", "options", "patience", "chance")
    """depth, time: against hand-made leaves at equal depth and time. course: against the course's players. options: other
    settings of the search against its own. patience: more time against less. chance: what simpler chance costs."""
    model: str = "learned"
    """Leaf that is measured: the shipped model, a run folder or a file."""
    rivals: tuple[str, ...] = ("reach_open", "reach")
    """Hand-made leaves that it meets, the best by the ladder."""
    candidates: str = "near+traps"
    """Throws that the searches consider."""
    rare: float = 0.25
    """Outcomes of a throw less probable than this are valued at once."""
    depths: tuple[int, ...] = (4, 6)
    """Depths in decisions, two a turn."""
    seconds: tuple[float, ...] = (0.005, 0.05, 0.2)
    """Seconds of a turn, half of it for the move and half for the throw."""
    course_seconds: float = 0.05
    """Seconds of a turn against the course's players, which have no clock."""
    games: int = 400
    """Games of a match at equal depth or time."""
    other_games: int = 100
    """Games of the other matches."""
    first_seed: int = FINAL_SEED
    """First seed."""
    plot: bool = False
    """Also draw strength.png, Elo against time, from what is known of `patience` (needs matplotlib)."""
    folder: Path = FOLDER
    """Where the results are, and go."""


class Match(NamedTuple):
    """Two players, and how many games they play."""

    title: str
    player: str
    opponent: str
    games: int


OTHERS = {"candidates": ("near", "all"), "width": ("8", "16"), "symmetric": ("1",)}
"""Options of the search, and the values that are tried instead of its own."""


MORE_SECONDS = (0.01, 0.02, 0.05)
"""Seconds of a turn that meet 0.005."""


def search(config: Config, leaf: str, effort: str, **changed: str) -> str:
    """Returns the text of a search with a leaf, some of its options `changed`."""
    options = {"candidates": config.candidates, "rare": f"{config.rare:g}", **changed}
    return f"search:{leaf},{effort}," + ",".join(f"{name}={value}" for name, value in options.items())


def patient(seconds: float) -> str:
    """Returns the title of a match of more time against less."""
    return f"{1000 * seconds:g} ms a turn, against itself with 5 ms"


def turn(seconds: float) -> str:
    """Returns the options of a search that has so long for a turn."""
    return f"seconds={seconds / 2:g},clock=cpu,table_mb=4"


def matches(config: Config, part: str) -> Iterator[Match]:
    """Yields the matches of a part; raises ValueError for a part that there is not."""
    few = config.other_games
    if part == "depth":
        for depth, rival in product(config.depths, config.rivals):
            own, other = (search(config, leaf, f"depth={depth}") for leaf in (config.model, rival))
            yield Match(f"depth {depth} ({depth / 2:g} turns), against `{rival}`", own, other, config.games)
    elif part == "time":
        for seconds, rival in product(config.seconds, config.rivals):
            own, other = (search(config, leaf, turn(seconds)) for leaf in (config.model, rival))
            yield Match(f"{1000 * seconds:g} ms a turn, against `{rival}`", own, other, config.games)
    elif part == "course":
        own = search(config, config.model, turn(config.course_seconds))
        for name in ("is", "ais", "ocls"):
            yield Match(
                f"{1000 * config.course_seconds:g} ms a turn, against `course:{name}`", own, f"course:{name}", few
            )
    elif part == "options":
        own = search(config, config.model, turn(0.02))
        for option, values in OTHERS.items():
            for value in values:
                other = search(config, config.model, turn(0.02), **{option: value})
                yield Match(f"20 ms a turn, {option}={value}, against itself without", other, own, few)
    elif part == "patience":
        less = search(config, config.model, turn(0.005))
        for seconds in MORE_SECONDS:
            yield Match(patient(seconds), search(config, config.model, turn(seconds)), less, few)
    elif part == "chance":
        own, other = (search(config, config.model, turn(0.02), **changed) for changed in ({}, {"rare": "0"}))
        yield Match("20 ms a turn, rare landings valued at once, against all searched", own, other, few)
        for model in ("hit_miss", "full"):
            yield Match(
                f"`course:is` with chance `{model}`, against `p_only`", f"course:is,chance={model}", "course:is", few
            )
    else:
        raise ValueError(f"expected parts among depth, time, course, options, patience, chance, got {part!r}")


def figures(scores: list[float]) -> dict[str, float]:
    """Returns share, interval and Elo from returns, two games a seed."""
    points = (1 + np.array(scores).reshape(-1, 2).mean(axis=1)) / 2
    low, high = bootstrap_interval(points)
    elo, error = rate(2, [Unit(0, 1, 2 * float(p), 2) for p in points]).difference(0, 1)
    return {"share": float(points.mean()), "ci_low": low, "ci_high": high, "elo": elo, "elo_error": error}


def play(match: Match, known: dict[str, Any], first_seed: int) -> Iterator[dict[str, Any]]:
    """Yields what is known of a match after every few games more, to its end."""
    scores: list[float] = list(known.get("scores", []))
    moves, spent = known.get("moves", 0), known.get("seconds", 0.0)
    while len(scores) < match.games:
        games = min(CHUNK, match.games - len(scores))
        seed = first_seed + len(scores) // 2
        found = evaluate(game("trap"), match.player, games, seed, opponent=match.opponent)
        scores += found.scores.tolist()
        moves += found.moves
        spent += found.moves * found.seconds_per_move
        told = {"player": match.player, "opponent": match.opponent, "scores": scores, "moves": moves, "seconds": spent}
        yield {**told, **figures(scores)}


def row(title: str, found: dict[str, Any]) -> str:
    """Returns a line of the table."""
    scores = np.array(found["scores"])
    results = " / ".join(str(int((scores == result).sum())) for result in (1, 0, -1))
    share = f"{found['share']:.1%} ({found['ci_low']:.1%} to {found['ci_high']:.1%})"
    return f"| {title} | {len(scores)} | {results} | {share} | {found['elo']:+.0f} ± {found['elo_error']:.0f} |"


def page(results: dict[str, Any], config: Config) -> str:
    """Returns learned.md."""
    lines = [
        "# Trap: the learned leaf",
        "",
        f"Throws considered: {config.candidates}; landings less probable than {config.rare:g} are valued at once. Seeds from "
        f"{config.first_seed:,} on, each from both seats. Times are processor time.",
        "",
        "| match | games | won / drawn / lost | share of the points (95 %) | Elo |",
        "|---|---|---|---|---|",
        *(row(title, found) for title, found in results.items()),
        "",
        f"Written by `python -m {MODULE}`, which plays what is missing of each match; `--parts`, `--games` and `--other-games`",
        "choose which and how long. [strength.png](strength.png) draws Elo against the time of a turn. The network learned in",
        "three runs, from nothing and then twice from the run before: [curves.png](curves.png), [continued.png](continued.png),",
        "[further.png](further.png). What ships is the best network of the last run's iteration 16, chosen on seeds from 900,000.",
        "",
        "![A game against `reach_open`, with the odds of each throw](game.gif)",
        "",
        "    leafwise record trap --player search:learned,seconds=0.1,candidates=near+traps,rare=0.25 \\",
        "      --opponent search:reach_open,seconds=0.1,candidates=near+traps,rare=0.25 --seed 3 --chance --milliseconds 400",
        "",
    ]
    return "\n".join(lines)


def plot(results: dict[str, Any], path: Path) -> None:
    """Draws Elo against the time of a turn; raises ValueError if no match tells it."""
    known = [(1000 * seconds, results[patient(seconds)]) for seconds in MORE_SECONDS if patient(seconds) in results]
    if not known:
        raise ValueError("expected matches of the part patience to draw, got none")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    times, elo, errors = zip(*[(5.0, 0.0, 0.0), *((ms, m["elo"], m["elo_error"]) for ms, m in known)], strict=True)
    axes.errorbar(times, elo, errors, marker="o", capsize=3)
    axes.set(xscale="log", xlabel="milliseconds a turn", ylabel="Elo over itself with 5 ms a turn (95 %)")
    axes.set_xticks(times, [f"{ms:g}" for ms in times])
    axes.minorticks_off()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    pyplot.close(figure)
    write_atomically(path, picture.getvalue())


def study(config: Config) -> dict[str, Any]:
    """Plays what is missing; returns what is known of each match, by title."""
    wanted = [match for part in config.parts for match in matches(config, part)]
    config.folder.mkdir(parents=True, exist_ok=True)
    path = config.folder / "learned.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for match in wanted:
        known = results.get(match.title, {})
        if known and (known["player"], known["opponent"]) != (match.player, match.opponent):
            raise ValueError(f"{path}: expected {match.player} against {match.opponent}; give another --folder")
        for found in play(match, known, config.first_seed):
            results[match.title] = found
            write_atomically(path, (json.dumps(results) + "\n").encode())
        print(row(match.title, results[match.title]), flush=True)
    write_atomically(config.folder / "learned.md", page(results, config).encode())
    if config.plot:
        plot(results, config.folder / "strength.png")
    return results


def main() -> int:
    """Runs the command."""
    config = parse(Config, sys.argv[1:], f"python -m {MODULE}")
    try:
        study(config)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
