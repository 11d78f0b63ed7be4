"""Depth-limited search against Monte Carlo tree search, with the same leaf and the same processor time a move, in all six games.

`python -m leafwise.experiments.search --dry-run` plays a few games to count their moves and tells how long the study takes; without
it the study plays. In games for two the searches meet, random openings from both seats; alone each plays the same seeds. The leaves
are the shipped network and the game's first hand-made score; Monte Carlo tree search with the network meets the same with roll-outs
too. Every game is kept as it ends: what was stopped goes on where it was. `search.json`, `search.md` and `search.png` are what came
out; what another network than the one that ships now has played is played anew. Seeds from 2,400,000 on, used for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.contract.game import Game
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import (
    PlacedStudy,
    Results,
    command,
    digest_of,
    picture,
    scored,
    signed,
    table,
    with_bars,
    write_page,
)
from leafwise.models.shipped import need_shipped
from leafwise.training.evaluation.arena import evaluate

FIRST_SEED = 2_400_000
SEARCH, MCTS, ROLLOUTS = "search", "mcts", "rollouts"
COUNTED = 4
"""Games played to count the moves of one, for `--dry-run`."""


class Contest(NamedTuple):
    """A variant, how many games of a cell are played by milliseconds a move, and their openings."""

    name: str
    options: Mapping[str, Any]
    games: Mapping[int, int]
    plies: int = 0
    """Most random decisions of openings, in games for two."""


CONTESTS = {
    "Threes": Contest("threes", {}, {1: 100, 10: 60, 100: 30}),
    "Friday, level 4": Contest("friday", {"level": 4}, {1: 400, 10: 200, 100: 60}),
    "Starship": Contest("starship", {}, {1: 200, 10: 100, 100: 30}),
    "Trap": Contest("trap", {}, {1: 200, 10: 200, 100: 60}, 4),
    "Connect Four": Contest("trilobite", {"board": "7x6", "k": 4}, {1: 200, 10: 200, 100: 100}, 6),
    "Sim on 8 points": Contest("cassis", {"n": 8}, {1: 200, 10: 200, 100: 100}, 4),
}
LEAVES = {"learned": "learned", "hand-made": ""}
"""Leaves, and their names in a player's text."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Plays both searches against each other and writes search.json, search.md and search.png."""

    games: tuple[str, ...] = tuple(CONTESTS)
    """Games to play."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a move."""
    leaves: tuple[str, ...] = tuple(LEAVES)
    """Leaves of both searches: learned, hand-made."""
    share: float = 1.0
    """Share of the games to play, above 0 to 1."""
    dry_run: bool = False
    """Tell what would be played and how long that takes, and play only to count moves."""
    runs: Path = Path("runs/search")
    """Folder of the games that are played so far."""


class Cell(NamedTuple):
    """Games to play: one player alone, or two who meet. What is known of it holds for the network as it is."""

    label: str
    leaf: str
    ms: int
    kind: str
    player: str
    opponent: str | None
    games: int

    @property
    def name(self) -> str:
        """Its name among the results."""
        return f"{self.label}, {self.leaf}, {self.ms} ms, {self.kind}"

    @property
    def model(self) -> str | None:
        """What tells its network from others; None by hand."""
        return digest_of(need_shipped(variant(self.label))) if LEAVES[self.leaf] else None


def variant(label: str) -> Game:
    """Returns the game of a contest."""
    return find_game(CONTESTS[label].name, **CONTESTS[label].options)


def text(kind: str, leaf: str, ms: int) -> str:
    """Returns a player's text."""
    front = "rollout:n=1," if kind == ROLLOUTS else f"{LEAVES[leaf]}," if LEAVES[leaf] else ""
    return f"{SEARCH if kind == SEARCH else MCTS}:{front}seconds={ms / 1000:g},clock=cpu"


def cells(config: Config) -> Iterator[Cell]:
    """Yields what is to be played, the quickest first."""
    for ms in sorted(config.milliseconds):
        for label in config.games:
            players = variant(label).players
            games = 2 * max(1, round(CONTESTS[label].games.get(ms, 30) * config.share / 2))
            for leaf in config.leaves:
                search, mcts, rollouts = (text(kind, leaf, ms) for kind in (SEARCH, MCTS, ROLLOUTS))
                if players == 2:
                    yield Cell(label, leaf, ms, MCTS, mcts, search, games)
                    if leaf == "learned":
                        yield Cell(label, leaf, ms, ROLLOUTS, rollouts, mcts, games)
                else:
                    yield Cell(label, leaf, ms, SEARCH, search, None, games)
                    yield Cell(label, leaf, ms, MCTS, mcts, None, games)
                    if leaf == "learned":
                        yield Cell(label, leaf, ms, ROLLOUTS, rollouts, None, games)


def told(config: Config) -> None:
    """Tells the cells and the hours that they take, by the moves of a few quick games."""
    moves: dict[tuple[str, str], float] = {}
    total = 0.0
    for cell in cells(config):
        key = cell.label, cell.leaf
        if key not in moves:
            quick = f"search:{LEAVES[cell.leaf]}{',' if LEAVES[cell.leaf] else ''}depth=1"
            game = variant(cell.label)
            played = evaluate(game, quick, COUNTED, FIRST_SEED, opponent="greedy" if game.players == 2 else None)
            moves[key] = played.moves / COUNTED
        seconds = cell.games * moves[key] * cell.ms / 1000 * (2 if cell.opponent else 1)
        total += seconds
        print(f"{cell.name}: {cell.games} games, {moves[key]:.0f} moves each, {seconds / 3600:.2f} h", flush=True)
    print(f"in all {total / 3600:.1f} hours of processor time")


def report(config: Config, results: Results) -> None:
    """Writes the page and the picture of all that is known, whatever was asked for this time."""
    written = Config(config.out, config.data)
    times = {int(name.split(", ")[-2].removesuffix(" ms")) for name in results}
    config = replace(written, milliseconds=tuple(sorted(times)))
    rows = []
    for cell in cells(config):
        found = results.get(cell.name)
        if found:
            pair = f"`{cell.player}`" + (f" against `{cell.opponent}`" if cell.opponent else "")
            digits = ".3f" if found["mean"] <= 1 else ",.0f"
            interval = f"{found['ci_low']:{digits}} to {found['ci_high']:{digits}}"
            rows.append([cell.label, pair, str(found["games"]), f"{found['mean']:{digits}}", interval])
    head = "game | player | games: | score or share of the points: | 95 % interval:"
    openings = ", ".join(f"{label} up to {c.plies}" for label, c in CONTESTS.items() if c.plies)
    lines = [
        "# Depth-limited search and Monte Carlo tree search at equal time", "",
        f"Games for two begin with random decisions ({openings}), each opening from both seats.", "",
        *table(head, rows), "",
    ]  # fmt: skip
    write_page(config, "search.md", signed(written, [*lines, "![by milliseconds a move](search.png)", ""]))
    draw(config, results)


def draw(config: Config, results: Results) -> None:
    """Draws every game: score, or share of the points against the other search, by milliseconds a move."""
    labels = [label for label in config.games if any(name.startswith(f"{label}, ") for name in results)]
    with picture(config.target("search.png"), len(labels), 1, size=(8, 2.4 * len(labels))) as axes:
        for axis, label in zip([axes] if len(labels) == 1 else axes, labels, strict=True):
            for leaf in config.leaves:
                for kind in (SEARCH, MCTS, ROLLOUTS):
                    found = [
                        (c.ms, results[c.name])
                        for c in cells(config)
                        if (c.label, c.leaf, c.kind) == (label, leaf, kind) and c.name in results
                    ]
                    if found:
                        columns = ([f[name] for _, f in found] for name in ("mean", "ci_low", "ci_high"))
                        with_bars(axis, [ms for ms, _ in found], *columns, label=f"{kind}, {leaf}")
            two = variant(label).players == 2
            axis.set(xscale="log", title=label, ylabel="share of the points" if two else "score", xlabel="ms a move")
            axis.legend(fontsize=8)


def study(config: Config) -> None:
    """Plays what is missing."""
    for given, known in ((config.games, CONTESTS), (config.leaves, LEAVES)):
        if wrong := [name for name in given if name not in known]:
            raise ValueError(f"expected some of {', '.join(known)}, got {wrong[0]!r}")
    if not 0 < config.share <= 1:
        raise ValueError(f"expected a share in (0, 1], got {config.share}")
    if config.dry_run:
        told(config)
        return
    results = Results(config, "search.json", indent=1)
    for cell in cells(config):
        about: dict[str, Any] = {"model": cell.model, "plies": CONTESTS[cell.label].plies}
        known = results.get(cell.name, {"games": 0})
        if known["games"] < cell.games or not about.items() <= known.items():
            words = [*cell.name.replace(",", "").split(), *map(str, about.values())]
            file = config.runs / f"{'-'.join(words)}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            found = scored(
                variant(cell.label), cell.player, cell.games, FIRST_SEED, cell.opponent, about["plies"],
                processes=config.processes, cluster=config.cluster, file=file, resume=file.exists(),
            )  # fmt: skip
            results.keep(cell.name, found | about, f"{cell.name}: {found['mean']:.4g}")
            report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
