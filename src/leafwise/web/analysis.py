"""Answers that take time: moves of players, analyses, exact values, reviews, and advice for a followed game."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from leafwise.analysis import (
    Analyst,
    exact_turns,
    has_solver,
    need_playable,
    position_json,
    stop_of,
    stopped_after,
    turn_values,
)
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.companion import Following, companion_of
from leafwise.envs.core.play.players import room_players
from leafwise.envs.core.play.solver import SolverPlayer, exact_solver, exact_words
from leafwise.envs.core.play.turns import turns_of
from leafwise.models.leaves import named_leaf
from leafwise.models.players import player as named_player
from leafwise.models.units import CHANCE_WITH_DRAWS
from leafwise.review import ending_text, reviewed_moves
from leafwise.search import Result, Search, Stopped
from leafwise.search.players import BEST, load_code, search_of
from leafwise.search.result import principal_variation
from leafwise.web import games
from leafwise.web.games import (
    leaf_source,
    need_game,
    need_offered,
    player_text,
    records_of,
    replayed,
    step_words,
)
from leafwise.web.requests import (
    AnalyseRequest,
    FollowRequest,
    MoveRequest,
    PrepareRequest,
    ReviewRequest,
    SolveRequest,
)
from leafwise.web.workers import JobContext, RecentCache

TABLE_MB = 32.0
FIRST_SLICE = 0.05
"""Seconds until the first answer of an analysis; each further slice takes twice as long and continues with its table."""
ASIDE_SECONDS = 0.15
"""Seconds for each later position whose values a companion's advice needs."""
LINE_SECONDS, MAX_LINE = 0.02, 10
"""Seconds for each further move of the principal variation, and the maximum number of these."""
SOLVER_TIMEOUT = 30.0
"""Time limit of a solver for a move."""
LEVEL_SECONDS, INSTEAD_SECONDS = 2.0, 0.8
"""Time limit of a level's solver, and seconds of the search that replaces it."""
MAX_REVIEW = 900.0
"""Maximum seconds of a review."""
_kept: RecentCache[Any] = RecentCache(4)
"""The recently used searches, players and solvers."""


def analyst_for(game: Game, leaf: str, context: JobContext, state: State | None = None) -> Analyst:
    """Returns the search of an offered leaf with its code loaded; raises ValueError for a leaf that is not offered."""
    leaf = need_offered(game, leaf, "leaf")

    def made() -> Analyst:
        source = leaf_source(leaf)
        evaluator = named_leaf(game, source)
        more: dict[str, Any] = (
            {} if evaluator.value is None else {"table_mb": TABLE_MB}
        )  # a search in batches has no table
        analyst = Analyst(Search(game, evaluator, seconds=LINE_SECONDS, **more), source)
        analyst.leaf = leaf  # a run's folder is private
        if not (start := game.new(0)).is_terminal:
            analyst.load(start)
        return analyst

    analyst: Analyst = _kept.of((game, leaf), made, context)
    if state is not None and not analyst.is_loaded(state):
        with context.loading():
            analyst.load(state)
    return analyst


def position_of(request: AnalyseRequest | MoveRequest | SolveRequest, context: JobContext) -> State:
    """Returns the position of a request; raises ValueError for another text and for a finished game."""
    return need_playable(need_game(request, context).parse(request.text))


def decision_of(request: MoveRequest | SolveRequest, context: JobContext) -> State:
    """Returns the position of a request; raises ValueError unless a player decides there."""
    state = position_of(request, context)
    if state.is_chance:
        raise UserError(f"{state.game.name}: expected a decision, got a chance stage: {request.text!r}")
    return state


def deepening(analyst: Analyst, state: State, seconds: float, context: JobContext) -> Iterator[Result]:
    """Yields the results of longer and longer searches until the time is up, the search is complete or the job is stopped.

    The depth never decreases. The last search has only the remaining time, and is dropped if it is shallower.
    """
    begun, piece, depth = time.perf_counter(), FIRST_SLICE, 0
    while depth < analyst.depth and not context.stopped and (left := seconds - (time.perf_counter() - begun)) > 0:
        result = analyst(state, min(piece, left))
        piece *= 2
        if result.depth >= depth:
            depth = result.depth
            yield result


def prepare(request: PrepareRequest, context: JobContext) -> dict[str, Any]:
    """Loads the code of a search."""
    begun = time.perf_counter()
    analyst_for(need_game(request, context), request.leaf, context)
    return {"seconds": time.perf_counter() - begun}


def analyse(request: AnalyseRequest, context: JobContext) -> Iterator[dict[str, Any]]:
    """Yields the values of a position as the search deepens."""
    state = position_of(request, context)
    analyst = analyst_for(state.game, request.leaf, context, state)
    actions, turns = dict[str, tuple[str, ...]](), dict[str, Any]()
    for turn in turns_of(state):
        actions[turn.name] = turn.actions
        if not turn.after.is_terminal and not analyst.is_loaded(turn.after):
            with context.loading():
                analyst.load(turn.after)
    begun, depth = time.perf_counter(), 0
    line: tuple[str, ...] = ()
    words = words_of_line(state, line)

    def left() -> float:
        """Returns the remaining seconds."""
        return 0.0 if context.stopped else request.seconds - (time.perf_counter() - begun)

    with context.stoppable(analyst.search.stop), suppress(Stopped):
        for result in deepening(analyst, state, request.seconds, context):
            if result.depth > depth:
                depth, line = result.depth, line_of(analyst, result)
                words = words_of_line(state, line)
                if actions and (by_turn := turn_values(result, analyst, left)):
                    turns = {"turns": turns_json(by_turn, actions, analyst), "turn_depth": depth}
            values = result.action_values
            yield {
                **position_json(result, analyst, line),
                **words,
                "worth": analyst.written(result.value),
                "worths": {name: analyst.written(value) for name, value in values.items()},
                "differences": {name: analyst.difference(result.value, value) for name, value in values.items()},
                "shares": analyst.shares(values, result.value),
                **turns,
                "seconds": time.perf_counter() - begun,
            }


def turns_json(
    values: Mapping[str, float], actions: Mapping[str, tuple[str, ...]], analyst: Analyst
) -> dict[str, dict[str, Any]]:
    """Returns the actions and values of whole turns, best first."""
    best = max(values.values())
    shares = analyst.shares(values, best) or {}
    return {
        name: {
            "actions": actions[name],
            "value": value,
            "worth": analyst.written(value),
            "difference": analyst.difference(best, value),
            "share": shares.get(name),
        }
        for name, value in values.items()
    }


def line_of(analyst: Analyst, result: Result) -> tuple[str, ...]:
    """Returns the principal variation: best moves and most probable outcomes of chance, by short searches."""
    left = min(result.depth, MAX_LINE)

    def answer(state: State) -> int | None:
        nonlocal left
        left -= 1
        return analyst(state, LINE_SECONDS).action if left > 0 else None

    return principal_variation(result.state, result.action, answer)


def words_of_line(state: State, line: tuple[str, ...]) -> dict[str, list[str]]:
    """Returns the steps of a line in words, as `line_words`; {} in games without words."""
    if state.game.text.action_words is None:
        return {}
    return {"line_words": [step_words(step) for step in replayed(state.game, str(state), line).steps]}


def move(request: MoveRequest, context: JobContext) -> dict[str, Any]:
    """Returns the move of a player."""
    state = decision_of(request, context)
    game = state.game
    text = player_text(game, request.player)

    def made() -> Any:
        """Makes the player; a search or a game's own program chooses a first move, so that its code is loaded."""
        who: Any = named_player(text, game)
        if search_of(who) or text in room_players(game):
            load_code(getattr(who, "strong", who), game.new(0))
        return who

    who = _kept.of((game, "player", text), made, context)
    if hasattr(who, "stream"):
        who.stream = new_stream(request.seed)
    begun, search = time.perf_counter(), search_of(who)
    if isinstance(who, SolverPlayer):
        stop, is_level = stop_of(who.solver), request.player.startswith("level:")
        limit = LEVEL_SECONDS if is_level else SOLVER_TIMEOUT
        try:
            with stopped_after(limit, stop), context.stoppable(stop):
                action = who.choose(state)
        except IndexError:  # a stopped solver has no line
            if not is_level:
                raise UserError(f"expected an answer of the exact solver within {limit:.0f} s, got none") from None
            analyst = analyst_for(game, "best", context, state)
            with context.stoppable(analyst.search.stop):
                instead = analyst(state, INSTEAD_SECONDS).action
            assert instead is not None  # at a decision
            action = instead
    else:
        with context.stoppable(search.stop if search else lambda: None):
            action = who.choose(state)
    return {"action": game.actions[action], "seconds": time.perf_counter() - begun}


def solve(request: SolveRequest, context: JobContext) -> Iterator[dict[str, Any]]:
    """Yields the exact values of a position, or what the solver knows when the time is up."""
    state = decision_of(request, context)
    solver = _kept.of((state.game, "solver"), lambda: exact_solver(state.game), context)
    stop, begun = stop_of(solver), time.perf_counter()
    with stopped_after(request.seconds, stop), context.stoppable(stop):
        solution, left = solver.solve(state), request.seconds - (time.perf_counter() - begun)
        by_turn = exact_turns(solution, state, solver, left) if solution.complete else solution
    words, turn_words = (exact_words(one, state, solver) for one in (solution, by_turn))
    turns = {
        turn.name: {"actions": turn.actions, "value": by_turn.action_values[turn.name], "worth": turn_words[turn.name]}
        for turn in turns_of(state)
        if by_turn is not solution
    }
    yield {
        "player": state.current_player + 1,
        **asdict(solution),
        "words": words,
        **({"turns": turns} if turns else {}),
    }


def review(request: ReviewRequest, context: JobContext) -> Iterator[dict[str, Any]]:
    """Yields the value and the loss of each move of a file's first game."""
    record = records_of(request.file)[0]
    moves = len(record.moves)
    if moves * request.seconds > MAX_REVIEW:
        most = f"{MAX_REVIEW / moves:.3f} seconds for each of {moves:,} moves"
        raise UserError(f"expected at most {most}, got {request.seconds!r}")
    analyst = analyst_for(record.game, request.leaf, context)
    units = analyst.units
    exact = has_solver(record.game) and request.leaf in (BEST, need_offered(record.game, BEST, "leaf"))
    yield {
        "moves": moves,
        "unit": units.name if units else CHANCE_WITH_DRAWS if exact else None,
        "no_unit": analyst.no_units,
        "is_chance": exact if units is None else units.is_chance,
        "has_solver": exact,
        "leaf": analyst.leaf,
        "result": record.result,
        "ending": ending_text(record),
        "players": list(record.players),
    }
    with context.stoppable(analyst.search.stop):
        for one in reviewed_moves(record, analyst, request.seconds, exact=exact):
            yield {
                **one.as_json(),
                "worth": one.written(one.value),
                "best_worth": one.written(one.best_value),
                "cost": one.text(-one.cost) if one.cost else "",
                "blunder": one.is_blunder,
            }
            if context.stopped:
                return


def follow(request: FollowRequest, context: JobContext) -> dict[str, Any]:
    """Returns the state of a game that is played elsewhere, after a typed line or an undo.

    `state` is None until the game has begun.
    """
    game = need_game(request, context)
    companion = companion_of(game)
    if request.moves and not request.text:
        raise UserError("expected no steps before a game has begun, got some")
    following = Following(game)
    if request.text:
        following = Following.load(game, str(replayed(game, request.text, request.moves).record()))
    entered = ""
    if request.undo:
        following.undo()
    elif request.line is not None:
        entered = following.enter(request.line, request.best)
    state = following.state
    steps = () if state is None else following.record.steps
    return {
        "game": game.name,
        "options": dict(following.game.given_options),
        "help": companion.help,
        "question": asdict(following.question),
        "first": "" if state is None else str(following.record.start),
        "moves": [step.name for step in steps],
        "lines": [games.step_words(step) for step in steps],
        "file": following.text,
        "state": None if state is None else {**games.position_json(state), "svg": state.svg()},
        "legend": "" if state is None else state.legend(),
        "told": entered,
    }


def advise(request: AnalyseRequest, context: JobContext) -> Iterator[dict[str, Any]]:
    """Yields the value of every option of a decision in people's units, as the search has more time."""
    state = position_of(request, context)
    following = Following(state.game, state)
    analyst = analyst_for(state.game, request.leaf, context)
    begun = time.perf_counter()
    with context.stoppable(analyst.search.stop), suppress(Stopped):
        for result in deepening(analyst, state, request.seconds, context):

            def values(at: State, result: Result = result) -> Mapping[int, float]:
                return result.values if at == state else analyst(at, ASIDE_SECONDS).values

            advice = following.advise(values, analyst.written)
            yield {
                "unit": analyst.unit,
                "best": advice.best,
                "options": [
                    {**asdict(option), "difference": analyst.difference(advice.options[0].value, option.value)}
                    for option in advice.options
                ],
                "notes": [*advice.notes, *([analyst.no_units] if analyst.no_units else [])],
                "depth": result.depth,
                "leaf": analyst.leaf,
                "seconds": time.perf_counter() - begun,
            }
