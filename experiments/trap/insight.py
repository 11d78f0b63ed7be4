"""What the shipped player of Trap tells players: where to stand, when to throw far, when to pass.

`python -m leafwise.experiments.trap.insight` lets searches with the network play games against themselves, with seeds from
2,600,000 on, and asks them at every turn what else could be done (`asked`): what every free cell would be worth to stand
on, and every throw. Ten games are a piece of work; what is known of each stands in `insight.json` and is not worked out
again. It writes `insight.md` and `insight.png`. Intervals take pieces for units, since positions of a game are not
independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import play_out
from leafwise.envs.core.ranges import Range
from leafwise.envs.registry import game as find_game
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.text import MARKS, cells
from leafwise.experiments.study import PlacedStudy, command, picture, results_of, section, signed, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.models.units import Units, units_of
from leafwise.search.engine import Search
from leafwise.training.evaluation.statistics import interval_text, ratio_interval
from leafwise.training.execution import in_pieces

FIRST_SEED = 2_600_000
PIECE = 10
"""Games of a piece of work."""
DECIDED = 0.01, 0.99
"""Chances to win beyond which it hardly matters where is thrown: such throws are not counted."""
LEAST = 40
"""Cases that a row of a table needs."""
Sums = dict[str, list[float]]
"""Name of a group -> how many cases there are, then sums over them."""
FREE = ("1 or 2", "3 or 4", "5 or 6", "7 or 8")
APART = ("1 or 2", "3 or 4", "5 or 6", "7 and more")
FEW, MANY = 3, 6
"""Free cells around that the page's summary compares."""
KINDS = ("near", "behind", "elsewhere", "certain", "trap")


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Asks the shipped player of Trap what players would like to know."""

    model: str = "trap"
    """Shipped model, run folder or file."""
    games: Annotated[int, Range(1)] = 200
    """Games that it plays."""
    depth: int = 4
    """Decisions that are searched below what is asked about, two a turn."""


@dataclass(frozen=True)
class Games:
    """Plays the games of some seeds: a piece of work."""

    model: str
    depth: int

    def warm(self) -> None:
        """Loads the compiled code."""
        Asked(self.model, self.depth).warm()

    def __call__(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Returns what was asked in the games, added up."""
        ask, sums = Asked(self.model, self.depth), Sums()
        games = [ask(seed) for seed in seeds]
        for told in games:
            for stand in told.stands:
                add_stand(sums, stand)
            for throw in told.throws:
                add_throw(sums, throw)
        return {
            "games": len(games),
            "turns": sum(told.turns for told in games),
            "long": sum(told.turns > LAST_TURN for told in games),
            "first": sum(told.first for told in games),
            "boards": [sum(told.boards[k] for told in games) for k in range(len(STAGES))],
            "throws": sum(len(told.throws) for told in games),
            "sums": {name: [round(x, 4) for x in entry] for name, entry in sorted(sums.items())},
        }


def add(sums: Sums, name: str, *amounts: float) -> None:
    """Counts a case of a group."""
    entry = sums.setdefault(name, [0.0] * (1 + len(amounts)))
    for k, amount in enumerate((1.0, *amounts)):
        entry[k] += amount


def add_stand(sums: Sums, stand: Stand) -> None:
    """Counts a cell where a player could stand."""
    stage = stage_of(stand.traps)
    for what, group in (("cell", stand.cell), ("distance", stand.distance), ("free", stand.free)):
        add(sums, f"{what} {group} {stage}", stand.gain)


def add_throw(sums: Sums, throw: Throw) -> None:
    """Counts a decision where to throw."""
    values = {kind: value for kind in KINDS if (value := getattr(throw, kind)) is not None}
    best = max(values, key=values.__getitem__)
    if not DECIDED[0] < values[best] < DECIDED[1]:
        return add(sums, "decided")
    theirs, apart = (throw.their_free - 1) // 2, min((throw.apart - 1) // 2, len(APART) - 1)
    for name in (f"best {theirs}", "best all"):
        add(sums, name, *(float(kind == best) for kind in KINDS), throw.hit, float(throw.steps))
    if throw.near is not None and throw.behind is not None:
        gain = throw.behind - throw.near
        for name in (f"far free {theirs}", f"far apart {apart}", "far all"):
            add(sums, name, float(gain > 0), gain, max(gain, 0.0))
    if throw.certain is not None:
        lost = max(value for kind, value in values.items() if kind != "certain") - throw.certain
        for name in (f"pass {(throw.own_free - 1) // 2}", "pass all"):
            add(sums, name, float(lost <= 0), max(lost, 0.0))


class Figures:
    """Means over the cases of a group, with 95 % intervals over pieces."""

    def __init__(self, pieces: Sequence[dict[str, Any]]) -> None:
        self.pieces = pieces

    def total(self, name: str) -> int:
        """Returns a sum over the pieces: games, turns, throws."""
        return sum(piece[name] for piece in self.pieces)

    def count(self, name: str) -> int:
        """Returns how many cases a group has."""
        return int(sum(piece["sums"].get(name, [0])[0] for piece in self.pieces))

    def mean(self, name: str, k: int = 0) -> tuple[float, float, float]:
        """Returns the mean of the k-th amount of a group's cases, and its interval."""
        entries = [piece["sums"].get(name) for piece in self.pieces]
        counts, sums = np.array([(e[0], e[1 + k]) if e else (0.0, 0.0) for e in entries]).T
        return float(sums.sum() / counts.sum()), *ratio_interval(sums, counts)

    def points(self, name: str, k: int = 0) -> str:
        """Returns a mean in points of percent for a table."""
        return self.told(name, k, "+.1f", 100)

    def share(self, name: str, k: int = 0) -> str:
        """Returns a share for a table."""
        return self.told(name, k, ".0%")

    def told(self, name: str, k: int, form: str, scale: float = 1) -> str:
        """Returns a mean, times `scale`, and its interval for a table."""
        mean, low, high = (scale * x for x in self.mean(name, k))
        return f"{mean:{form}} ({interval_text(low, high, form)})"


def lines(figures: Figures, config: Config) -> list[str]:
    """Returns the page."""
    boards = [sum(piece["boards"][k] for piece in figures.pieces) for k in range(len(STAGES))]
    games, turns, throws = (figures.total(what) for what in ("games", "turns", "throws"))
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
        "![Where to stand, when to throw far, what is thrown at, when to pass](insight.png)",
        "",
        *stand_lines(figures, boards),
        *far_lines(figures),
        *pass_lines(figures),
    ]


def short_lines(figures: Figures) -> list[str]:
    """Returns the page in short."""
    few, many = (figures.points(f"free {free} 0") for free in (FEW, MANY))
    beside, away = ([figures.points(f"distance {k} {stage}") for stage in (0, 1)] for k in (1, 2))
    told = [
        "- **Where to stand**: where many cells around are free. As the opponent's turn begins, a cell with",
        f"  {FEW} of them is worth {few}, one with {MANY} {many} ({STAGES[0]}).",
        "  The map below has corners, borders and the middle.",
        f"  A cell beside the opponent is worth {beside[0]}, one two steps from him {away[0]};",
        f"  with {STAGES[1]} {beside[1]} and {away[1]}.",
        "- **When to throw far**: of the free cells beside the opponent, one further away than the nearest is the better",
        f"  target in {figures.share('far all')} of the decisions, and worth {figures.points('far all', 1)} on average.",
        "- **When to pass**: where a certain pass is possible, no other throw is better in"
        f" {figures.share('pass all')} of the decisions.",
    ]
    return section("In short", told)


def rows_of(figures: Figures, groups: Iterable[tuple[str, str]], cells: Any) -> list[list[str]]:
    """Returns the rows of groups, (words, name), with cases enough."""
    return [[words, *cells(name), f"{figures.count(name):,}"] for words, name in groups if figures.count(name) >= LEAST]


def by_stage(figures: Figures, what: str, groups: Iterable[int], words: Any = str) -> list[list[str]]:
    """Returns the rows of a table with a column for each stage."""
    rows = []
    for group in groups:
        names = [f"{what} {group} {stage}" for stage in range(len(STAGES))]
        counts = [figures.count(name) for name in names]
        if max(counts) >= LEAST:
            told = [figures.points(n) if count >= LEAST else "-" for n, count in zip(names, counts, strict=True)]
            rows.append([words(group), *told, f"{sum(counts):,}"])
    return rows


def stand_lines(figures: Figures, boards: list[int]) -> list[str]:
    """Returns what the page says of where to stand."""
    columns = " | ".join([f"{stage} ({count:,} turns):" for stage, count in zip(STAGES, boards, strict=True)])

    def by(what: str, words: str, groups: Iterable[int], told: Any = str) -> list[str]:
        return table(f"{words} | {columns} | cells:", by_stage(figures, what, groups, told))

    return section(
        "Where to stand",
        "What a cell is worth as the opponent's turn begins, less the mean of all free cells of the position; the opponent and "
        "the\ntraps are where they are. By king's steps to the opponent:",
        by("distance", "steps", range(1, 7)),
        "By the free cells around:",
        by("free", "free cells", range(1, 9)),
        "By the place on the board (row, column, from a corner; mirrored cells are counted together):",
        by("cell", "place", range(49), lambda k: f"{k // 7},{k % 7}"),
    )


def far_lines(figures: Figures) -> list[str]:
    """Returns what the page says of throws."""
    bests = [(f"{words} free", f"best {k}") for k, words in enumerate(FREE)] + [("all", "best all")]
    free = [(f"{words} free", f"far free {k}") for k, words in enumerate(FREE)]
    apart = [(f"{words} apart", f"far apart {k}") for k, words in enumerate(APART)]

    def kinds(name: str) -> list[str]:
        shares = [figures.share(name, k) for k in range(len(KINDS))]
        return [*shares, f"{figures.mean(name, len(KINDS))[0]:.0%}"]

    def worth(name: str) -> list[str]:
        return [figures.share(name), figures.points(name, 1)]

    head = "around him | nearest: | behind: | elsewhere: | pass: | trap: | hits: | throws:"
    further = "position | further is better: | worth on average: | decisions:"
    return section(
        "What to throw at",
        "Which throw is the best of all 47, by the free cells around the opponent: at the free cell beside him that is nearest to\n"
        "the thrower (or one of those equally near), at another beside him, at a free cell elsewhere, at a trap right beside the\n"
        "thrower (a certain pass), at another trap; and how likely the best throw hits.",
        table(head, rows_of(figures, bests, kinds)),
    ) + section(
        "When to throw far",
        "Of the free cells beside the opponent, the nearest is the surest to be hit. How often one further away is the better\n"
        "target, and what the best of those is worth above (or below) the nearest; by the free cells around him, and by the rows\n"
        "and columns between the players.",
        table(further, rows_of(figures, [*free, *apart, ("all", "far all")], worth)),
    )


def pass_lines(figures: Figures) -> list[str]:
    """Returns what the page says of passing."""
    groups = [(f"{words} free", f"pass {k}") for k, words in enumerate(FREE)]

    def lost(name: str) -> list[str]:
        return [figures.share(name), figures.told(name, 1, ".1f", 100)]

    head = "around the thrower | nothing is better: | loses on average: | throws:"
    return section(
        "When to pass",
        "A throw at a trap right beside oneself changes nothing, for certain. Of the throws where there is such a trap: how often\n"
        "no other throw is better, and what it loses against the best other throw on average; by the free cells around the\n"
        "thrower.",
        table(head, rows_of(figures, [*groups, ("all", "pass all")], lost)),
    )


def study(config: Config) -> None:
    """Plays the games that are missing, and writes the page."""
    about = f"{config.program()} --depth {config.depth}"
    results = results_of(config, "insight.json", [config.model], about)
    seeds = range(FIRST_SEED, FIRST_SEED + config.games)
    parts = in_pieces(seeds, PIECE)
    missing = [part for part in parts if results.get(str(part[0]), {"games": 0})["games"] != len(part)]
    for part, found in zip(missing, config.each(Games(config.model, config.depth), missing), strict=True):
        results.keep(str(part[0]), found, f"games {part[0]:,} to {part[-1]:,}: {found['throws']} throws")
    figures = Figures([results[str(part[0])] for part in parts])
    draw(figures, config.target("insight.png"))
    write_page(config, "insight.md", signed(config, lines(figures, config)))


GAME = find_game("trap")
SIDE = int(GAME.options.size)
RANDOM_TURNS = 2
"""Turns at the beginning of a game that are drawn at random, so that games differ from the first."""
SURE = 1 - 1e-9
"""A value as far from 0 is that of a game that is won or lost whatever the other does."""
LAST_TURN = 60
"""No question is asked after it: few games last longer, and then both players often stand walled off and pass for ever."""
THROWS = "near+traps"
"""Throws that the searches consider below the one that is asked about."""
STAGES = ("0 to 7 traps", "8 to 15 traps", "16 traps and more")


def stage_of(traps: int) -> int:
    """Returns which of STAGES a board belongs to."""
    return min(2, traps // 8)


class Stand(NamedTuple):
    """One cell where the player who has just thrown could stand instead, as the other's turn begins."""

    traps: int
    """On the board."""
    cell: int
    """Row by row, the same for cells that a symmetry of the board turns into each other."""
    distance: int
    """King's steps to the opponent."""
    free: int
    """Free cells around it."""
    gain: float
    """Chance to win there, less the mean of all free cells of the position."""


class Throw(NamedTuple):
    """One decision where to throw; chances are those of the best throw of a kind, None where there is none."""

    own_free: int
    """Free cells around the thrower."""
    their_free: int
    """Free cells around the opponent."""
    apart: int
    """Rows and columns between the players: what makes a throw miss."""
    near: float | None
    """At the free cells beside the opponent that are nearest to the thrower."""
    behind: float | None
    """At the others of them, further away."""
    elsewhere: float | None
    """At other free cells."""
    certain: float | None
    """A certain pass: at a trap right beside the thrower."""
    trap: float | None
    """At traps further away."""
    hit: float
    """How likely the best throw of all hits."""
    steps: int
    """King's steps from the opponent to where the best throw of all aims."""


@dataclass
class Told:
    """What was asked in one game."""

    stands: list[Stand] = field(default_factory=list)
    throws: list[Throw] = field(default_factory=list)
    boards: list[int] = field(default_factory=lambda: [0] * len(STAGES))
    """Positions in which was asked where to stand, by stage."""
    turns: int = 0
    """Played, those at random too."""
    first: float = 0.0
    """Points of the player who begins."""


def corner_of(cell: int) -> int:
    """Returns the first of the cells that symmetries of the board turn a cell into."""
    row, column = sorted(min(k, SIDE - 1 - k) for k in divmod(cell, SIDE))
    return row * SIDE + column


def king_steps(one: int, other: int) -> int:
    """Returns how many steps two cells are apart."""
    (a, b), (c, d) = divmod(one, SIDE), divmod(other, SIDE)
    return max(abs(a - c), abs(b - d))


def rows_apart(one: int, other: int) -> int:
    """Returns how many rows and columns two cells are apart."""
    (a, b), (c, d) = divmod(one, SIDE), divmod(other, SIDE)
    return abs(a - c) + abs(b - d)


class Asked:
    """Plays games by searches with a leaf, and asks them what else could be done."""

    def __init__(self, model: str, depth: int) -> None:
        """`depth` is that of the searches below what is asked about, in decisions."""
        evaluator = named_leaf(GAME, model)
        units = units_of(GAME, model)
        if units is None or not units.is_chance:
            raise UserError(f"expected a model of Trap that tells chances to win, got {model!r}")
        self.units: Units = units
        self.T = GAME.tables()
        self.move = Search(GAME, evaluator, depth + 2, all_values=False, candidates=THROWS, rare=0.25)
        self.below = Search(GAME, evaluator, depth, all_values=False, candidates=THROWS, rare=0.1)

    def warm(self) -> None:
        """Loads the compiled code."""
        start = GAME.start()
        throw = start.play("S").play("5,3")
        for search in (self.move, self.below):
            search(start)
        self.below(throw)

    def chance(self, state: State, player: int) -> float:
        """Returns the chance to win of the player who is not to act next."""
        if state.is_terminal:
            return (1 + state.returns * (1 if player == 0 else -1)) / 2
        value = self.below(state).value
        if state.is_chance and player == 0:  # the value is player 0's there, and the other player is next to act
            value = -value
        return 1 - self.units(value) if abs(value) < SURE else float(value < 0)

    def stands(self, state: State) -> list[Stand]:
        """Returns what each free cell would be worth to the player who is not to move."""
        actor = state.current_player
        board = cells(state.row, self.T)
        opponent = int(r.cell_of(state.row[1], actor))
        board[int(r.cell_of(state.row[1], 1 - actor))] = 0
        found = []
        for cell, what in enumerate(board):
            if what == 0:
                marks = [MARKS[2 + 1 - actor if k == cell else mark] for k, mark in enumerate(board)]
                rows = "/".join("".join(marks[k : k + SIDE]) for k in range(0, len(marks), SIDE))
                moved = GAME.parse(f"{rows} turn={int(r.turn_of(state.row[1]))}")
                free = self.free_around(cell, moved)
                apart = king_steps(cell, opponent)
                found.append(Stand(board.count(1), corner_of(cell), apart, free, self.chance(moved, 1 - actor)))
        mean = float(np.mean([stand.gain for stand in found]))
        return [stand._replace(gain=round(stand.gain - mean, 4)) for stand in found]

    def free_around(self, cell: int, state: State) -> int:
        """Returns how many free cells are around a cell."""
        board = cells(state.row, self.T)
        return sum(1 for to in self.T.step[cell].tolist() if to >= 0 and board[to] == 0)

    def throw(self, state: State) -> tuple[int, Throw]:
        """Returns the best throw of all, and what each kind of throw is worth."""
        thrower = state.current_player
        me, they = (int(r.cell_of(state.row[1], player)) for player in (thrower, 1 - thrower))
        board = cells(state.row, self.T)
        chances = {action - 8: self.chance(state.play(action), thrower) for action in state.legal_actions}
        beside = {int(to) for to in self.T.step[they] if to >= 0 and board[int(to)] == 0}
        nearest = min((rows_apart(me, cell) for cell in beside), default=0)

        def best(kind: set[int]) -> float | None:
            return round(max(chances[cell] for cell in kind), 4) if kind else None

        near = {cell for cell in beside if rows_apart(me, cell) == nearest}
        traps = {cell for cell in chances if board[cell] == 1}
        certain = {cell for cell in traps if rows_apart(me, cell) == 1}
        free = set(chances) - traps
        chosen = max(chances, key=chances.__getitem__)
        return 8 + chosen, Throw(
            own_free=self.free_around(me, state),
            their_free=len(beside),
            apart=rows_apart(me, they),
            near=best(near),
            behind=best(beside - near),
            elsewhere=best(free - beside),
            certain=best(certain),
            trap=best(traps - certain),
            hit=float(self.T.accuracy[me, chosen]),
            steps=king_steps(they, chosen),
        )

    def __call__(self, seed: int) -> Told:
        """Plays the game of a seed, and tells what was asked."""
        stream, told = new_stream(seed), Told()

        def choose(state: State) -> int:
            told.turns = int(r.turn_of(state.row[1]))
            if told.turns < RANDOM_TURNS:  # a draw of the game's own stream, like its landings
                return state.legal_actions[int(below(stream, len(state.legal_actions)))]
            if told.turns < LAST_TURN:
                if r.phase_of(state.row[1]) == r.THROW:
                    action, throw = self.throw(state)
                    told.throws.append(throw)
                    return action
                stands = self.stands(state)
                told.stands += stands
                told.boards[stage_of(stands[0].traps)] += 1
            found = self.move(state).action
            assert found is not None
            return found

        end = play_out(GAME.start(), choose, lambda state: state.settle(stream))
        told.first = (1 + end.returns) / 2
        return told


KIND_WORDS = ("nearest cell beside him", "another beside him", "elsewhere", "certain pass", "another trap")


def draw(figures: Any, path: Path) -> None:
    """Writes the picture: boards above, two rows of charts below; `figures` are those of `insight`."""
    with picture(path, rows=3, columns=3, size=(10, 10)) as axes:
        for stage, axis in enumerate(axes[0]):
            draw_board(figures, stage, axis)
        draw_stands(figures, "distance", range(1, 7), "king's steps to the opponent", axes[1, 0])
        draw_stands(figures, "free", range(1, 9), "free cells around", axes[1, 1])
        draw_kinds(figures, axes[1, 2])
        free, further = ["1-2", "3-4", "5-6", "7-8"], "a throw further away is better"
        draw_shares(figures, "far free", free, "free cells around him", further, axes[2, 0])
        draw_shares(figures, "far apart", [*free[:3], "7+"], "rows and columns between us", further, axes[2, 1])
        draw_shares(figures, "pass", free, "own free cells", "nothing beats a certain pass", axes[2, 2])


def draw_board(figures: Any, stage: int, axis: Any) -> None:
    """Draws what the cells of a board are worth to stand on."""
    names = [[f"cell {corner_of(row * SIDE + column)} {stage}" for column in range(SIDE)] for row in range(SIDE)]
    gains = np.array([[100 * figures.mean(n)[0] if figures.count(n) else np.nan for n in line] for line in names])
    axis.imshow(gains, cmap="RdYlGn", vmin=-25, vmax=25)
    for row in range(SIDE):
        for column in range(SIDE):
            axis.text(column, row, f"{gains[row, column]:+.0f}", ha="center", va="center", fontsize=8)
    axis.set_title(f"stand here: {STAGES[stage]}", fontsize=9)
    axis.set(xticks=[], yticks=[])


def draw_stands(figures: Any, what: str, groups: range, words: str, axis: Any) -> None:
    """Draws the gains of cells by a property of theirs, a line for each stage."""
    for stage, title in enumerate(STAGES):
        known = [g for g in groups if figures.count(f"{what} {g} {stage}") >= 40]
        told = np.array([figures.mean(f"{what} {g} {stage}") for g in known]).reshape(-1, 3) * 100
        axis.errorbar(known, told[:, 0], yerr=abs(told[:, 1:] - told[:, :1]).T, marker="o", markersize=3, label=title)
    axis.axhline(0, color="#999999", linewidth=0.8)
    axis.set_title("where to stand", fontsize=9)
    axis.set(xlabel=words, ylabel="chance grows by (points of percent)")
    axis.legend(fontsize=7)


def draw_kinds(figures: Any, axis: Any) -> None:
    """Draws how often each kind of throw is the best."""
    shares = [100 * figures.mean("best all", k)[0] for k in range(len(KIND_WORDS))]
    axis.barh(range(len(KIND_WORDS)), shares, color="#2f6fb2")
    axis.set_yticks(range(len(KIND_WORDS)), KIND_WORDS, fontsize=7)
    axis.invert_yaxis()
    axis.set_title("the best throw is at", fontsize=9)
    axis.set(xlabel="% of the decisions")


def draw_shares(figures: Any, what: str, groups: list[str], words: str, title: str, axis: Any) -> None:
    """Draws a share by groups, with its intervals."""
    known = [k for k in range(len(groups)) if figures.count(f"{what} {k}") >= 40]
    told = np.array([figures.mean(f"{what} {k}") for k in known]).reshape(-1, 3) * 100
    axis.bar(range(len(known)), told[:, 0], yerr=abs(told[:, 1:] - told[:, :1]).T, color="#d64541", capsize=3)
    axis.set_xticks(range(len(known)), [groups[k] for k in known])
    axis.set_title(title, fontsize=9)
    axis.set(xlabel=words, ylabel="% of the decisions")


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
