"""What the learned leaf of Friday is worth against the hand-made ones: at equal depth, at equal time, and how right it is.

`python -m leafwise.experiments.friday.learned` plays levels 1 to 4 on seeds from 2,200,000 on, fair play, and writes `learned.json`
and `learned.md` part by part; what stands there is not played again as long as command and model are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from leafwise.envs.friday.scores import NAMES
from leafwise.envs.registry import game as find_game
from leafwise.experiments.friday.baselines import play_seeds
from leafwise.experiments.study import (
    PlacedStudy,
    Results,
    command,
    missing_seeds,
    results_of,
    share,
    signed,
    table,
    write_page,
)
from leafwise.models.leaves import named_leaf
from leafwise.training.evaluation.calibration import BINS, calibration
from leafwise.training.evaluation.intervals import share_interval
from leafwise.training.execution.generations import Call, call
from leafwise.training.execution.places import executor_for
from leafwise.training.games.solo import play_solo

FIRST_SEED = 2_200_000
"""First seed of the games; no network before was judged by them."""
LEVELS = (1, 2, 3, 4)
KINDS = ("depth 1", "depth 2", "1 ms", "10 ms")
"""Limits of a search."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Compares the learned leaf of Friday with the hand-made ones."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    games: tuple[int, int] = (2000, 400)
    """Games a level at depth 1 and 2 of the learned leaf."""
    pirates: tuple[int, int] = (2000, 300)
    """The same of `pirates`, the only hand-made leaf that wins."""
    others: int = 500
    """The same of the others, at both depths."""
    timed: tuple[int, int] = (300, 40)
    """Games a level at 1 and at 10 ms a decision of the learned leaf."""
    timed_by_hand: tuple[int, int] = (100, 20)
    """The same of the hand-made ones."""
    only: Literal["", "learned", "by hand"] = ""
    """Play only the games of these leaves; the page is written when there are some of each."""
    nodes: int = 100
    """Most decisions that a search of given depth looks at."""


BLOCKS = {"depth 1": 250, "depth 2": 50, "1 ms": 20, "10 ms": 4}
"""Games that are kept at a time."""


def source(name: str, model: str) -> str:
    """Returns the leaf that a row stands for."""
    return model if name == "learned" else name


def limit(kind: str, nodes: int) -> str:
    """Returns what a search is told of a kind of limit."""
    amount = int("".join(filter(str.isdigit, kind)))
    return f"depth={amount},nodes={nodes}" if kind.startswith("depth") else f"seconds={amount / 1000},clock=cpu"


def at_depth(name: str, model: str, level: int, depth: int, seeds: range, nodes: int) -> dict[str, Any]:
    """Plays games with a search of given depth; where the leaf says chances, counts how often it was right, by tenths."""
    evaluator = named_leaf(game := find_game("friday", level=level), source(name, model))
    played = play_solo(game, evaluator, seeds[0], len(seeds), depth=depth, nodes=nodes)
    ms = 1000 * played.seconds / max(len(played.values), 1)
    found = {
        "games": len(seeds),
        "wins": int(played.scores.sum()),
        "decisions": len(played.values) / len(seeds),
        "ms": ms,
    }
    return found | ({"tenths": calibration(played.values, played.outcomes())[1]} if evaluator.high == 1.0 else {})


def at_clock(name: str, model: str, level: int, ms: int, seeds: range) -> dict[str, Any]:
    """Plays games with so many milliseconds of processor time for every decision."""
    text = f"search:{source(name, model)},{limit(f'{ms} ms', 0)}"
    outcomes = play_seeds(find_game("friday", level=level), text, seeds)
    moves, seconds = sum(o.moves for o in outcomes), sum(o.seconds for o in outcomes)
    wins = sum(o.won for o in outcomes)
    return {"games": len(seeds), "wins": wins, "decisions": moves / len(seeds), "ms": 1000 * seconds / max(moves, 1)}


def together(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the figures of all games of some parts."""
    games, wins = sum(p["games"] for p in parts), sum(p["wins"] for p in parts)
    moves = [p["games"] * p["decisions"] for p in parts]
    low, high = share_interval(wins, games)
    found = {"games": games, "mean": wins / games, "ci_low": low, "ci_high": high}
    found["ms"] = sum(n * p["ms"] for n, p in zip(moves, parts, strict=True)) / max(sum(moves), 1)
    tenths = []
    for k in range(BINS):
        here = [t for p in parts for t in p.get("tenths", []) if min(int(t["chance"] * BINS), BINS - 1) == k]
        if n := sum(t["decisions"] for t in here):
            sums = {name: sum(t["decisions"] * t[name] for t in here) / n for name in ("chance", "won")}
            tenths.append({"decisions": n, **sums})
    if tenths:
        error = sum(t["decisions"] * abs(t["chance"] - t["won"]) for t in tenths)
        found |= {"tenths": tenths, "calibration_error": error / sum(t["decisions"] for t in tenths)}
    return found


class Plan(NamedTuple):
    """Games of one leaf at one level under one limit."""

    kind: str
    """depth 1, depth 2, 1 ms or 10 ms."""
    level: int
    name: str
    games: int

    @property
    def name_of(self) -> str:
        """What the names of its parts begin with."""
        return f"{self.kind}, level {self.level}, {self.name}, "

    def known(self, results: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns its games that are known."""
        return [found for name, found in results.items() if name.startswith(self.name_of)]

    def missing(self, results: Results, config: Config) -> Iterator[tuple[str, Call]]:
        """Yields what plays the games that are missing, by the names of the results."""
        amount = int("".join(filter(str.isdigit, self.kind)))
        done = sum(part["games"] for part in self.known(results))
        for seeds in missing_seeds(done, self.games, BLOCKS[self.kind], FIRST_SEED):
            if self.kind.startswith("depth"):
                work = partial(at_depth, self.name, config.model, self.level, amount, seeds, config.nodes)
            else:
                work = partial(at_clock, self.name, config.model, self.level, amount, seeds)
            yield f"{self.name_of}from {seeds[0] - FIRST_SEED}", work


LEAVES = ("learned", "pirates", *(name for name in reversed(NAMES) if name != "pirates"))


def plans(config: Config) -> list[Plan]:
    """Returns everything that is played, the quickest first."""
    found = []
    for k, (kind, clock) in enumerate((("depth 1", "1 ms"), ("depth 2", "10 ms"))):
        for level in LEVELS:
            found += [
                Plan(
                    kind,
                    level,
                    n,
                    config.games[k] if n == "learned" else config.pirates[k] if n == "pirates" else config.others,
                )
                for n in LEAVES
            ]
        for level in LEVELS:
            found += [
                Plan(clock, level, n, config.timed[k] if n == "learned" else config.timed_by_hand[k]) for n in LEAVES
            ]
    return found


def study(config: Config) -> None:
    """Plays what is missing and writes the page; games of hand-made leaves are kept apart, for they outlast a model."""
    rules = f"{config.program()}; {'; '.join(limit(kind, config.nodes) for kind in KINDS)}; {FIRST_SEED}"
    by_hand = results_of(config, "learned_by_hand.json", command=rules)
    learned = results_of(config, "learned.json", [config.model], rules)
    todo = plans(config)
    missing = [
        (results, name, work)
        for plan in todo
        if config.only in ("", "learned" if plan.name == "learned" else "by hand")
        for results in ([learned] if plan.name == "learned" else [by_hand])
        for name, work in plan.missing(results, config)
    ]
    with executor_for(call, config.processes, config.cluster, len(missing)) as executor:
        played = executor.in_order((k, work) for k, (_, _, work) in enumerate(missing))
        for (results, name, _), found in zip(missing, played, strict=True):
            results.keep(name, found)
    both = {**by_hand, **learned}
    if all(plan.known(both) for plan in todo):
        found = {f"{p.kind}, level {p.level}, {p.name}": together(p.known(both)) for p in todo}
        write_page(config, "learned.md", signed(config, lines(found, LEAVES, config)))


def lines(results: dict[str, Any], names: tuple[str, ...], config: Config) -> list[str]:
    """Returns the page."""
    text = [
        "# Friday: the learned leaf against the hand-made ones",
        "",
        "Share of games won, fair play, with its 95 % interval (Wilson) and the games played;",
        f"seeds {FIRST_SEED:,} and the following, the same for all.",
        "In depth a decision counts only if it reveals a card; there all searches look at no more than",
        f"{config.nodes} decisions in all.",
        "Times are of the processor. The last column is what `leafwise eval` is told to play a row again at level L.",
    ]
    for kind in KINDS:
        what = f"at {kind}" if kind.startswith("depth") else f"with {kind} for every decision"
        rows = []
        for name in names:
            found = [results[f"{kind}, level {level}, {name}"] for level in LEVELS]
            cells = [share(f, more=f"; {f['games']:,}") for f in found]
            player = f"search:{source(name, config.model)},{limit(kind, config.nodes)}"
            again = f"`friday {player} --level L --games {found[0]['games']} --seed {FIRST_SEED}`"
            rows.append([f"`{name}`", *cells, f"{sum(f['ms'] for f in found) / len(found):.2g}", again])
        levels = " | ".join(f"level {level}" for level in LEVELS)
        text += ["", f"## Equal search: {what}", "", *table(f"leaf | {levels} | ms a decision | `leafwise eval`", rows)]
        text += ["", apart(results, names, kind)]
    text += ["", "## Is the chance it tells the share it wins?", ""]
    text += ["Every decision of the learned leaf's games; the error is the mean distance of the last two columns.", ""]
    for kind in ("depth 1", "depth 2"):
        for level in LEVELS:
            found = results[f"{kind}, level {level}, learned"]
            text += [
                f"Level {level}, {kind}, {found['games']:,} games: calibration error {found['calibration_error']:.3f}.",
                "",
            ]
    text += [f"All levels together, {kind}: {pooled(results, kind):.3f}." for kind in KINDS[:2]] + [""]
    found = results["depth 1, level 1, learned"]
    rows = [[f"{t['decisions']:,}", f"{t['chance']:.3f}", f"{t['won']:.3f}"] for t in found["tenths"]]
    return [*text, "Level 1, depth 1:", "", *table("decisions | mean chance told | won", rows), ""]


def pooled(results: dict[str, Any], kind: str) -> float:
    """Returns the calibration error of the learned leaf over all levels."""
    found = [results[f"{kind}, level {level}, learned"] for level in LEVELS]
    error: float = together([{**f, "wins": 0, "decisions": 0} for f in found])["calibration_error"]
    return error


def apart(results: dict[str, Any], names: tuple[str, ...], kind: str) -> str:
    """Says at which levels the learned leaf's interval lies above those of all others."""
    yes: list[str] = []
    no: list[str] = []
    for level in LEVELS:
        own = results[f"{kind}, level {level}, learned"]
        best = max(results[f"{kind}, level {level}, {name}"]["ci_high"] for name in names if name != "learned")
        (yes if own["ci_low"] > best else no).append(str(level))
    told = f"The learned leaf's interval lies above all others at level {', '.join(yes) or 'none'}"
    return told + (f", not at level {', '.join(no)}." if no else ".")


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
