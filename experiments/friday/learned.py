"""What the learned leaf of Friday is worth against the hand-made ones: at equal depth, at equal time, and how right it is.

`python -m leafwise.experiments.friday.learned` plays levels 1 to 4 on seeds from 1,000,000 on, fair play, and writes `learned.json`
and `learned.md` part by part; what stands there is not played again as long as command and model are the same.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.commandline import parse
from leafwise.envs.friday.scores import NAMES
from leafwise.envs.registry import game as find_game
from leafwise.experiments.friday.baselines import play_seeds
from leafwise.experiments.learned import Page
from leafwise.models.files import leaf
from leafwise.training.arena import FINAL_SEED
from leafwise.training.elo import share_interval
from leafwise.training.solo import calibration, play_solo

LEVELS = (1, 2, 3, 4)
KINDS = ("depth 1", "depth 2", "1 ms", "10 ms")
"""Limits of a search."""


@dataclass(frozen=True)
class Config:
    """Compares the learned leaf of Friday with the hand-made ones."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    games: tuple[int, int] = (2000, 200)
    """Games a level at depth 1 and 2 of the learned leaf."""
    pirates: tuple[int, int] = (2000, 300)
    """The same of `pirates`, the only hand-made leaf that wins."""
    others: int = 500
    """The same of the others, at both depths."""
    timed: tuple[int, int] = (100, 20)
    """Games a level at 1 and at 10 ms a decision of the learned leaf."""
    timed_by_hand: tuple[int, int] = (100, 20)
    """The same of the hand-made ones."""
    by_hand: bool = False
    """Play only the games of the hand-made leaves."""
    nodes: int = 50
    """Most decisions that a search of given depth looks at below each action."""
    folder: Path = Path(__file__).resolve().parent
    """Where the results are, and go."""


def told(wins: int, games: int, moves: int, seconds: float) -> dict[str, Any]:
    """Returns what is kept of games."""
    low, high = share_interval(wins, games)
    return {
        "games": games, "wins": wins, "mean": wins / games, "ci_low": low, "ci_high": high,
        "decisions": moves / games, "ms": 1000 * seconds / max(moves, 1),
    }  # fmt: skip


def source(name: str, model: str) -> str:
    """Returns the leaf that a column stands for."""
    return model if name == "learned" else name


def at_depth(name: str, model: str, level: int, depth: int, games: int, nodes: int) -> dict[str, Any]:
    """Plays games with a search of given depth; where the leaf says chances, with its calibration."""
    game = find_game("friday", level=level)
    evaluator = leaf(game, source(name, model))
    played = play_solo(game, evaluator, FINAL_SEED, games, depth=depth, nodes=nodes)
    found = told(int(played.scores.sum()), games, len(played.values), played.seconds)
    if evaluator.high == 1.0:
        error, tenths = calibration(played.values, played.outcomes())
        found |= {"calibration_error": error, "tenths": tenths}
    return found


def at_clock(name: str, model: str, level: int, ms: int, games: int) -> dict[str, Any]:
    """Plays games with so many milliseconds of processor time for every decision."""
    game = find_game("friday", level=level)
    text = f"search:{source(name, model)},seconds={ms / 1000},clock=cpu"
    outcomes = play_seeds(game, text, range(FINAL_SEED, FINAL_SEED + games))
    moves, seconds = sum(o.moves for o in outcomes), sum(o.seconds for o in outcomes)
    return told(sum(o.won for o in outcomes), games, moves, seconds)


class Plan(NamedTuple):
    """Games of one leaf at one level under one limit."""

    kind: str
    """depth 1, depth 2, 1 ms or 10 ms."""
    level: int
    name: str
    games: int

    @property
    def part(self) -> str:
        """Its name among the results."""
        return f"{self.kind}, level {self.level}, {self.name}, {self.games} games"

    def play(self, config: Config) -> dict[str, Any]:
        """Plays the games."""
        amount = int("".join(filter(str.isdigit, self.kind)))
        if self.kind.startswith("depth"):
            return at_depth(self.name, config.model, self.level, amount, self.games, config.nodes)
        return at_clock(self.name, config.model, self.level, amount, self.games)


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
    command = "python -m leafwise.experiments.friday.learned"
    by_hand = Page(config.folder / "learned_by_hand.json", command)
    todo = plans(config)
    for plan in todo:
        if plan.name != "learned":
            by_hand.part(plan.part, partial(plan.play, config))
    if config.by_hand:
        return
    page = Page(config.folder / "learned.json", command, [config.model])
    for plan in todo:
        if plan.name == "learned":
            page.part(plan.part, partial(plan.play, config))
    both = {**by_hand.results, **page.results}
    page.write(lines({f"{p.kind}, level {p.level}, {p.name}": both[p.part] for p in todo}, LEAVES, config))


def lines(results: dict[str, Any], names: tuple[str, ...], config: Config) -> list[str]:
    """Returns the page."""
    text = [
        "# Friday: the learned leaf against the hand-made ones",
        "",
        "Share of games won, fair play, with its 95 % interval (Wilson) and the games played; seeds 1,000,000 and the following,",
        "the same for all. In depth a decision counts only if it reveals a card; there all searches look at no more than",
        f"{config.nodes} decisions below each action. Times are of the processor.",
    ]
    for kind in KINDS:
        what = f"at {kind}" if kind.startswith("depth") else f"with {kind} for every decision"
        text += ["", f"## Equal search: {what}", "", "| leaf | level 1 | level 2 | level 3 | level 4 | ms a decision |"]
        text += ["|---|---|---|---|---|---|"]
        for name in names:
            found = [results[f"{kind}, level {level}, {name}"] for level in LEVELS]
            cells = [f"{f['mean']:.1%} ({f['ci_low']:.1%} to {f['ci_high']:.1%}; {f['games']:,})" for f in found]
            text.append(f"| `{name}` | " + " | ".join(cells) + f" | {sum(f['ms'] for f in found) / len(found):.2g} |")
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
    found = results["depth 1, level 1, learned"]
    text += ["Level 1, depth 1:", "", "| decisions | mean chance told | won |", "|---|---|---|"]
    text += [f"| {t['decisions']:,} | {t['chance']:.3f} | {t['won']:.3f} |" for t in found["tenths"]]
    return [*text, ""]


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


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    study(parse(Config, given, "python -m leafwise.experiments.friday.learned"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
