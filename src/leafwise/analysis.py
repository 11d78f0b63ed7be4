"""The value of a position, by a search or an exact solver: as numbers, JSON and text, in people's units."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.by_name import after_moves, is_action, is_board, move_names
from leafwise.envs.core.play.solver import Solution, Solver, exact_solver, exact_words, need_solver
from leafwise.envs.core.play.turns import turns_of
from leafwise.envs.core.ranges import Range, need_in
from leafwise.models.leaves import named_leaf
from leafwise.models.players import player
from leafwise.models.units import PLAIN, Units, units_of, why_no_units
from leafwise.search import Result, Search
from leafwise.search.mcts import Mcts, MctsResult
from leafwise.search.players import BEST, OPTIONS, MctsPlayer, load_code, split
from leafwise.search.search_options import MAX_SECONDS, read_options

SOLVER_SECONDS = 10.0
"""Time limit of the exact solver for a hint; after it the search answers."""
BLUNDER_CHANCE, BLUNDER_SHARE = 0.1, 0.1
"""A move is a blunder if it gives away this much chance to win, or this share of the expected score."""


class Analyst:
    """A search of one game, and the unit of its values."""

    def __init__(self, search: Search | Mcts, leaf: str) -> None:
        """`leaf` names the search's leaf as in a player's text ("": the best one)."""
        self.search = search
        self.leaf = search.evaluator.name
        """Name of the leaf in results."""
        self.units, self.no_units = units_of(search.game, leaf), why_no_units(search.game, leaf)
        self._loaded: set[bool] = set()

    @property
    def unit(self) -> str:
        """Unit of the numbers that `meaning` returns."""
        return self.units.name if self.units else PLAIN

    @property
    def depth(self) -> int:
        """Maximum depth of the search."""
        assert isinstance(self.search, Search)
        return self.search.depth

    def __call__(self, state: State, seconds: float | None = None) -> Result:
        """Searches a position, within `seconds` if given; raises Stopped if it is stopped before its first depth."""
        self.load(state)
        if seconds is not None:
            self.search.seconds = seconds
        return self.search(state)

    def is_loaded(self, state: State) -> bool:
        """Whether the code for such positions (decisions or chance nodes) is loaded; a tree search loads none in advance."""
        return state.is_chance in self._loaded or not isinstance(self.search, Search)

    def load(self, state: State) -> None:
        """Loads the code for such positions, which is excluded from the search's time limit."""
        if not self.is_loaded(state):
            options = {**vars(self.search.options), "depth": 1, "seconds": None}
            load_code(Search(self.search.game, self.search.evaluator, **options), state)
            self._loaded.add(state.is_chance)

    def meaning(self, value: float) -> float:
        """Converts a value to people's units; without units it stays as it is."""
        return value if self.units is None else self.units(value)

    def text(self, meaning: float) -> str:
        """Formats a number of the unit."""
        return f"{meaning:,.4f}" if self.units is None else self.units.text(meaning)

    def written(self, value: float) -> str:
        """Formats a value of the search in people's units."""
        return self.text(self.meaning(value))

    def difference(self, best: float, value: float) -> str:
        """Formats the difference of a value from the best one, `-1,210`; "" for no difference."""
        gap = self.meaning(value) - self.meaning(best)
        return self.text(gap) if gap else ""

    def blunder(self, best: float) -> float | None:
        """Returns the smallest loss, in the unit, that counts as a blunder; None without a unit."""
        if self.units is None:
            return None
        return BLUNDER_CHANCE if self.units.is_chance else BLUNDER_SHARE * abs(self.units(best))

    def shares(self, values: Mapping[str, float], best: float) -> dict[str, float] | None:
        """Rates actions by their loss: 1 for the best, 0 and less for blunders; None without a unit."""
        if (limit := self.blunder(best)) is None:
            return None
        costs = {name: self.meaning(best) - self.meaning(value) for name, value in values.items()}
        return {name: 1.0 - cost / limit if limit else 1.0 for name, cost in costs.items()}

    def in_unit(self, **values: float) -> dict[str, float | None]:
        """Returns values as JSON entries `NAME_in_unit`; None without a unit."""
        return {f"{name}_in_unit": None if self.units is None else self.units(x) for name, x in values.items()}


def analyst_of(
    game: Game, leaf: str = "", depth: int = 0, seconds: float = 0.0, options: str = "", simulations: int = 0
) -> Analyst:
    """Returns a search whose code for decisions is loaded; `leaf` is named as in players (default: the best one).

    Depth 0 is the search's default, 0 seconds are no time limit, 0 simulations mean a depth-limited search. `options` are
    further options as in players: `threads=2,width=5`. Raises ValueError for wrong names and numbers.
    """
    if simulations:
        limits = f"simulations={simulations}" + (f",seconds={seconds}" if seconds else "")
        who = player(f"mcts:{leaf or BEST},{limits}{options and ','}{options}", game)
        assert isinstance(who, MctsPlayer)
        return Analyst(who.search, leaf)
    need_in(seconds, Range(0, MAX_SECONDS), "--seconds")
    more = read_options(split(options), OPTIONS)
    for name in ("depth", "seconds"):
        if name in more:
            raise UserError(f"expected {name} as --{name}, got it in --options")
    search = Search(game, named_leaf(game, leaf or BEST), depth or None, seconds=seconds or None, **more)
    analyst = Analyst(search, leaf)
    analyst.load(game.new(0))
    return analyst


@contextmanager
def stopped_after(seconds: float, stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` from another thread if the block takes longer."""
    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def stop_of(solver: Solver) -> Callable[[], None]:
    """Returns a function that stops a solver, from any thread; the solver then answers with what it knows."""

    def stop() -> None:
        solver.stop[0] = 1

    return stop


def read_position(game: Game, text: str, moves: str = "") -> State:
    """Returns a position to search: that of a text (default: a new game), after moves and chance outcomes by name.

    Raises ValueError for an unreadable text, wrong moves, and a finished game.
    """
    if text and not moves and not is_board(text) and all(is_action(game, name) for name in move_names(game, text)):
        text, moves = "", text  # moves in the place of a position
    state = game.parse(text) if text else game.start()
    if state.is_chance and not text:
        state = game.new(0)  # after chance at the start: the first decision of seed 0
    if moves:
        state = after_moves(state, move_names(game, moves), moves.strip())
    return need_playable(state)


def need_playable(state: State) -> State:
    """Returns the position; raises ValueError for a finished game."""
    if state.is_terminal:
        raise UserError(f"{state.game.name}: expected a position to play, got a finished game: {str(state)!r}")
    return state


def points_text(state: State) -> str:
    """Returns the score so far by the game's own rules."""
    return f"{round(state.points, 3):,.10g} points"


def ending(state: State) -> str:
    """Returns how a game ended, in words."""
    if state.game.players == 1:
        return points_text(state)
    return "a draw" if state.returns == 0 else f"player {1 if state.returns > 0 else 2} wins"


def turn_values(result: Result, analyst: Analyst, left: Callable[[], float] = lambda: math.inf) -> dict[str, float]:
    """Returns the values of whole turns to the player who acts, best first; {} in games without whole turns.

    The position after each turn is searched to the remaining depth, at least 1. `left` returns the remaining seconds. If they run
    out before all turns are valued, the result is {}.
    """
    state, search, values = result.state, analyst.search, dict[str, float]()
    if not isinstance(search, Search):
        return values
    options = {**vars(search.options), "seconds": None}
    searches: dict[int, Search] = {}
    for turn in turns_of(state):
        depth = max(1, result.depth - turn.cost)
        if depth not in searches:
            searches[depth] = Search(state.game, search.evaluator, **{**options, "depth": depth})
        if (seconds := left()) < math.inf:
            searches[depth].seconds = max(seconds, 1e-3)
        after, player = turn.after, state.current_player
        seen_by = after.current_player if after.current_player >= 0 else 0
        value = after.returns if after.is_terminal else searches[depth](after).value
        if left() <= 0:
            return {}
        values[turn.name] = value if seen_by == player else -value
    return dict(sorted(values.items(), key=lambda one: -one[1]))


def position_json(
    result: Result, analyst: Analyst, line: tuple[str, ...] | None = None, turns: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Returns a searched position as JSON: values of the leaf, and in people's units if they are known.

    A solver's answer has the fields of its `Solution` instead. `line` is the principal variation if it is known already, and
    `turns` are the values of whole turns, if any.
    """
    values = result.action_values
    return {
        "position": str(result.state),
        "player": None if result.state.is_chance else result.state.current_player + 1,
        "value": result.value,
        "score": None,
        "best_actions": [name for name, value in values.items() if value == result.value],
        "action_values": values,
        "unit": None if analyst.units is None else analyst.unit,
        **({"no_unit": analyst.no_units} if analyst.no_units else {}),
        **analyst.in_unit(value=result.value),
        "action_values_in_unit": None if analyst.units is None else {k: analyst.units(x) for k, x in values.items()},
        **({"turn_values": turns} if turns else {}),
        "line": result.line if line is None else line,
        "nodes": result.nodes,
        "leaves": result.leaves,
        "depth": result.depth,
        **({"simulations": result.action_visits, "proven": result.proven} if isinstance(result, MctsResult) else {}),
        "seconds": result.seconds,
        "leaf": analyst.leaf,
    }


def position_lines(result: Result, analyst: Analyst, turns: Mapping[str, float] | None = None) -> Iterator[str]:
    """Yields the lines of text on a searched position."""
    state, units = result.state, analyst.units
    yield state.board()
    if legend := state.legend():
        yield legend
    yield ""
    if state.is_chance:
        whose = " for player 1" if state.game.players == 2 else ""
        yield f"  chance acts next ({state.stage}); {analyst.unit} {analyst.written(result.value)}{whose}"
    else:
        yield from value_lines(result, analyst, turns)
    yield ""
    if turns or result.line:
        yield f"  line   {next(iter(turns)) if turns else ' '.join(result.line)}"
    yield f"  leaf   {analyst.leaf}, depth {result.depth}"
    if isinstance(result, MctsResult) and result.proven:
        yield "  proven the value is exact: the tree ends in finished games"
    if units:
        yield f"  unit   {units.name}; {how_right(units)}"
    if analyst.no_units:
        yield f"  {analyst.no_units}"
    yield f"  work   {result.nodes:,} decisions, {result.leaves:,} leaves, {result.seconds:.4f} s"


def how_right(units: Units) -> str:
    """Returns a sentence on the error of a unit's numbers in games."""
    off = f"{100 * units.error:.1f} " + ("%" if not units.is_share else "percentage points")
    played = f"{games:,} games" if (games := units.fitted.get("games")) else "games"
    return f"within {off} of what came of {played}, on average over any tenth of their positions"


def value_lines(result: Result, analyst: Analyst, turns: Mapping[str, float] | None = None) -> list[str]:
    """Returns the unit, and one line per action, best first: its value and the difference from the best.

    A tree search adds the simulations. If there are `turns`, they replace the actions.
    """
    if turns:
        best, width = max(turns.values()), max(map(len, turns))
        turn_lines = [f"  {analyst.unit} of whole turns, and the difference from the best"]
        for name, value in turns.items():
            behind = analyst.difference(best, value) or "best"
            turn_lines.append(f"  {name:<{width}}  {analyst.written(value):>12}{behind:>12}")
        return turn_lines
    visits, values = getattr(result, "action_visits", {}), result.action_values
    ranked = sorted(values, key=lambda name: (name != result.name, -visits.get(name, 0), -values[name]))
    words = {name: result.state.action_words(name) for name in ranked}
    width = max(map(len, ranked), default=0)
    has_words = any(text != name for name, text in words.items())
    lines = [f"  {analyst.unit}, and the difference from the best" + (", simulations" if visits else "")]
    for name in ranked:
        taken = f"  {visits[name]:>11,}" if visits else ""
        behind = "best" if name == result.name else analyst.difference(result.value, values[name])
        text = f"  {words[name]}" if has_words else ""
        lines.append(f"  {name:<{width}}  {analyst.written(values[name]):>12}{behind:>12}{taken}{text}".rstrip())
    return lines


def has_solver(game: Game) -> bool:
    """Whether a game has an exact solver for this variant; loads none of its code."""
    try:
        need_solver(game)
    except UserError:
        return False
    return True


def solver_of(game: Game) -> Solver | None:
    """Returns the exact solver of a game; None if there is none for this variant."""
    try:
        return exact_solver(game)
    except UserError:
        return None


def solved(solver: Solver, state: State, seconds: float) -> Solution | None:
    """Returns the exact solution of a position, None if the solver needs longer."""
    with stopped_after(seconds, stop_of(solver)):
        solution = solver.solve(state)
    return solution if solution.complete else None


def exact_turns(solution: Solution, state: State, solver: Solver, seconds: float) -> Solution:
    """Returns the exact solution of a position with whole turns instead of actions.

    The solution is unchanged in games without whole turns, and if the solver needs longer.
    """
    values, end = dict[str, float](), time.perf_counter() + seconds
    answers: dict[tuple[str, ...], Solution | None] = {(): solution}
    for turn in turns_of(state):
        *names, last = turn.actions
        before = tuple(names)
        if before not in answers:
            left = end - time.perf_counter()
            answers[before] = solved(solver, after_moves(state, before, turn.name), left) if left > 0 else None
        if (answer := answers[before]) is None:
            return solution
        values[turn.name] = answer.action_values[last]
    if not values:
        return solution
    best = max(values.values())
    kept = tuple(name for name, value in values.items() if value == best)
    return replace(solution, action_values=values, action_scores=None, best_actions=kept)


class Hints:
    """Values of all moves for a person who plays: exact if the game has a solver, else by search."""

    def __init__(self, analyst: Analyst, *, exact: bool, solver: Solver | None = None) -> None:
        """`exact`: whether to ask the game's solver first; `solver` is one that exists already."""
        self.analyst, self.exact, self.solver = analyst, exact, solver

    def asks_solver(self) -> bool:
        """Whether an exact solver is asked first; a solver that is not made yet may refuse the variant."""
        return self.exact and (self.solver is not None or has_solver(self.analyst.search.game))

    def __call__(self, state: State) -> list[str]:
        """Returns one line per move, best first, and the source of the values."""
        by_search = f"  by search, depth {{}}, leaf {self.analyst.leaf}"
        if self.asks_solver() and self.solver is None:
            self.solver = solver_of(state.game)
            self.exact = self.solver is not None
        if self.exact and self.solver is not None:
            if solution := solved(self.solver, state, SOLVER_SECONDS):
                note = f", {solution.note}" if solution.note else ""
                solution = exact_turns(solution, state, self.solver, SOLVER_SECONDS)
                return [*solution_lines(solution, state, self.solver), f"  exact, by the solver{note}"]
            by_search += f"; the exact solver needs more than {SOLVER_SECONDS:.0f} s"
        result = self.analyst(state)
        why = [f"  {self.analyst.no_units}"] if self.analyst.no_units else []
        return [
            *value_lines(result, self.analyst, turn_values(result, self.analyst)),
            *why,
            by_search.format(result.depth),
        ]


def solution_lines(solution: Solution, state: State, solver: Solver) -> list[str]:
    """Returns one line per move, best first: its value, and the length of the game if the solver knows it."""
    order, words = solution.action_scores or solution.action_values, exact_words(solution, state, solver)
    width, words_width = (max(map(len, texts), default=0) for texts in (order, words.values()))
    return [
        f"  {name:<{width}}  {words[name]:<{words_width}}{'  best' if name in solution.best_actions else ''}".rstrip()
        for name in sorted(order, key=lambda name: -order[name])
    ]
