"""A game looked back on: what it was worth at every decision, and the decisions that cost most, as text, SVG or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from leafwise.analysis import Analyst, Judged, judged, loss_text, lost, seen
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.core.play.gamefile import GameRecord
from leafwise.models.units import PLAIN, Units, written

WORST = 3
"""Decisions that are told in full."""
COLUMNS, LINES = 72, 10
"""Size of the curve in characters."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP = 760, 420, 64, 24, 44
CURVE_HEIGHT, POINTS_TOP, POINTS_HEIGHT = 190, 290, 90
INK, PAPER, FAINT, LINE, MARK = "#22313f", "#fafafa", "#8a8f94", "#2f6f9f", "#c0392b"


@dataclass(frozen=True)
class Moment:
    """A decision of the game."""

    one: Judged
    worth: float
    """What the game was worth to the first player before it, in people's units where they are known."""
    points: float
    """What the booklet would have scored then."""


@dataclass(frozen=True)
class Review:
    """A game, and what the search says of it."""

    record: GameRecord
    units: Units | None
    leaf: str
    depth: int
    moments: tuple[Moment, ...]
    no_units: str = ""
    """Why there are no units where there might be."""

    @property
    def worst(self) -> list[Judged]:
        """The decisions that cost most, the dearest first; only those whose cost people can see."""
        ranked = sorted((moment.one for moment in self.moments), key=lambda one: -lost(one, self.units))
        return [one for one in ranked[:WORST] if seen(one, self.units)]

    @property
    def curve(self) -> list[float]:
        """What the game was worth at every decision, and where it ended what came of it."""
        worths = [moment.worth for moment in self.moments]
        last = self.record.states[-1]
        if last.is_terminal:
            is_chance = self.units is not None and self.units.is_chance
            worths.append((last.returns + 1.0) / 2.0 if is_chance and last.game.players == 2 else last.returns)
        return worths

    @property
    def unit(self) -> str:
        """What the numbers are."""
        return self.units.name if self.units else PLAIN

    def told(self, worth: float) -> str:
        """Returns a number of the curve, as people read it."""
        if self.units is not None and self.units.is_chance:
            return f"{100 * worth:.1f} %"
        return f"{worth:,.0f}" if max(map(abs, self.curve), default=0.0) > 100 else f"{worth:.3f}"


def worth_of(one: Judged, units: Units | None) -> float:
    """Returns what a position was worth to the first player."""
    value = one.result.value if units is None else units(one.result.value)
    if one.player == 1:
        return value
    return 1.0 - value if units is not None and units.is_chance else -value


def review(record: GameRecord, analyst: Analyst) -> Review:
    """Searches every decision of a game; raises ValueError for a game without any."""
    moments = [Moment(one, worth_of(one, analyst.units), one.step.before.points) for one in judged(record, analyst)]
    if not moments:
        raise UserError("expected a game with a decision to review, got none")
    depth = max(moment.one.result.depth for moment in moments)
    return Review(record, analyst.units, analyst.search.evaluator.name, depth, tuple(moments), analyst.no_units)


def outcome_of(found: Review) -> str:
    """Returns how the game ended, with the booklet's score."""
    record, last = found.record, found.record.states[-1]
    if not last.is_terminal:
        return record.termination or f"not finished, {last.points:,.10g} points so far"
    if record.game.companion is not None:
        return record.game.companion.ending(last)
    return f"game over, result {last.returns:,.10g}"


def lines(found: Review) -> list[str]:
    """Returns the review as text: the curve, the dearest decisions with what was better, the booklet's score."""
    who = " - ".join(found.record.players)
    text = [
        f"{found.record.game!r}{', ' + who if who else ''}: {len(found.moments)} decisions, {outcome_of(found)}",
        f"  {found.unit} over the game, by leaf {found.leaf}, depth {found.depth}"
        + (" (of the first player)" if found.record.game.players == 2 else ""),
        *([f"  {found.no_units}"] if found.no_units else []),
        *plot(found),
        f"  points by the booklet, if it ended there: {', '.join(points_told(found))}",
        "  decisions that cost most",
    ]
    for one in found.worst:
        state, units = one.step.before, found.units
        text += [
            f"  {one.number:>4}. {state.action_words(one.step.name)}: {written(one.value, units)}, "
            f"cost {loss_text(lost(one, units), units)}",
            f"        better: {state.action_words(str(one.result.name))}: {written(one.result.value, units)}",
            f"        {state}",
        ]
    return text if found.worst else [*text, "        none"]


def points_told(found: Review, most: int = 5) -> list[str]:
    """Returns the booklet's score at some decisions, evenly spread, and at the end."""
    moments, last = found.moments, found.record.states[-1]
    places = sorted({round(k * (len(moments) - 1) / (most - 1)) for k in range(most)})
    told = [f"{moments[k].points:,.10g} at {moments[k].one.number}" for k in places]
    return [*told, f"{last.points:,.10g} at the end"] if last.is_terminal else told


def plot(found: Review) -> list[str]:
    """Returns the curve in characters, the number of the decision below it."""
    worths = found.curve
    columns = min(COLUMNS, len(worths))
    shown = [worths[k * (len(worths) - 1) // max(columns - 1, 1)] for k in range(columns)]
    low, high = limits(found)
    width = max(len(found.told(low)), len(found.told(high)))
    places = [round((worth - low) / (high - low) * LINES) for worth in shown]
    rows = []
    for line in range(LINES, -1, -1):
        label = found.told(low + (high - low) * line / LINES) if line % 5 == 0 else ""
        rows.append(f"  {label:>{width}} |" + "".join("*" if place == line else " " for place in places).rstrip())
    last = str(len(found.moments))
    return [*rows, f"  {'':>{width}}  1{last:>{max(columns - 1, len(last) + 1)}}"]


def limits(found: Review) -> tuple[float, float]:
    """Returns the lowest and the highest number of the curve's scale."""
    if found.units is not None and found.units.is_chance:
        return 0.0, 1.0
    low, high = min(found.curve), max(found.curve)
    return (low, high) if high > low else (low - 1.0, high + 1.0)


def picture(found: Review) -> Canvas:
    """Returns the review as a drawing: the curve with the dearest decisions marked, and the booklet's score below."""
    canvas = Canvas(WIDTH, HEIGHT, PAPER)
    canvas.text(LEFT, 20, f"{found.unit}, {outcome_of(found)}", size=15, colour=INK, anchor="start")
    low, high = limits(found)
    places = drawn_curve(canvas, found.curve, TOP, CURVE_HEIGHT, (low, high), [found.told(x) for x in (low, high)])
    for one in found.worst:
        x, y = places[one.number - 1]
        canvas.disc(x, y, 5, fill=MARK)
        words = f"{one.number}: -{loss_text(lost(one, found.units), found.units)}"
        canvas.text(min(max(x, LEFT + 40), WIDTH - 60), y - 12 if y > TOP + 20 else y + 14, words, size=11, colour=MARK)
    last = found.record.states[-1]
    points = [moment.points for moment in found.moments] + [last.points] * last.is_terminal
    canvas.text(
        LEFT, POINTS_TOP - 18, "points by the booklet, if it ended there", size=12, colour=FAINT, anchor="start"
    )
    least, most = min(points), max(points)
    scale = (least, most) if most > least else (least - 1.0, most + 1.0)
    drawn_curve(canvas, points, POINTS_TOP, POINTS_HEIGHT, scale, [f"{x:,.10g}" for x in scale])
    canvas.text(LEFT, HEIGHT - 18, "decision 1", size=11, colour=FAINT, anchor="start")
    canvas.text(WIDTH - RIGHT, HEIGHT - 18, str(len(found.moments)), size=11, colour=FAINT, anchor="end")
    return canvas


def drawn_curve(
    canvas: Canvas, values: list[float], top: float, height: float, scale: tuple[float, float], labels: list[str]
) -> list[tuple[float, float]]:
    """Draws values from left to right on a scale, whose ends are labelled; returns where each lies."""
    low, high = scale
    canvas.box(LEFT, top, WIDTH - LEFT - RIGHT, height, fill="#ffffff", edge="#d5d8dc")
    canvas.text(LEFT - 6, top + height, labels[0], size=11, colour=FAINT, anchor="end")
    canvas.text(LEFT - 6, top, labels[1], size=11, colour=FAINT, anchor="end")
    step = (WIDTH - LEFT - RIGHT) / max(len(values) - 1, 1)
    places = [(LEFT + k * step, top + height * (high - value) / (high - low)) for k, value in enumerate(values)]
    for (x, y), (x2, y2) in pairwise(places):
        canvas.line(x, y, x2, y2, colour=LINE)
    return places


def as_json(found: Review, number: int) -> dict[str, Any]:
    """Returns what `--json` prints of the `number`-th game."""
    last: State = found.record.states[-1]
    return {
        "game": number,
        "name": found.record.game.name,
        "options": dict(found.record.game.given_options),
        "players": list(found.record.players),
        "result": found.record.result,
        "ending": outcome_of(found),
        "points": last.points,
        "unit": found.unit,
        **({"no_unit": found.no_units} if found.no_units else {}),
        "leaf": found.leaf,
        "depth": found.depth,
        "decisions": [decision_json(moment, found.units) for moment in found.moments],
        "worst": [one.number for one in found.worst],
    }


def decision_json(moment: Moment, units: Units | None) -> dict[str, Any]:
    """Returns what is told of a decision; `worth` is the first player's, the others are those of the player who decides."""
    one, state = moment.one, moment.one.step.before
    return {
        "move": one.number,
        "player": one.player,
        "position": str(state),
        "worth": moment.worth,
        "points": moment.points,
        "played": one.step.name,
        "played_words": state.action_words(one.step.name),
        "played_value": one.value if units is None else units(one.value),
        "best": one.result.name,
        "best_words": state.action_words(str(one.result.name)),
        "best_value": one.result.value if units is None else units(one.result.value),
        "cost": lost(one, units),
    }
