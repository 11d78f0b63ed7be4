"""Compares the learned leaf of Friday with the hand-made ones at equal depth and at equal time, and tests its calibration.

`python -m leafwise.experiments.friday.learned` plays levels 1 to 4 on seeds from 2,200,000 on, without knowledge of hidden cards.
It writes `learned.json` and `learned.md` part by part. Known games are not played again with the same command and model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from leafwise.envs.friday.scores import NAMES
from leafwise.envs.registry import game as find_game
from leafwise.experiments.friday.baselines import (
    COLUMNS,
    LEVELS,
    known_blocks,
    missing_blocks,
    play_seeds,
    share_won,
    wins_of,
)
from leafwise.experiments.study import DistributedStudy, command, results_of, signed, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.training.evaluation.calibration import BINS, calibration
from leafwise.training.execution.generations import call
from leafwise.training.games import play_solo

FIRST_SEED = 2_200_000
"""First seed of the games, which no earlier network has played."""
KINDS = {"depth 1": 250, "depth 2": 50, "1 ms": 20, "10 ms": 4}
"""Limits of a search, and games between two saves."""
LEARNED = "learned"
GAMES = {
    LEARNED: {"depth 1": 2000, "1 ms": 300, "depth 2": 400, "10 ms": 40},
    "pirates": {"depth 1": 2000, "1 ms": 100, "depth 2": 300, "10 ms": 20},
}
"""Games a level of a leaf by limit, quickest first; `pirates` is the only hand-made leaf that wins games."""
OTHERS = {"depth 1": 500, "1 ms": 100, "depth 2": 500, "10 ms": 20}
"""The same for the other leaves."""
LEAVES = (LEARNED, "pirates", *(name for name in reversed(NAMES) if name != "pirates"))


@dataclass(frozen=True)
class Config(DistributedStudy):
    """Compares the learned leaf of Friday with the hand-made ones."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    nodes: int = 100
    """Maximum decisions of a search with fixed depth."""


def limit(kind: str, nodes: int) -> str:
    """Returns the search options of a kind of limit."""
    n = amount(kind)
    return f"depth={n},nodes={nodes}" if kind.startswith("depth") else f"seconds={n / 1000},clock=cpu"


def amount(kind: str) -> int:
    """Returns the depth or the milliseconds of a kind of limit."""
    return int("".join(filter(str.isdigit, kind)))


def play(kind: str, level: int, leaf: str, nodes: int, seeds: range) -> dict[str, Any]:
    """Plays games; at fixed depth, if the leaf's values are chances, counts wins by tenths of the chance."""
    game, games = find_game("friday", level=level), len(seeds)
    if not kind.startswith("depth"):
        outcomes = play_seeds(game, f"search:{leaf},{limit(kind, nodes)}", seeds)
        moves, seconds = sum(o.moves for o in outcomes), sum(o.seconds for o in outcomes)
        wins, tenths = sum(o.won for o in outcomes), {}
    else:
        evaluator = named_leaf(game, leaf)
        played = play_solo(game, evaluator, seeds[0], games, depth=amount(kind), nodes=nodes)
        moves, seconds, wins = len(played.values), played.seconds, int(played.scores.sum())
        says_chances = evaluator.high == 1.0
        tenths = {"tenths": calibration(played.values, played.outcomes())[1]} if says_chances else {}
    return {"games": games, "wins": wins, "decisions": moves / games, "ms": 1000 * seconds / max(moves, 1), **tenths}


def together(blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the figures of all games of some blocks."""
    moves = [block["games"] * block["decisions"] for block in blocks]
    ms = sum(n * block["ms"] for n, block in zip(moves, blocks, strict=True)) / max(sum(moves), 1)
    return {**wins_of(blocks), "ms": ms, **calibrated([t for block in blocks for t in block.get("tenths", [])])}


def calibrated(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merges decisions counted by tenths and returns their calibration error; {} without decisions."""
    tenths = []
    for k in range(BINS):
        here = [t for t in parts if min(int(t["chance"] * BINS), BINS - 1) == k]
        if n := sum(t["decisions"] for t in here):
            sums = {name: sum(t["decisions"] * t[name] for t in here) / n for name in ("chance", "won")}
            tenths.append({"decisions": n, **sums})
    if not tenths:
        return {}
    error = sum(t["decisions"] * abs(t["chance"] - t["won"]) for t in tenths)
    return {"tenths": tenths, "calibration_error": error / sum(t["decisions"] for t in tenths)}


class LevelPlan(NamedTuple):
    """Games of one leaf at one level under one limit."""

    kind: str
    """One of KINDS."""
    level: int
    name: str
    games: int

    @property
    def title(self) -> str:
        """Beginning of the names of its blocks."""
        return f"{self.kind}, level {self.level}, {self.name}"


def plans() -> Iterator[LevelPlan]:
    """Yields all games to play, quickest first."""
    for kind, level, name in product(OTHERS, LEVELS, LEAVES):
        yield LevelPlan(kind, level, name, GAMES.get(name, OTHERS)[kind])


def study(config: Config) -> None:
    """Plays the missing games and writes the page; games of hand-made leaves have their own file, since they outlast a model."""
    rules = f"{config.program()}; {'; '.join(limit(kind, config.nodes) for kind in KINDS)}; {FIRST_SEED}"
    by_hand = results_of(config, "learned_by_hand.json", command=rules)
    learned = results_of(config, "learned.json", [config.model], rules)
    missing = []
    for plan in plans():
        results, leaf = (learned, config.model) if plan.name == LEARNED else (by_hand, plan.name)
        for name, seeds in missing_blocks(plan.title, results, plan.games, KINDS[plan.kind], FIRST_SEED):
            missing.append((results, name, partial(play, plan.kind, plan.level, leaf, config.nodes, seeds)))
    played = config.each(call, [work for _, _, work in missing])
    for (results, name, _), result in zip(missing, played, strict=True):
        results.keep(name, result)
    every = {**by_hand, **learned}
    together_by_title = {plan.title: together(known_blocks(plan.title, every)) for plan in plans()}
    write_page(config, "learned.md", signed(config, lines(together_by_title, config)))


def lines(results: dict[str, Any], config: Config) -> list[str]:
    """Returns the page."""
    text = [
        "# Friday: the learned leaf against the hand-made ones",
        "",
        "The tables have the share of games won by a search, and in brackets the 95 % interval (Wilson) and the number of",
        "games. The [leaf](../../docs/terms.md#leaf) `learned` is the network in the package; the other leaves are hand-made. "
        "No player sees hidden",
        f"cards. All players have the same seeds, from {FIRST_SEED:,} on. [Depth](../../docs/terms.md#depth) counts "
        "only decisions that reveal a card.",
        f"In the tables of equal depth a search looks at no more than {config.nodes} decisions. Times are processor time. "
        "To repeat",
        "a row at level L, run `leafwise eval` with the text of the last column.",
    ]
    for kind in KINDS:
        what = f"at {kind}" if kind.startswith("depth") else f"with {kind} for every decision"
        rows = []
        for name in LEAVES:
            by_level = [results[f"{kind}, level {level}, {name}"] for level in LEVELS]
            leaf = config.model if name == LEARNED else name
            player = f"search:{leaf},{limit(kind, config.nodes)}"
            again = f"`friday {player} --level L --games {by_level[0]['games']} --seed {FIRST_SEED}`"
            rows.append(
                [f"`{name}`", *map(share_won, by_level), f"{sum(f['ms'] for f in by_level) / len(by_level):.2g}", again]
            )
        head = f"leaf | {COLUMNS} | ms per decision | `leafwise eval`"
        text += ["", f"## Equal search {what}", "", *table(head, rows), "", separation_line(results, kind)]
    text += ["", "## How accurate are the predicted chances?", ""]
    text += [
        "At every decision of its games the learned leaf predicts the chance to win. We put predictions from 0 to 0.1 into one",
        "group, those from 0.1 to 0.2 into the next, and so on. The calibration error is the mean difference between the",
        "predicted chance of a group and its share of games won. The table has the calibration errors of the games above:",
        "",
    ]
    errors = []
    for kind in (kind for kind in KINDS if kind.startswith("depth")):
        by_level = [results[f"{kind}, level {level}, {LEARNED}"] for level in LEVELS]
        whole = calibrated([t for f in by_level for t in f["tenths"]])
        errors.append([kind, *(f"{f['calibration_error']:.3f}" for f in (*by_level, whole))])
    tenths = results[f"depth 1, level 1, {LEARNED}"]["tenths"]
    rows = [[f"{t['decisions']:,}", f"{t['chance']:.3f}", f"{t['won']:.3f}"] for t in tenths]
    return [
        *text,
        *table(f"search | {COLUMNS} | all levels", errors),
        "",
        "The next table has the groups of the games at level 1 and depth 1:",
        "",
        *table("decisions | mean predicted chance | share of games won", rows),
        "",
    ]


def separation_line(results: dict[str, Any], kind: str) -> str:
    """Returns a sentence on the levels where the learned leaf's interval lies above all others."""
    yes: list[str] = []
    no: list[str] = []
    for level in LEVELS:
        learned, *others = (results[f"{kind}, level {level}, {name}"] for name in LEAVES)
        (yes if learned["ci_low"] > max(other["ci_high"] for other in others) else no).append(str(level))
    levels = ", ".join(yes) or "none"
    line = f"The interval of the learned leaf lies above the intervals of all other leaves at these levels: {levels}"
    return line + (f". At the others it does not: {', '.join(no)}." if no else ".")


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
