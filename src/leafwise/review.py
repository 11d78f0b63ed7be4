"""Reviews games: the loss of each move, the course of the game, the worst decisions; as text, SVG or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from leafwise.analysis import BLUNDER_CHANCE, Analyst, ending, points_text, solved, solver_of
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.core.play.gamefile import GameRecord, Step
from leafwise.models.units import CHANCE_WITH_DRAWS

SOLVER_SECONDS = 1.0
"""Time limit of the exact solver for a move; after it the search values the move."""
WORST = 3
"""Number of worst decisions that the end of a review names."""
COLUMNS, LINES = 72, 10
"""Size of the curve in characters."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP = 760, 420, 64, 24, 44
CURVE_HEIGHT, POINTS_TOP, POINTS_HEIGHT = 190, 290, 90
INK, PAPER, FAINT, LINE, MARK = "#22313f", "#fafafa", "#8a8f94", "#2f6f9f", "#c0392b"


@dataclass(frozen=True)
class MoveReview:
    """A move of a game, valued by the search or the exact solver. Values are for the player who moved."""

    number: int
    player: int
    """1 or 2."""
    step: Step
    best: str
    """Name of the best action, or of one of them."""
    best_value: float
    value: float
    """Value of the action played."""
    analyst: Analyst
    depth: int
    seconds: float
    exact: bool = False
    """Whether the values are the solver's: 1 win, 0 draw, -1 loss."""

    def meaning(self, value: float) -> float:
        """Converts a value to people's units; an exact value becomes a share of 1."""
        return (1 + value) / 2 if self.exact else self.analyst.meaning(value)

    def text(self, meaning: float) -> str:
        """Formats a number in people's units."""
        return f"{100 * meaning:.2f} %" if self.exact else self.analyst.text(meaning)

    def written(self, value: float) -> str:
        """Formats a value in people's units."""
        return self.text(self.meaning(value))

    @property
    def cost(self) -> float:
        """Loss of the move, in people's units if they are known."""
        return self.meaning(self.best_value) - self.meaning(self.value)

    @property
    def is_blunder(self) -> bool:
        """Whether the move lost at least a tenth: of the chance to win, or of the expected score."""
        limit = BLUNDER_CHANCE if self.exact else self.analyst.blunder(self.best_value)
        return limit is not None and self.cost >= limit

    @property
    def is_visible(self) -> bool:
        """Whether the loss of the move is visible after rounding."""
        return self.text(self.cost) != self.text(0.0)

    @property
    def worth(self) -> float:
        """Value of the position before the move to the first player, in people's units if they are known."""
        value, units = self.meaning(self.best_value), self.analyst.units
        if self.player == 1:
            return value
        return 1.0 - value if self.exact or (units is not None and units.is_chance) else -value

    def as_json(self) -> dict[str, Any]:
        """Returns the move as JSON."""
        played, best, known = self.value, self.best_value, self.exact or self.analyst.units is not None
        return {
            "move": self.number,
            "player": self.player,
            "played": self.step.name,
            "value": played,
            "best": self.best,
            "best_value": best,
            "loss": best - played,
            "unit": self.analyst.unit if self.analyst.units else CHANCE_WITH_DRAWS if self.exact else None,
            "value_in_unit": self.meaning(played) if known else None,
            "best_value_in_unit": self.meaning(best) if known else None,
            "loss_in_unit": self.cost if known else None,
            "exact": self.exact,
            "depth": self.depth,
            "seconds": self.seconds,
        }


def reviewed_moves(
    record: GameRecord, analyst: Analyst, seconds: float | None = None, exact: bool = False
) -> Iterator[MoveReview]:
    """Yields every move of a game with its loss, by a search of each position.

    With `exact` the game's solver is asked first, with a time limit of `seconds` (default: SOLVER_SECONDS).
    """
    solver = solver_of(record.game) if exact else None
    for number, step in enumerate(record.moves, start=1):
        who = number, step.before.current_player + 1, step
        if solver and (solution := solved(solver, step.before, seconds or SOLVER_SECONDS)):
            assert solution.value is not None
            value, best = solution.action_values[step.name], solution.best_actions[0]
            yield MoveReview(*who, best, solution.value, value, analyst, solution.depth, solution.seconds, exact=True)
            continue
        result = analyst(step.before, seconds)
        assert step.action is not None
        assert result.name is not None
        if step.action not in result.values:
            raise UserError(f"move {number}: expected a search that considers {step.name!r}, got --options without it")
        played = result.values[step.action]
        yield MoveReview(*who, result.name, result.value, played, analyst, result.depth, result.seconds)


def players_text(record: GameRecord) -> str:
    """Returns who played: "a person against level medium"; "" if that is not known."""
    return " against ".join(
        "a person" if name == "human" else name.replace("level:", "level ") for name in record.players
    )


def ending_text(record: GameRecord) -> str:
    """Returns how a game ended, in words."""
    last = record.states[-1]
    return ending(last) if last.is_terminal else record.termination or "not finished"


def worst_of(moves: list[MoveReview]) -> list[MoveReview]:
    """Returns the worst moves, worst first, without those whose loss rounds to nothing."""
    return [one for one in sorted(moves, key=lambda one: -one.cost)[:WORST] if one.is_visible]


def game_lines(record: GameRecord, analyst: Analyst, exact: bool = False) -> Iterator[str]:
    """Yields a game move by move: the move, its value, the best move, and the loss."""
    game = record.game
    yield f"{game!r}: {players_text(record) or 'players unknown'}, {len(record.moves)} moves, {ending_text(record)}"
    yield f"  leaf   {analyst.leaf}, depth {analyst.depth}"
    yield f"  unit   {analyst.unit}, for the player who moves"
    if analyst.no_units:
        yield f"  {analyst.no_units}"
    width = max([4, *(len(name) for step in record.moves for name in (step.name, *step.before.legal_names))])
    row = f"  {{:>4}}  {{:>6}}  {{:<{width}}}  {{:>12}}  {{:<{width}}}  {{:>12}}  {{:>10}}"
    yield row.format("move", "player", "played", "worth", "best", "worth", "loss")
    moves: list[MoveReview] = []
    for one in reviewed_moves(record, analyst, exact=exact):
        moves.append(one)
        best = one.best, one.written(one.best_value), one.text(one.cost) if one.cost else ""
        better = best if one.value < one.best_value else ("", "", "")
        yield row.format(one.number, one.player, one.step.name, one.written(one.value), *better).rstrip()
    for player in range(1, game.players + 1):
        if moves_of_player := [one for one in moves if one.player == player]:
            mean_loss = sum(one.cost for one in moves_of_player) / len(moves_of_player)
            mean = moves_of_player[0].text(mean_loss) if mean_loss else "0"
            named = ", ".join(
                f"{one.number}. {one.step.name} ({one.text(one.cost)})" for one in worst_of(moves_of_player)
            )
            whose = f"player {player}: " if game.players == 2 else ""
            yield f"  {whose}mean loss {mean}; largest losses: {named or 'none'}"
    if number := sum(one.exact for one in moves):
        yield f"  exact, by the solver: {number} of {len(moves)} moves"


@dataclass(frozen=True)
class Review:
    """A game and the review of its moves."""

    record: GameRecord
    analyst: Analyst
    moves: list[MoveReview]

    @property
    def last(self) -> State:
        """The last position."""
        return self.record.states[-1]

    @property
    def depth(self) -> int:
        """Depth of the deepest search."""
        return max(one.depth for one in self.moves)

    @property
    def is_chance(self) -> bool:
        """Whether the numbers are chances to win."""
        units = self.analyst.units
        return all(one.exact for one in self.moves) if units is None else units.is_chance

    @property
    def curve(self) -> list[float]:
        """Value of the game at every decision, and its result if it ended."""
        worths, returns = [one.worth for one in self.moves], self.last.returns
        if self.last.is_terminal:
            worths.append((returns + 1.0) / 2.0 if self.is_chance and self.last.game.players == 2 else returns)
        return worths

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest number of the curve's scale."""
        return (0.0, 1.0) if self.is_chance else span(self.curve)

    def text(self, worth: float) -> str:
        """Formats a number of the curve's scale."""
        if self.is_chance:
            return f"{100 * worth:.0f} %"
        return f"{worth:,.0f}" if max(map(abs, self.curve)) > 100 else f"{worth:.2f}"

    @property
    def ending(self) -> str:
        """How the game ended, with the game's own score."""
        if not self.last.is_terminal:
            return self.record.termination or f"not finished, {points_text(self.last)} so far"
        if self.record.game.companion is not None:
            return self.record.game.companion.ending(self.last)
        return f"game over, {ending(self.last)}"


def review(record: GameRecord, analyst: Analyst, exact: bool = False) -> Review:
    """Reviews every decision of a game, as `reviewed_moves`; raises ValueError for a game without decisions."""
    moves = list(reviewed_moves(record, analyst, exact=exact))
    if not moves:
        raise UserError("expected a game with a decision to review, got none")
    return Review(record, analyst, moves)


def span(values: list[float]) -> tuple[float, float]:
    """Returns the ends of a scale for some values."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def lines(result: Review) -> list[str]:
    """Returns the review as text: the curve, the worst decisions with better ones, the game's own score."""
    game, analyst = result.record.game, result.analyst
    who = "".join(f", {name}" for name in [players_text(result.record)] if name)
    text = [
        f"{game!r}{who}: {len(result.moves)} decisions, {result.ending}",
        f"  {analyst.unit} over the game, by leaf {analyst.leaf}, depth {result.depth}"
        + (" (of the first player)" if game.players == 2 else ""),
        *([f"  {analyst.no_units}"] if analyst.no_units else []),
        *plot(result),
        f"  score by the game's own rules, if the game ended there: {', '.join(points_texts(result))}",
        "  decisions with the largest losses",
    ]
    worst = worst_of(result.moves)
    for one in worst:
        words = one.step.before.action_words
        text += [
            f"  {one.number:>4}. {words(one.step.name)}: {one.written(one.value)}, cost {one.text(one.cost)}",
            f"        better: {words(one.best)}: {one.written(one.best_value)}",
            f"        {one.step.before}",
        ]
    return text if worst else [*text, "        none"]


def points_texts(result: Review, most: int = 5) -> list[str]:
    """Returns the game's own score at some decisions, evenly spread, and at the end."""
    moves, last = result.moves, result.last
    numbers = sorted({round(k * (len(moves) - 1) / (most - 1)) for k in range(most)})
    texts = [f"{moves[k].step.before.points:,.10g} at {moves[k].number}" for k in numbers]
    return [*texts, f"{last.points:,.10g} at the end"] if last.is_terminal else texts


def plot(result: Review) -> list[str]:
    """Returns the curve in characters, the number of the decision below it."""
    worths, (low, high) = result.curve, result.limits
    columns = min(COLUMNS, len(worths))
    shown = [worths[k * (len(worths) - 1) // max(columns - 1, 1)] for k in range(columns)]
    heights = [round((worth - low) / (high - low) * LINES) for worth in shown]
    labels = {line: result.text(low + (high - low) * line / LINES) for line in range(0, LINES + 1, LINES // 2)}
    width = max(map(len, labels.values()))
    rows = []
    for line in range(LINES, -1, -1):
        marks = "".join("*" if height == line else " " for height in heights).rstrip()
        rows.append(f"  {labels.get(line, ''):>{width}} |{marks}")
    last = str(len(result.moves))
    return [*rows, f"  {'':>{width}}  1{last:>{max(columns - 1, len(last) + 1)}}"]


def picture(result: Review) -> Canvas:
    """Returns the review as a drawing: the curve with the worst decisions marked, the game's own score below it."""
    canvas, limits = Canvas(WIDTH, HEIGHT, PAPER), result.limits
    canvas.text(LEFT, 20, f"{result.analyst.unit}, {result.ending}", size=15, colour=INK, anchor="start")
    ends = drawn_curve(canvas, result.curve, TOP, CURVE_HEIGHT, limits, [result.text(x) for x in limits])
    for one in worst_of(result.moves):
        x, y = ends[one.number - 1]
        canvas.disc(x, y, 5, fill=MARK)
        label = min(max(x, LEFT + 40), WIDTH - 60), y - 12 if y > TOP + 20 else y + 14
        canvas.text(*label, f"{one.number}: -{one.text(one.cost)}", size=11, colour=MARK)
    points = [one.step.before.points for one in result.moves] + [result.last.points] * result.last.is_terminal
    scale = span(points)
    drawn_curve(canvas, points, POINTS_TOP, POINTS_HEIGHT, scale, [f"{x:,.10g}" for x in scale])
    small(canvas, LEFT, POINTS_TOP - 18, "score by the game's own rules, if the game ended there", "start")
    small(canvas, LEFT, HEIGHT - 18, "decision 1", "start")
    small(canvas, WIDTH - RIGHT, HEIGHT - 18, str(len(result.moves)), "end")
    return canvas


def small(canvas: Canvas, x: float, y: float, text: str, anchor: str) -> None:
    """Writes a small label beside a curve."""
    canvas.text(x, y, text, size=11, colour=FAINT, anchor=anchor)


def drawn_curve(
    canvas: Canvas, values: list[float], top: float, height: float, scale: tuple[float, float], labels: list[str]
) -> list[tuple[float, float]]:
    """Draws values from left to right on a scale with labelled ends; returns the point of each value."""
    low, high = scale
    canvas.box(LEFT, top, WIDTH - LEFT - RIGHT, height, fill="#ffffff", edge="#d5d8dc")
    small(canvas, LEFT - 6, top + height, labels[0], "end")
    small(canvas, LEFT - 6, top, labels[1], "end")
    step = (WIDTH - LEFT - RIGHT) / max(len(values) - 1, 1)
    points = [(LEFT + k * step, top + height * (high - value) / (high - low)) for k, value in enumerate(values)]
    for (x, y), (x2, y2) in pairwise(points):
        canvas.line(x, y, x2, y2, colour=LINE)
    return points


def as_json(result: Review) -> dict[str, Any]:
    """Returns the JSON of a reviewed game.

    In its `decisions`, `worth` is for the first player; all other numbers are for the player who decides.
    """
    record, analyst = result.record, result.analyst
    decisions = [
        {
            "move": one.number,
            "player": one.player,
            "position": str(one.step.before),
            "worth": one.worth,
            "points": one.step.before.points,
            "played": one.step.name,
            "played_words": one.step.before.action_words(one.step.name),
            "played_value": one.meaning(one.value),
            "best": one.best,
            "best_words": one.step.before.action_words(one.best),
            "best_value": one.meaning(one.best_value),
            "cost": one.cost,
        }
        for one in result.moves
    ]
    return {
        "name": record.game.name,
        "options": dict(record.game.given_options),
        "players": list(record.players),
        "result": record.result,
        "ending": result.ending,
        "points": result.last.points,
        "unit": analyst.unit,
        **({"no_unit": analyst.no_units} if analyst.no_units else {}),
        "leaf": analyst.leaf,
        "depth": result.depth,
        "decisions": decisions,
        "worst": [one.number for one in worst_of(result.moves)],
    }
