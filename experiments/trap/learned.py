"""Measures the shipped network of Trap against hand-made leaves and the course's players, on the final seeds.

`python -m leafwise.experiments.trap.learned` plays the matches of every part that are missing and writes `learned.json`
after every few games; what stands there is not played again, so a stopped study goes on where it was. `learned.md` is the
table, made when all are played; `--parts` without a part makes it of what is there. Shares, intervals and Elo are worked out of
the scores each time. Every seed is played from both seats.
Times are processor time, so that a busy machine does not disturb them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    PlacedStudy,
    Results,
    command,
    known_results,
    missing_seeds,
    picture,
    share,
    table,
    with_bars,
    write_page,
)
from leafwise.training.evaluation.arena import FINAL_SEED, evaluate
from leafwise.training.evaluation.elo import Unit, rate
from leafwise.training.evaluation.intervals import bounds, points_interval

PAIRS = 10
"""Pairs of games between two times that results are written."""


@dataclass(frozen=True)
class Config(PlacedStudy):
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
        raise UserError(f"expected parts among depth, time, course, options, patience, chance, got {part!r}")


def figures(scores: list[float]) -> dict[str, Any]:
    """Returns share, interval and Elo from returns, two games a seed."""
    points = (1 + np.array(scores).reshape(-1, 2).mean(axis=1)) / 2
    elo, error = rate(2, [Unit(0, 1, 2 * float(p), 2) for p in points]).difference(0, 1)
    return {"share": float(points.mean()), **bounds(points_interval(points)), "elo": elo, "elo_error": error}


def work_out(results: Results) -> None:
    """Works the figures of all matches out of their scores, as they are worked out now, and writes them."""
    results.update({title: found | figures(found["scores"]) for title, found in results.items()})
    results.save()


def play(match: Match, results: Results, first_seed: int, **where: Any) -> None:
    """Plays the games of a match that are missing; raises ValueError if those that are known are other players'."""
    known = results.get(match.title, {"player": match.player, "opponent": match.opponent})
    if (known["player"], known["opponent"]) != (match.player, match.opponent):
        raise UserError(
            f"learned.json: expected {match.player} against {match.opponent}; give another --data and --out"
        )
    scores: list[float] = list(known.get("scores", []))
    moves, spent = known.get("moves", 0), known.get("seconds", 0.0)
    for seeds in missing_seeds(len(scores) // 2, match.games // 2, PAIRS, first_seed):
        found = evaluate(
            game("trap"), match.player, 2 * len(seeds), seeds[0], opponent=match.opponent,
            **where,
        )  # fmt: skip
        scores += found.scores.tolist()
        moves += found.moves
        spent += found.moves * found.seconds_per_move
        told = {"player": match.player, "opponent": match.opponent, "scores": scores, "moves": moves, "seconds": spent}
        told |= figures(scores)
        results.keep(match.title, told, f"{match.title}, {len(scores)} games: {share(told, 'share')}")


def row(title: str, found: dict[str, Any]) -> list[str]:
    """Returns a row of the table."""
    scores = np.array(found["scores"])
    counts = " / ".join(str(int((scores == result).sum())) for result in (1, 0, -1))
    return [
        title,
        f"{len(scores)}",
        counts,
        share(found, "share"),
        f"{found['elo']:+.0f} ± {found['elo_error']:.0f}",
    ]


def page(results: dict[str, Any], config: Config) -> list[str]:
    """Returns learned.md."""
    return [
        "# Trap: the learned leaf",
        "",
        f"Throws considered: {config.candidates}; landings less probable than {config.rare:g} are valued at once. Seeds from "
        f"{config.first_seed:,} on, each from both seats. Times are processor time.",
        "",
        *table(
            "match | games | won / drawn / lost | share of the points (95 %) | Elo",
            [row(title, found) for title, found in results.items()],
        ),
        "",
        f"Written by `{config.program()}`, which plays what is missing of each match; `--parts`, `--games` and `--other-games`",
        "choose which and how long. [strength.png](strength.png) draws Elo against the time of a turn. The network learned in",
        "three runs, from nothing and then twice from the run before: [curves.png](curves.png), [continued.png](continued.png),",
        "[further.png](further.png), the last 16 iterations long. These games are that network's, as it",
        "shipped with commit 6396803, in the search of single decisions. Today's [learned from one that went on from",
        "it](../../models/weights/trap.md);",
        "[turns.md](turns.md) has its games in the search of whole turns.",
        "",
        "![A game against `reach_open`, with the odds of each throw](game.gif)",
        "",
        "    leafwise record trap --player search:learned,seconds=0.1,candidates=near+traps,rare=0.25 \\",
        "      --opponent search:reach_open,seconds=0.1,candidates=near+traps,rare=0.25 --seed 3 --chance --milliseconds 400",
    ]


def plot(results: dict[str, Any], path: Path) -> None:
    """Draws Elo against the time of a turn; raises ValueError if no match tells it."""
    known = [(1000 * seconds, results[patient(seconds)]) for seconds in MORE_SECONDS if patient(seconds) in results]
    if not known:
        raise UserError("expected matches of the part patience to draw, got none")
    known = [(5.0, {"elo": 0.0, "elo_error": 0.0}), *known]
    times, elo = [ms for ms, _ in known], [found["elo"] for _, found in known]
    low, high = ([found["elo"] + side * found["elo_error"] for _, found in known] for side in (-1, 1))
    with picture(path, size=(8, 5)) as axis:
        with_bars(axis, times, elo, low, high)
        axis.set_title("Trap, the learned leaf: more time against less")
        axis.set(xscale="log", xlabel="milliseconds a turn", ylabel="Elo over itself with 5 ms a turn (95 %)")
        axis.set_xticks(times, [f"{ms:g}" for ms in times])
        axis.minorticks_off()


def study(config: Config) -> None:
    """Plays what is missing, and writes the page."""
    wanted = [match for part in config.parts for match in matches(config, part)]
    results = known_results(config, "learned.json")
    for match in wanted:
        play(match, results, config.first_seed, processes=config.processes, cluster=config.cluster)
    work_out(results)
    write_page(config, "learned.md", page(results, config))
    if config.plot:
        plot(results, config.target("strength.png"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
