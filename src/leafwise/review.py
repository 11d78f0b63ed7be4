"""Games looked back on: what each move gave away, the course of a game, the decisions that cost most; as text, SVG or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from leafwise.analysis import Analyst
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.core.play.gamefile import GameRecord, Step
from leafwise.search import Result

WORST = 3
"""Decisions that cost most and are named again at the end."""
COLUMNS, LINES = 72, 10
"""Size of the curve in characters."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP = 760, 420, 64, 24, 44
CURVE_HEIGHT, POINTS_TOP, POINTS_HEIGHT = 190, 290, 90
INK, PAPER, FAINT, LINE, MARK = "#22313f", "#fafafa", "#8a8f94", "#2f6f9f", "#c0392b"


@dataclass(frozen=True)
class MoveReview:
    """A move of a game, and what the search says of it. Values are for the player who moved."""

    number: int
    player: int
    """1 or 2."""
    step: Step
    result: Result
    value: float
    """Value of the action played."""
    analyst: Analyst

    @property
    def cost(self) -> float:
        """What the move gave away, in people's units where they are known."""
        return self.analyst.meaning(self.result.value) - self.analyst.meaning(self.value)

    @property
    def is_visible(self) -> bool:
        """Whether people see that the move gave something away."""
        return self.analyst.text(self.cost) != self.analyst.text(0.0)

    @property
    def worth(self) -> float:
        """What the position before it was worth to the first player, in people's units where they are known."""
        value, units = self.analyst.meaning(self.result.value), self.analyst.units
        if self.player == 1:
            return value
        return 1.0 - value if units is not None and units.is_chance else -value

    def as_json(self) -> dict[str, Any]:
        """Returns the move as JSON."""
        played, best = self.value, self.result.value
        return {
            "move": self.number,
            "player": self.player,
            "played": self.step.name,
            "value": played,
            "best": self.result.name,
            "best_value": best,
            "loss": best - played,
            "unit": None if self.analyst.units is None else self.analyst.unit,
            **self.analyst.in_unit(value=played, best_value=best),
            "loss_in_unit": None if self.analyst.units is None else self.cost,
            "depth": self.result.depth,
            "seconds": self.result.seconds,
        }


def reviewed_moves(record: GameRecord, analyst: Analyst, seconds: float | None = None) -> Iterator[MoveReview]:
    """Yields every move of a game with what it gave away, by a search of each position."""
    for number, step in enumerate(record.moves, start=1):
        result = analyst(step.before, seconds)
        assert step.action is not None
        if step.action not in result.values:
            raise UserError(f"move {number}: expected a search that considers {step.name!r}, got --options without it")
        value = result.values[step.action]
        yield MoveReview(number, step.before.current_player + 1, step, result, value, analyst)


def worst_of(moves: list[MoveReview]) -> list[MoveReview]:
    """Returns the moves that cost most, the dearest first; only those whose cost people can see."""
    return [one for one in sorted(moves, key=lambda one: -one.cost)[:WORST] if one.is_visible]


def game_lines(record: GameRecord, analyst: Analyst) -> Iterator[str]:
    """Yields a game move by move: what was played, what it was worth, what was better, and what that gave away."""
    game = record.game
    who = " - ".join(record.players) or "players unknown"
    result = "not finished" if record.result is None else f"result {record.result:,.10g}"
    yield f"{game!r}: {who}, {len(record.moves)} moves, {result}"
    yield f"  leaf   {analyst.leaf}, depth {analyst.depth}"
    yield f"  unit   {analyst.unit}, for the player who moves"
    if analyst.no_units:
        yield f"  {analyst.no_units}"
    width = max([4, *(len(name) for step in record.moves for name in (step.name, *step.before.legal_names))])
    row = f"  {{:>4}}  {{:>6}}  {{:<{width}}}  {{:>12}}  {{:<{width}}}  {{:>12}}  {{:>10}}"
    yield row.format("move", "player", "played", "worth", "best", "worth", "loss")
    moves: list[MoveReview] = []
    for one in reviewed_moves(record, analyst):
        moves.append(one)
        best = one.result.name, analyst.written(one.result.value), analyst.text(one.cost)
        better = best if one.value < one.result.value else ("", "", "")
        yield row.format(one.number, one.player, one.step.name, analyst.written(one.value), *better).rstrip()
    for player in range(1, game.players + 1):
        if own := [one for one in moves if one.player == player]:
            mean = analyst.text(sum(one.cost for one in own) / len(own))
            named = ", ".join(f"{one.number}. {one.step.name} ({analyst.text(one.cost)})" for one in worst_of(own))
            whose = f"player {player}: " if game.players == 2 else ""
            yield f"  {whose}mean loss {mean}; most given away by {named or 'no move'}"


@dataclass(frozen=True)
class Review:
    """A game, and what the search says of it."""

    record: GameRecord
    analyst: Analyst
    moves: list[MoveReview]

    @property
    def last(self) -> State:
        """The position where it ended."""
        return self.record.states[-1]

    @property
    def depth(self) -> int:
        """How deep the deepest search was."""
        return max(one.result.depth for one in self.moves)

    @property
    def is_chance(self) -> bool:
        """Whether the numbers are chances to win."""
        return self.analyst.units is not None and self.analyst.units.is_chance

    @property
    def curve(self) -> list[float]:
        """What the game was worth at every decision, and where it ended what came of it."""
        worths, returns = [one.worth for one in self.moves], self.last.returns
        if self.last.is_terminal:
            worths.append((returns + 1.0) / 2.0 if self.is_chance and self.last.game.players == 2 else returns)
        return worths

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest number of the curve's scale."""
        return (0.0, 1.0) if self.is_chance else span(self.curve)

    @property
    def ending(self) -> str:
        """How the game ended, with the booklet's score."""
        if not self.last.is_terminal:
            return self.record.termination or f"not finished, {self.last.points:,.10g} points so far"
        if self.record.game.companion is not None:
            return self.record.game.companion.ending(self.last)
        return f"game over, result {self.last.returns:,.10g}"


def review(record: GameRecord, analyst: Analyst) -> Review:
    """Searches every decision of a game; raises ValueError for a game without any."""
    moves = list(reviewed_moves(record, analyst))
    if not moves:
        raise UserError("expected a game with a decision to review, got none")
    return Review(record, analyst, moves)


def span(values: list[float]) -> tuple[float, float]:
    """Returns the ends of a scale for some values."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def lines(found: Review) -> list[str]:
    """Returns the review as text: the curve, the dearest decisions with what was better, the booklet's score."""
    game, analyst = found.record.game, found.analyst
    who = "".join(f", {name}" for name in [" - ".join(found.record.players)] if name)
    text = [
        f"{game!r}{who}: {len(found.moves)} decisions, {found.ending}",
        f"  {analyst.unit} over the game, by leaf {analyst.leaf}, depth {found.depth}"
        + (" (of the first player)" if game.players == 2 else ""),
        *([f"  {analyst.no_units}"] if analyst.no_units else []),
        *plot(found),
        f"  points by the booklet, if it ended there: {', '.join(points_told(found))}",
        "  decisions that cost most",
    ]
    worst = worst_of(found.moves)
    for one in worst:
        words, value = one.step.before.action_words, analyst.written
        text += [
            f"  {one.number:>4}. {words(one.step.name)}: {value(one.value)}, cost {analyst.text(one.cost)}",
            f"        better: {words(str(one.result.name))}: {value(one.result.value)}",
            f"        {one.step.before}",
        ]
    return text if worst else [*text, "        none"]


def points_told(found: Review, most: int = 5) -> list[str]:
    """Returns the booklet's score at some decisions, evenly spread, and at the end."""
    moves, last = found.moves, found.last
    places = sorted({round(k * (len(moves) - 1) / (most - 1)) for k in range(most)})
    told = [f"{moves[k].step.before.points:,.10g} at {moves[k].number}" for k in places]
    return [*told, f"{last.points:,.10g} at the end"] if last.is_terminal else told


def plot(found: Review) -> list[str]:
    """Returns the curve in characters, the number of the decision below it."""
    worths, (low, high) = found.curve, found.limits
    columns = min(COLUMNS, len(worths))
    shown = [worths[k * (len(worths) - 1) // max(columns - 1, 1)] for k in range(columns)]
    places = [round((worth - low) / (high - low) * LINES) for worth in shown]
    labels = {line: found.analyst.text(low + (high - low) * line / LINES) for line in range(0, LINES + 1, LINES // 2)}
    width = max(map(len, labels.values()))
    rows = []
    for line in range(LINES, -1, -1):
        marks = "".join("*" if place == line else " " for place in places).rstrip()
        rows.append(f"  {labels.get(line, ''):>{width}} |{marks}")
    last = str(len(found.moves))
    return [*rows, f"  {'':>{width}}  1{last:>{max(columns - 1, len(last) + 1)}}"]


def picture(found: Review) -> Canvas:
    """Returns the review as a drawing: the curve with the dearest decisions marked, and the booklet's score below."""
    canvas, text, limits = Canvas(WIDTH, HEIGHT, PAPER), found.analyst.text, found.limits
    canvas.text(LEFT, 20, f"{found.analyst.unit}, {found.ending}", size=15, colour=INK, anchor="start")
    places = drawn_curve(canvas, found.curve, TOP, CURVE_HEIGHT, limits, [text(x) for x in limits])
    for one in worst_of(found.moves):
        x, y = places[one.number - 1]
        canvas.disc(x, y, 5, fill=MARK)
        label = min(max(x, LEFT + 40), WIDTH - 60), y - 12 if y > TOP + 20 else y + 14
        canvas.text(*label, f"{one.number}: -{text(one.cost)}", size=11, colour=MARK)
    points = [one.step.before.points for one in found.moves] + [found.last.points] * found.last.is_terminal
    scale = span(points)
    drawn_curve(canvas, points, POINTS_TOP, POINTS_HEIGHT, scale, [f"{x:,.10g}" for x in scale])
    small(canvas, LEFT, POINTS_TOP - 18, "points by the booklet, if it ended there", "start")
    small(canvas, LEFT, HEIGHT - 18, "decision 1", "start")
    small(canvas, WIDTH - RIGHT, HEIGHT - 18, str(len(found.moves)), "end")
    return canvas


def small(canvas: Canvas, x: float, y: float, text: str, anchor: str) -> None:
    """Writes beside a curve."""
    canvas.text(x, y, text, size=11, colour=FAINT, anchor=anchor)


def drawn_curve(
    canvas: Canvas, values: list[float], top: float, height: float, scale: tuple[float, float], labels: list[str]
) -> list[tuple[float, float]]:
    """Draws values from left to right on a scale, whose ends are labelled; returns where each lies."""
    low, high = scale
    canvas.box(LEFT, top, WIDTH - LEFT - RIGHT, height, fill="#ffffff", edge="#d5d8dc")
    small(canvas, LEFT - 6, top + height, labels[0], "end")
    small(canvas, LEFT - 6, top, labels[1], "end")
    step = (WIDTH - LEFT - RIGHT) / max(len(values) - 1, 1)
    places = [(LEFT + k * step, top + height * (high - value) / (high - low)) for k, value in enumerate(values)]
    for (x, y), (x2, y2) in pairwise(places):
        canvas.line(x, y, x2, y2, colour=LINE)
    return places


def as_json(found: Review) -> dict[str, Any]:
    """Returns what `--json` prints of a game.

    Of its `decisions`, `worth` is the first player's; the other numbers are those of the player who decides.
    """
    record, analyst = found.record, found.analyst
    decisions = [
        {
            "move": one.number,
            "player": one.player,
            "position": str(one.step.before),
            "worth": one.worth,
            "points": one.step.before.points,
            "played": one.step.name,
            "played_words": one.step.before.action_words(one.step.name),
            "played_value": analyst.meaning(one.value),
            "best": one.result.name,
            "best_words": one.step.before.action_words(str(one.result.name)),
            "best_value": analyst.meaning(one.result.value),
            "cost": one.cost,
        }
        for one in found.moves
    ]
    return {
        "name": record.game.name,
        "options": dict(record.game.given_options),
        "players": list(record.players),
        "result": record.result,
        "ending": found.ending,
        "points": found.last.points,
        "unit": analyst.unit,
        **({"no_unit": analyst.no_units} if analyst.no_units else {}),
        "leaf": analyst.leaf,
        "depth": found.depth,
        "decisions": decisions,
        "worst": [one.number for one in worst_of(found.moves)],
    }
