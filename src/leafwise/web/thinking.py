"""What takes time: players' moves, analyses, exact values, and what each move of a game gave away."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, TypeVar

from leafwise.analysis import Analyst, need_playable, position_json, stop_of, stopped_after
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import SolverPlayer, exact_solver
from leafwise.models.leaves import named_leaf as load_leaf
from leafwise.models.players import player as named_player
from leafwise.models.units import Units
from leafwise.review import reviewed_moves
from leafwise.search import Result, Search, Stopped
from leafwise.search.players import load_code, search_of
from leafwise.search.result import principal_line
from leafwise.web import choices
from leafwise.web.asks import AnalyseAsk, GameAsk, MoveAsk, PrepareAsk, ReviewAsk, SolveAsk
from leafwise.web.control import Control
from leafwise.web.games_as_text import records
from leafwise.web.positions import finite, need_game

K = TypeVar("K")
KEPT = 4
"""Searches, players and solvers that a process keeps."""
TABLE_MB = 32.0
FIRST_SLICE = 0.05
"""Seconds of the first answer of an analysis; each slice is twice the one before, and goes on from its table."""
LINE_SECONDS, MOST_LINE = 0.02, 10
"""Seconds for each further move of the principal line, and most of them."""
SURELY = 30.0
"""Seconds after which a solver that is asked for a move is given up."""
BLUNDER_CHANCE, BLUNDER_SHARE = 0.1, 0.1
"""A move that gives away so much of the chance to win, or such a share of the expected score, is a blunder."""
MOST_REVIEW = 900.0
"""Seconds of a review at most."""
_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


def keep(key: tuple[Any, ...], make: Callable[[], K], control: Control) -> K:
    """Returns what was made for a key, made now if it is not kept."""
    if key not in _kept:
        with control.loading():
            _kept[key] = make()
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found: K = _kept[key]
    return found


def of_game(ask: GameAsk) -> tuple[Any, ...]:
    """Returns what tells one game's variant from another's."""
    return (ask.game, repr(sorted(ask.options.items())))


def line_of(analyst: Analyst, result: Result) -> list[str]:
    """Returns the principal line: best moves, and what chance does most probably in between, by short searches."""
    left = min(result.depth, MOST_LINE)

    def answer(state: State) -> int | None:
        nonlocal left
        left -= 1
        return analyst(state, LINE_SECONDS).action if left > 0 else None

    return list(principal_line(result.state, result.action, answer))


def made_analyst(game: Game, leaf: str) -> Analyst:
    """Returns the search of a listed leaf."""
    source = choices.leaf_source(game, leaf)
    analyst = Analyst(Search(game, load_leaf(game, source), seconds=LINE_SECONDS, table_mb=TABLE_MB), source)
    if not (start := game.new(0)).is_terminal:
        analyst.load(start)
    return analyst


def analyst_for(ask: GameAsk, game: Game, leaf: str, control: Control) -> Analyst:
    """Returns the search of a listed leaf; raises ValueError for one that is not listed."""
    leaf = choices.checked_leaf(game, leaf)
    return keep(("search", *of_game(ask), leaf), lambda: made_analyst(game, leaf), control)


def prepare(ask: PrepareAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Loads a search."""
    begun = time.perf_counter()
    analyst_for(ask, need_game(ask, control), ask.leaf, control)
    yield {"seconds": time.perf_counter() - begun}


def analyse(ask: AnalyseAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells the values of a position again and again, as the search deepens."""
    game = need_game(ask, control)
    state = need_playable(game.parse(ask.text))
    found = analyst_for(ask, game, ask.leaf, control)
    if not found.is_loaded(state):
        with control.loading():
            found.load(state)
    begun, piece, depth = time.perf_counter(), FIRST_SLICE, 0
    line: list[str] = []
    with control.stoppable(found.search.stop):
        while not control.stopped:
            left = ask.seconds - (time.perf_counter() - begun)
            if left <= 0:
                break
            try:
                result = found(state, min(piece, left))
                line = line_of(found, result) if result.depth > depth else line
            except Stopped:
                break
            if result.depth >= depth:  # the last slice is what is left of the time, and may see less
                depth = result.depth
                yield {
                    **position_json(result, found, tuple(line)),
                    "worth": found.written(result.value),
                    "worths": {name: found.written(value) for name, value in result.action_values.items()},
                    "seconds": time.perf_counter() - begun,
                }
            piece *= 2
            if result.depth >= found.search.depth:
                break


def move(ask: MoveAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells what a player would do."""
    game = need_game(ask, control)
    state = need_playable(game.parse(ask.text))
    if state.is_chance:
        raise UserError(f"{game.name}: expected a decision, got a chance stage: {ask.text!r}")
    text = choices.player_text(game, ask.player)
    known = ("player", *of_game(ask), ask.player)
    who: Any = keep(known, lambda: ready_player(text, game), control)
    if hasattr(who, "stream"):
        who.stream = new_stream(ask.seed)
    strong = getattr(who, "strong", who)
    search = search_of(who)
    stop = search.stop if search else lambda: None
    begun = time.perf_counter()
    if isinstance(strong, SolverPlayer):
        action = by_solver(strong, state, control)
    else:
        with control.stoppable(stop):
            action = who.choose(state)
    yield {"action": game.actions[action], "player": ask.player, "seconds": time.perf_counter() - begun}


def ready_player(text: str, game: Game) -> Any:
    """Returns a player whose code is loaded: one that searches, or a game's own program, has chosen a first move."""
    who: Any = named_player(text, game)
    strong = getattr(who, "strong", who)
    if search_of(who) or text in choices.own_programs(game):
        load_code(strong, game.new(0))
    return who


def by_solver(who: SolverPlayer, state: State, control: Control) -> int:
    """Returns the choice of an exact player; raises ValueError where it takes too long."""
    stop = stop_of(who.solver)
    try:
        with stopped_after(SURELY, stop), control.stoppable(stop):
            return who.choose(state)
    except IndexError:  # a solver that was stopped knows no line
        raise UserError(f"expected an answer of the exact solver within {SURELY:.0f} s, got none here") from None


def solve(ask: SolveAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells the exact values of a position, or what is known of them when the time is up."""
    game = need_game(ask, control)
    state = need_playable(game.parse(ask.text))
    if state.is_chance:
        raise UserError(f"{game.name}: expected a decision, got a chance stage: {ask.text!r}")
    solver = keep(("solver", *of_game(ask)), lambda: exact_solver(game), control)

    stop = stop_of(solver)
    with stopped_after(ask.seconds, stop), control.stoppable(stop):
        found = solver.solve(state)
    yield {"player": state.current_player + 1, **asdict(found)}


def review(ask: ReviewAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells of each move of a file's first game what it was worth and what it gave away."""
    record = records(ask.file)[0]
    game = record.game
    if len(record.moves) * ask.seconds > MOST_REVIEW:
        most = MOST_REVIEW / len(record.moves)
        raise UserError(
            f"expected at most {most:.3f} seconds for each of {len(record.moves):,} moves, got {ask.seconds!r}"
        )
    own = GameAsk(game=game.name, options=dict(game.given_options))
    need_game(own, control)
    found = analyst_for(own, game, ask.leaf, control)
    units = found.units
    yield {
        "moves": len(record.moves),
        "unit": None if units is None else units.name,
        "no_unit": found.no_units,
        "is_chance": units is not None and units.is_chance,
        "leaf": found.leaf,
        "result": None if record.result is None else finite(record.result),
        "players": list(record.players),
    }
    with control.stoppable(found.search.stop):
        for one in reviewed_moves(record, found, ask.seconds):
            yield {
                **one.as_json(),
                "worth": found.written(one.value),
                "best_worth": found.written(one.result.value),
                "blunder": units is not None and is_blunder(one.cost, units(one.result.value), units),
            }
            if control.stopped:
                return


def is_blunder(cost: float, best: float, units: Units) -> bool:
    """Whether a move gave so much away that a reader is to be told."""
    return cost >= (BLUNDER_CHANCE if units.is_chance else BLUNDER_SHARE * abs(best))
