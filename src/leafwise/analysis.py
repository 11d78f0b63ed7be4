"""What `leafwise analyze` finds out: the values of a position, and what each move of a game gave away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from leafwise.cli import make_search, make_tree_search, say, units_of_leaf, value_lines, why_no_units
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.by_name import after_moves, is_action, is_board, move_names
from leafwise.envs.core.play.gamefile import GameRecord, Step
from leafwise.models.units import PLAIN, Units, written
from leafwise.search import Result, Search
from leafwise.search.mcts import Mcts, MctsResult
from leafwise.search.players import load_code

SHOWN = 3
"""Moves of each player that gave most away and are named again at the end."""


class Analyst:
    """A search of one game, and what its values mean; loading its code is no part of a search's time."""

    def __init__(self, game: Game, leaf: str, depth: int, seconds: float, options: str, simulations: int = 0) -> None:
        """Options are those of `leafwise.cli.make_search`, with simulations `make_tree_search`; raises ValueError for
        wrong ones."""
        self.search: Search | Mcts = (
            make_tree_search(game, leaf, simulations, seconds, options)
            if simulations
            else make_search(game, leaf, depth, seconds, options)
        )
        self.units = units_of_leaf(game, leaf)
        self.no_units = why_no_units(game, leaf)
        self.bare = (game, leaf, options)
        self.chance_loaded = False

    def __call__(self, state: State) -> Result:
        """Searches a position."""
        if state.is_chance and not self.chance_loaded and isinstance(self.search, Search):
            game, leaf, options = self.bare
            load_code(make_search(game, leaf, 1, 0.0, options), state)
            self.chance_loaded = True
        return self.search(state)


def read_position(game: Game, text: str, moves: str = "") -> State:
    """Returns a position to search: that of a text (default: a new game), after moves, and what chance did between, by name.

    Raises ValueError for text and moves that are none, and for a finished game.
    """
    if text and not moves and not is_board(text) and all(is_action(game, name) for name in move_names(game, text)):
        text, moves = "", text  # moves in the place of a position
    state = game.parse(text) if text else beginning(game)
    if moves:
        state = after_moves(state, move_names(game, moves), moves.strip())
    if state.is_terminal:
        raise UserError(f"{game.name}: expected a position to play, got a finished game: {str(state)!r}")
    return state


def beginning(game: Game) -> State:
    """Returns the start of a game; in games that begin with chance, the first decision of seed 0."""
    start = game.start()
    return game.new(0) if start.is_chance else start


def described(text: str, result: Result, analyst: Analyst) -> dict[str, Any]:
    """Returns what `--json` prints of a position: values as the leaf has them, and in people's units where they are known."""
    units = analyst.units
    best = [name for name, value in result.action_values.items() if value == result.value]
    meanings = None if units is None else {name: units(value) for name, value in result.action_values.items()}
    return {
        "position": text,
        "player": None if result.state.is_chance else result.state.current_player + 1,
        "value": result.value,
        "score": None,
        "best_actions": best,
        "action_values": result.action_values,
        "unit": None if units is None else units.name,
        **({"no_unit": analyst.no_units} if analyst.no_units else {}),
        "value_in_unit": None if units is None else units(result.value),
        "action_values_in_unit": meanings,
        "line": result.line,
        "nodes": result.nodes,
        "leaves": result.leaves,
        "depth": result.depth,
        **({"simulations": result.action_visits, "proven": result.proven} if isinstance(result, MctsResult) else {}),
        "seconds": result.seconds,
        "leaf": analyst.search.evaluator.name,
    }


def show(state: State, result: Result, analyst: Analyst) -> None:
    """Prints a result for people."""
    units = analyst.units
    say(state.board())
    if legend := state.legend():
        say(legend)
    say()
    if state.is_chance:
        whose = " for player 1" if state.game.players == 2 else ""
        say(
            f"  chance acts next ({state.stage}); {units.name if units else PLAIN} {written(result.value, units)}{whose}"
        )
    else:
        for line in value_lines(result, units):
            say(line)
    say()
    if result.line:
        say(f"  line   {' '.join(result.line)}")
    say(f"  leaf   {analyst.search.evaluator.name}, depth {result.depth}")
    if isinstance(result, MctsResult) and result.proven:
        say("  proven the value is exact: finished games leave no other")
    if units:
        say(
            f"  unit   {units.name}, off by at most {units.error:.3f} in a tenth of {units.fitted.get('games', 0):,} games"
        )
    if analyst.no_units:
        say(f"  {analyst.no_units}")
    say(f"  work   {result.nodes:,} decisions, {result.leaves:,} leaves, {result.seconds:.4f} s")


class Judged(NamedTuple):
    """A move of a game, and what the search says of it. Values are for the player who moved."""

    number: int
    player: int
    """1 or 2."""
    step: Step
    result: Result
    loss: float
    """Value of the best action less that of the one played."""

    @property
    def value(self) -> float:
        """Value of the action played."""
        assert self.step.action is not None
        return self.result.values[self.step.action]


def judged(record: GameRecord, analyst: Callable[[State], Result]) -> Iterator[Judged]:
    """Yields every move of a game with what it gave away, by a search of each position."""
    for number, step in enumerate(record.moves, start=1):
        result = analyst(step.before)
        assert step.action is not None
        if step.action not in result.values:
            raise UserError(f"move {number}: expected a search that considers {step.name!r}, got --options without it")
        loss = result.value - result.values[step.action]
        yield Judged(number, step.before.current_player + 1, step, result, loss)


def judged_json(one: Judged, units: Units | None, number: int) -> dict[str, Any]:
    """Returns what `--json` prints of a move of the `number`-th game."""
    played, best = one.value, one.result.value
    return {
        "game": number,
        "move": one.number,
        "player": one.player,
        "played": one.step.name,
        "value": played,
        "best": one.result.name,
        "best_value": best,
        "loss": one.loss,
        "unit": None if units is None else units.name,
        "value_in_unit": None if units is None else units(played),
        "best_value_in_unit": None if units is None else units(best),
        "loss_in_unit": None if units is None else units(best) - units(played),
        "depth": one.result.depth,
        "seconds": one.result.seconds,
    }


def lost(one: Judged, units: Units | None) -> float:
    """Returns what a move gave away, in people's units where they are known."""
    return one.loss if units is None else units(one.result.value) - units(one.value)


def loss_text(loss: float, units: Units | None) -> str:
    """Returns what was given away, as people read it; "" for nothing."""
    if loss == 0:
        return ""
    if units is None:
        return f"{loss:,.4f}"
    if units.is_chance:
        return f"{100 * loss:.1f} %"
    return f"{loss:,.0f}" if units.meanings[-1] > 100 else f"{loss:.3f}"


def seen(one: Judged, units: Units | None) -> bool:
    """Whether people see that a move gave something away."""
    return loss_text(lost(one, units), units) not in ("", loss_text(1e-12, units))


def show_game(record: GameRecord, analyst: Analyst) -> None:
    """Prints a game move by move: what was played, what it was worth, what was better, and what that gave away."""
    units, game, search = analyst.units, record.game, analyst.search
    assert isinstance(search, Search)  # simulations are for positions alone
    who = " - ".join(record.players) or "players unknown"
    result = "not finished" if record.result is None else f"result {record.result:,.10g}"
    say(f"{game!r}: {who}, {len(record.moves)} moves, {result}")
    say(f"  leaf   {search.evaluator.name}, depth {search.depth}")
    say(f"  unit   {units.name if units else PLAIN}, for the player who moves")
    if analyst.no_units:
        say(f"  {analyst.no_units}")
    width = max([4, *(len(name) for step in record.moves for name in (step.name, *step.before.legal_names))])
    say(
        f"  {'move':>4}  {'player':>6}  {'played':<{width}}  {'worth':>12}  {'best':<{width}}  {'worth':>12}  {'loss':>10}"
    )
    found: list[Judged] = []
    for one in judged(record, analyst):
        found.append(one)
        better = one.result.name if one.loss else ""
        worth = written(one.result.value, units) if one.loss else ""
        loss = loss_text(lost(one, units), units)
        line = f"  {one.number:>4}  {one.player:>6}  {one.step.name:<{width}}  {written(one.value, units):>12}"
        say(f"{line}  {better:<{width}}  {worth:>12}  {loss:>10}".rstrip())
    for player in range(1, game.players + 1):
        own = [one for one in found if one.player == player]
        if own:
            mean = sum(lost(one, units) for one in own) / len(own)
            worst = [one for one in sorted(own, key=lambda one: -lost(one, units))[:SHOWN] if seen(one, units)]
            named = ", ".join(f"{one.number}. {one.step.name} ({loss_text(lost(one, units), units)})" for one in worst)
            whose = f"player {player}: " if game.players == 2 else ""
            say(f"  {whose}mean loss {loss_text(mean, units) or '0'}; most given away by {named or 'no move'}")
