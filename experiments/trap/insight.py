"""What the shipped player of Trap tells players: where to stand, when to throw far, when to pass.

`python -m leafwise.experiments.trap.insight` lets searches with the network play games against themselves, with seeds from
2,600,000 on, and asks them at every turn what else could be done (`Asked`): what every free cell would be worth to stand
on, and every throw. Ten games are a piece of work; what is known of each stands in `insight.json` and is not worked out
again. It writes `insight.md` and `insight.png`. Intervals take pieces for units, since positions of a game are not
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import play_out
from leafwise.envs.core.ranges import Range
from leafwise.envs.registry import game as find_game
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.text import MARKS, Fields, cells, fields
from leafwise.experiments.study import PlacedStudy, command, picture, results_of, section, signed, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.models.units import Units, units_of
from leafwise.search.engine import Search
from leafwise.training.evaluation.statistics import interval_text, ratio_interval
from leafwise.training.execution import in_pieces

GAME = find_game("trap")
TABLES = GAME.tables()
SIDE = int(GAME.options.size)
FIRST_SEED = 2_600_000
PIECE = 10
"""Games of a piece of work."""
DECIDED = 0.01, 0.99
"""Chances to win beyond which it hardly matters where is thrown: such throws are not counted."""
LEAST = 40
"""Cases that a row of a table needs."""
FREE = ("1 or 2", "3 or 4", "5 or 6", "7 or 8")
APART = ("1 or 2", "3 or 4", "5 or 6", "7 and more")
FEW, MANY = 3, 6
"""Free cells around that the page's summary compares."""
KINDS = ("near", "behind", "elsewhere", "certain", "trap")
"""Where is thrown: at the free cells beside the opponent that are nearest to the thrower, at the others of them, at other free
cells, at a trap right beside the thrower, at traps further away."""
RANDOM_TURNS = 2
"""Turns at the beginning of a game that are drawn at random, so that games differ from the first."""
SURE = 1 - 1e-9
"""A value as far from 0 is that of a game that is won or lost whatever the other does."""
LAST_TURN = 60
"""No question is asked after it: few games last longer, and then both players often stand walled off and pass for ever."""
THROWS = "near+traps"
"""Throws that the searches consider below the one that is asked about."""
STAGES = ("0 to 7 traps", "8 to 15 traps", "16 traps and more")
Sums = dict[str, Any]
"""Name of a group -> an array: how many cases there are, then sums over them."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Asks the shipped player of Trap what players would like to know."""

    model: str = "trap"
    """Shipped model, run folder or file."""
    games: Annotated[int, Range(1)] = 200
    """Games that it plays."""
    depth: int = 4
    """Decisions that are searched below what is asked about, two a turn."""


# Games, and what is asked in them.


def add(sums: Sums, name: str, *amounts: float) -> None:
    """Counts a case of a group."""
    sums[name] = sums.get(name, 0.0) + np.array([1.0, *amounts])


def add_throw(
    sums: Sums, values: Mapping[str, float], own_free: int, their_free: int, apart: int, *best: float
) -> None:
    """Counts a decision where to throw.

    `values` are the chances to win of the best throw of each kind; `best` says how likely the best throw of all hits, and how many
    king's steps from the opponent it aims. The free cells are those around both players, who are `apart` rows and columns.
    """
    kind = max(values, key=values.__getitem__)
    if not DECIDED[0] < values[kind] < DECIDED[1]:
        return add(sums, "decided")
    theirs = (their_free - 1) // 2
    for name in (f"best {theirs}", "best all"):
        add(sums, name, *(kind == other for other in KINDS), *best)
    if "near" in values and "behind" in values:
        gain = values["behind"] - values["near"]
        for name in (f"far free {theirs}", f"far apart {min((apart - 1) // 2, len(APART) - 1)}", "far all"):
            add(sums, name, gain > 0, gain, max(gain, 0.0))
    if "certain" in values:
        lost = max(value for other, value in values.items() if other != "certain") - values["certain"]
        for name in (f"pass {(own_free - 1) // 2}", "pass all"):
            add(sums, name, lost <= 0, max(lost, 0.0))


def corner_of(cell: int) -> int:
    """Returns the first of the cells that symmetries of the board turn a cell into."""
    row, column = sorted(min(k, SIDE - 1 - k) for k in divmod(cell, SIDE))
    return row * SIDE + column


def apart(one: int, other: int) -> tuple[int, int]:
    """Returns how many rows and how many columns two cells are apart; the greater is king's steps."""
    (a, b), (c, d) = divmod(one, SIDE), divmod(other, SIDE)
    return abs(a - c), abs(b - d)


def free_around(cell: int, board: Sequence[int]) -> int:
    """Returns how many free cells are around a cell."""
    return sum(to >= 0 and board[to] == 0 for to in TABLES.step[cell].tolist())


@dataclass(frozen=True)
class Asked:
    """Plays games by searches with a leaf, and asks them what else could be done."""

    model: str
    depth: int
    """That of the searches below what is asked about, in decisions."""

    @cached_property
    def units(self) -> Units:
        """How the model's values tell chances; raises ValueError for a model that does not."""
        units = units_of(GAME, self.model)
        if units is None or not units.is_chance:
            raise UserError(f"expected a model of Trap that tells chances to win, got {self.model!r}")
        return units

    @cached_property
    def searches(self) -> tuple[Search, Search]:
        """The search that plays, and the one below what is asked about."""
        make = partial(Search, GAME, named_leaf(GAME, self.model), all_values=False, candidates=THROWS)
        return make(self.depth + 2, rare=0.25), make(self.depth, rare=0.1)

    def chance(self, state: State, player: int) -> float:
        """Returns the chance to win of the player who is not to act next."""
        if state.is_terminal:
            return (1 + state.returns * (1 if player == 0 else -1)) / 2
        value = self.searches[1](state).value
        if state.is_chance and player == 0:  # the value is player 0's there, and the other player is next to act
            value = -value
        return 1 - self.units(value) if abs(value) < SURE else float(value < 0)

    def stands(self, state: State, sums: Sums) -> int:
        """Counts what each free cell would be worth to the player who is not to move; returns which of STAGES it is."""
        seen, board = fields(state.row), cells(state.row, TABLES)
        board[seen.other] = 0
        stage, player, found = min(2, board.count(1) // 8), 1 - seen.turn % 2, {}
        for cell in [cell for cell, what in enumerate(board) if what == 0]:
            marks = "".join(MARKS[2 + player if k == cell else what] for k, what in enumerate(board))
            rows = "/".join(marks[k : k + SIDE] for k in range(0, len(marks), SIDE))
            found[cell] = self.chance(GAME.parse(f"{rows} turn={seen.turn}"), player)
        mean = float(np.mean(list(found.values())))
        for cell, chance in found.items():
            groups = {
                "cell": corner_of(cell),
                "distance": max(apart(cell, seen.me)),
                "free": free_around(cell, board),
            }
            for what, group in groups.items():
                add(sums, f"{what} {group} {stage}", round(chance - mean, 4))
        return stage

    def throw(self, state: State, sums: Sums) -> int:
        """Counts what each kind of throw is worth; returns the best throw of all."""
        seen, board = fields(state.row), cells(state.row, TABLES)
        chances = {a - 8: self.chance(state.play(a), state.current_player) for a in state.legal_actions}
        away = {cell: sum(apart(seen.me, cell)) for cell in range(len(board))}
        beside = {to for to in TABLES.step[seen.other].tolist() if to >= 0 and board[to] == 0}
        near = {cell for cell in beside if away[cell] == min(map(away.__getitem__, beside))}
        traps = {cell for cell in chances if board[cell] == 1}
        certain = {cell for cell in traps if away[cell] == 1}
        throws = (near, beside - near, set(chances) - traps - beside, certain, traps - certain)
        values = {
            kind: round(max(chances[cell] for cell in some), 4)
            for kind, some in zip(KINDS, throws, strict=True)
            if some
        }
        chosen = max(chances, key=chances.__getitem__)
        best = float(TABLES.accuracy[seen.me, chosen]), max(apart(seen.other, chosen))
        add_throw(sums, values, free_around(seen.me, board), len(beside), away[seen.other], *best)
        return 8 + chosen

    def __call__(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Plays the games of some seeds, a piece of work; returns what was asked in them, added up."""
        found: dict[str, Any] = {"games": len(seeds), "turns": 0, "long": 0, "first": 0.0, "boards": [0] * len(STAGES)}
        sums: Sums = {}
        for seed in seeds:
            end = self.play(seed, found["boards"], sums)
            turns = end.turn - int(end.phase == r.MOVE)
            found["turns"] += turns
            found["long"] += turns > LAST_TURN
            found["first"] += (0.5, 1.0, 0.0, 0.5)[end.end]
        throws = int(sum(sums[name][0] for name in ("decided", "best all") if name in sums))
        return found | {"throws": throws, "sums": {name: np.round(sums[name], 4).tolist() for name in sorted(sums)}}

    def play(self, seed: int, boards: list[int], sums: Sums) -> Fields:
        """Plays the game of a seed, and asks; returns its end."""
        stream, (move, _) = new_stream(seed), self.searches

        def choose(state: State) -> int:
            seen = fields(state.row)
            if seen.turn < RANDOM_TURNS:  # a draw of the game's own stream, like its landings
                return state.legal_actions[int(below(stream, len(state.legal_actions)))]
            if seen.turn < LAST_TURN:
                if seen.phase == r.THROW:
                    return self.throw(state, sums)
                boards[self.stands(state, sums)] += 1
            action = move(state).action
            assert action is not None
            return action

        return fields(play_out(GAME.start(), choose, lambda state: state.settle(stream)).row)


# The page.


class Figures:
    """Means over the cases of a group, with 95 % intervals over pieces."""

    def __init__(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        self.pieces = pieces

    def total(self, name: str) -> Any:
        """Returns a sum over the pieces: games, turns, throws, or boards by stage."""
        return np.sum([piece[name] for piece in self.pieces], axis=0)

    def count(self, name: str) -> int:
        """Returns how many cases a group has."""
        return int(sum(piece["sums"].get(name, [0])[0] for piece in self.pieces))

    def mean(self, name: str, k: int = 0) -> tuple[float, float, float]:
        """Returns the mean of the k-th amount of a group's cases, and its interval."""
        entries = [piece["sums"].get(name) for piece in self.pieces]
        counts, sums = np.array([(e[0], e[1 + k]) if e else (0.0, 0.0) for e in entries]).T
        return float(sums.sum() / counts.sum()), *ratio_interval(sums, counts)

    def told(self, name: str, k: int = 0, form: str = "+.1f", scale: float = 100) -> str:
        """Returns a mean, times `scale`, and its interval for a table: by default in points of percent."""
        mean, low, high = (scale * x for x in self.mean(name, k))
        return f"{mean:{form}} ({interval_text(low, high, form)})"

    def share(self, name: str, k: int = 0) -> str:
        """Returns a share for a table."""
        return self.told(name, k, ".0%", 1)

    def rows(self, groups: Mapping[str, str], cells: Callable[[str], Iterable[str]]) -> list[list[str]]:
        """Returns the rows of a table: of the groups, words -> name, those with cases enough."""
        return [[words, *cells(n), f"{self.count(n):,}"] for words, n in groups.items() if self.count(n) >= LEAST]

    def by_stage(self, what: str, groups: Mapping[str, int]) -> list[list[str]]:
        """Returns the rows of a table with a column for each stage; `groups` are words -> number."""
        rows = []
        for words, group in groups.items():
            names = [f"{what} {group} {stage}" for stage in range(len(STAGES))]
            counts = [self.count(name) for name in names]
            if max(counts) >= LEAST:
                told = [self.told(n) if count >= LEAST else "-" for n, count in zip(names, counts, strict=True)]
                rows.append([words, *told, f"{sum(counts):,}"])
        return rows


def page(figures: Figures, config: Config) -> list[str]:
    """Returns the page."""
    boards = figures.total("boards").tolist()
    games, turns, throws = map(figures.total, ("games", "turns", "throws"))
    return [
        "# Trap: what good play is",
        "",
        f"{games} games of the shipped player against itself, seeds from {FIRST_SEED:,} on,",
        f"{turns / games:.0f} turns each on average, the first {RANDOM_TURNS} of them at random.",
        f"At {sum(boards):,} turns it was asked what every free cell would be worth to stand on, and at {throws:,}",
        f"throws ({figures.count('decided'):,} of them in games as good as won or lost, which are left out below) what every",
        f"throw would be worth, each by a search {config.depth} decisions ({config.depth // 2} turns) deep",
        "below it with the network at its leaves. Gains are points of percent of the chance to win, with",
        "95 % intervals. It tells what wins with its own play.",
        "",
        f"Of the games, {figures.total('long')} lasted more than {LAST_TURN} turns, after which nothing was asked.",
        f"Whoever begins took {figures.total('first') / games:.0%} of the points.",
        "",
        *short_lines(figures),
        "![What the cells of the board are worth to stand on, with few traps and with many](insight.png)",
        "",
        *stand_lines(figures, boards),
        *throw_lines(figures),
    ]


def short_lines(figures: Figures) -> list[str]:
    """Returns the page in short."""
    few, many = (figures.told(f"free {free} 0") for free in (FEW, MANY))
    beside, away = ([figures.told(f"distance {k} {stage}") for stage in (0, 1)] for k in (1, 2))
    told = [
        "- **Where to stand**: where many cells around are free. As the opponent's turn begins, a cell with",
        f"  {FEW} of them is worth {few}, one with {MANY} {many} ({STAGES[0]}).",
        "  The map below has corners, borders and the middle.",
        f"  A cell beside the opponent is worth {beside[0]}, one two steps from him {away[0]};",
        f"  with {STAGES[1]} {beside[1]} and {away[1]}.",
        "- **When to throw far**: of the free cells beside the opponent, one further away than the nearest is the better",
        f"  target in {figures.share('far all')} of the decisions, and worth {figures.told('far all', 1)} on average.",
        "- **When to pass**: where a certain pass is possible, no other throw is better in"
        f" {figures.share('pass all')} of the decisions.",
    ]
    return section("In short", told)


def stand_lines(figures: Figures, boards: list[int]) -> list[str]:
    """Returns what the page says of where to stand."""
    columns = " | ".join([f"{stage} ({count:,} turns):" for stage, count in zip(STAGES, boards, strict=True)])

    def by(what: str, words: str, groups: Mapping[str, int]) -> list[str]:
        return table(f"{words} | {columns} | cells:", figures.by_stage(what, groups))

    return section(
        "Where to stand",
        "What a cell is worth as the opponent's turn begins, less the mean of all free cells of the position; the opponent and "
        "the\ntraps are where they are. By king's steps to the opponent:",
        by("distance", "steps", {str(k): k for k in range(1, 7)}),
        "By the free cells around:",
        by("free", "free cells", {str(k): k for k in range(1, 9)}),
        "By the place on the board (row, column, from a corner; mirrored cells are counted together):",
        by("cell", "place", {f"{k // SIDE},{k % SIDE}": k for k in range(SIDE**2)}),
    )


def throw_lines(figures: Figures) -> list[str]:
    """Returns what the page says of throws."""

    def by(what: str, words: Sequence[str] = FREE, more: str = "free") -> dict[str, str]:
        return {f"{these} {more}": f"{what} {k}" for k, these in enumerate(words)}

    def kinds(name: str) -> list[str]:
        shares = [figures.share(name, k) for k in range(len(KINDS))]
        return [*shares, f"{figures.mean(name, len(KINDS))[0]:.0%}"]

    head = "around him | nearest: | behind: | elsewhere: | pass: | trap: | hits: | throws:"
    best = figures.rows(by("best") | {"all": "best all"}, kinds)
    groups = by("far free") | by("far apart", APART, "apart") | {"all": "far all"}
    far = figures.rows(groups, lambda name: (figures.share(name), figures.told(name, 1)))
    groups = by("pass") | {"all": "pass all"}
    passes = figures.rows(groups, lambda name: (figures.share(name), figures.told(name, 1, ".1f")))
    return [
        *section(
            "What to throw at",
            "Which throw is the best of all 47, by the free cells around the opponent: at the free cell beside him that is nearest "
            "to\nthe thrower (or one of those equally near), at another beside him, at a free cell elsewhere, at a trap right "
            "beside the\nthrower (a certain pass), at another trap; and how likely the best throw hits.",
            table(head, best),
        ),
        *section(
            "When to throw far",
            "Of the free cells beside the opponent, the nearest is the surest to be hit. How often one further away is the "
            "better\ntarget, and what the best of those is worth above (or below) the nearest; by the free cells around him, and "
            "by the rows\nand columns between the players.",
            table("position | further is better: | worth on average: | decisions:", far),
        ),
        *section(
            "When to pass",
            "A throw at a trap right beside oneself changes nothing, for certain. Of the throws where there is such a trap: how "
            "often\nno other throw is better, and what it loses against the best other throw on average; by the free cells around "
            "the\nthrower.",
            table("around the thrower | nothing is better: | loses on average: | throws:", passes),
        ),
    ]


# The picture.


def draw(figures: Figures, path: Path) -> None:
    """Writes the picture: what the cells of a board are worth to stand on, a board for each stage."""
    with picture(path, columns=len(STAGES), size=(10, 3.6)) as axes:
        for stage, (title, axis) in enumerate(zip(STAGES, axes, strict=True)):
            names = [f"cell {corner_of(cell)} {stage}" for cell in range(SIDE**2)]
            gains = np.array([100 * figures.mean(name)[0] if figures.count(name) else np.nan for name in names])
            axis.imshow(gains.reshape(SIDE, SIDE), cmap="RdYlGn", vmin=-25, vmax=25)
            for cell, gain in enumerate(gains):
                axis.text(cell % SIDE, cell // SIDE, f"{gain:+.0f}", ha="center", va="center", fontsize=8)
            axis.set_title(f"stand here: {title}", fontsize=9)
            axis.set(xticks=[], yticks=[])


def study(config: Config) -> None:
    """Plays the games that are missing, and writes the page."""
    about = f"{config.program()} --depth {config.depth}"
    results = results_of(config, "insight.json", [config.model], about)
    parts = in_pieces(range(FIRST_SEED, FIRST_SEED + config.games), PIECE)
    missing = [part for part in parts if results.get(str(part[0]), {"games": 0})["games"] != len(part)]
    for part, found in zip(missing, config.each(Asked(config.model, config.depth), missing), strict=True):
        results.keep(str(part[0]), found, f"games {part[0]:,} to {part[-1]:,}: {found['throws']} throws")
    figures = Figures([results[str(part[0])] for part in parts])
    draw(figures, config.target("insight.png"))
    write_page(config, "insight.md", signed(config, page(figures, config)))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
