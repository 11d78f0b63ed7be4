"""What the JSON interface tells of games and positions."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.play.by_name import outcome_names, stepped
from leafwise.envs.registry import game as find_game
from leafwise.web import choices
from leafwise.web.asks import GameAsk, StateAsk
from leafwise.web.control import Control

FEW = 16
"""Outcomes of a stage that are told with what was drawn."""
VARIANTS = 16
"""Variants of games that a process keeps, with their tables."""
_games: OrderedDict[tuple[str, str], Game] = OrderedDict()


def need_game(ask: GameAsk, control: Control) -> Game:
    """Returns the game asked for, its rules loaded; raises ValueError as `Game.variant` does: no option is read as a path."""
    key = (ask.game, repr(sorted(ask.options.items())))
    if key not in _games:
        with control.loading():
            game = find_game(ask.game).variant(**ask.options)
            touch(game)
        _games[key] = game
        if len(_games) > VARIANTS:
            _games.popitem(last=False)
    _games.move_to_end(key)
    return _games[key]


TOUCHED = 8
"""Positions, of a game's first ones, that load the code of its rules."""


def touch(game: Game) -> None:
    """Asks for everything that is told of positions, once, so that no click waits for code to be loaded."""
    state, stream = game.start(), new_stream(0)
    for _ in range(TOUCHED):
        described(state)
        if state.is_terminal:
            break
        state = state.sample(stream) if state.is_chance else state.play(state.legal_actions[0])


def tell_game(ask: GameAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells what a game offers in a variant."""
    game = need_game(ask, control)
    about = game.text.about
    leaves, unusable = choices.listed_leaves(game)
    yield {
        "game": game.name,
        "title": game.title,
        "players": game.players,
        "options": dict(ask.options),
        "given_options": dict(game.given_options),
        "option_defaults": dict(game.defaults),
        "option_values": {name: getattr(game.options, name) for name in game.defaults},
        "option_types": types_of(game.options),
        "about": {
            "actions": about.actions,
            "ends": about.ends,
            "rewards": dict(about.rewards),
            "options": dict(about.options),
        },
        "ids": {short: dict(options) for short, options in game.ids.items()},
        "actions": list(game.actions),
        "has_chance": game.max_outcomes > 0,
        "has_solver": choices.has_solver(game),
        "has_companion": game.companion is not None,
        "leaves": leaves,
        "unusable": unusable,
        "opponents": choices.players(game),
    }


def tell_state(ask: StateAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells a position, and the steps that led to it from the one asked for."""
    game = need_game(ask, control)
    state = game.parse(ask.text) if ask.text else game.start()
    first, steps = str(state), []
    for number, name in enumerate(ask.moves, start=1):
        try:
            after = stepped(state, name)
        except UserError as problem:
            raise UserError(f"{problem} as step {number}") from None
        steps.append({"name": name, "player": acting(state), "text": str(after)})
        state = after
    if ask.seed is not None:
        stream = new_stream(ask.seed)
        while state.is_chance:
            after = state.sample(stream)
            steps.append(drawn(state, after))
            state = after
    told = described(state)
    if ask.svg:
        told["svg"] = state.svg()
    yield {**told, "first": first, "steps": steps}


def acting(state: State) -> int | str:
    """Returns who acts: 1 or 2, or "chance"."""
    return "chance" if state.is_chance else state.current_player + 1


def drawn(before: State, after: State) -> dict[str, Any]:
    """Returns a step of chance that was drawn: its name and chance, and where the stage has few outcomes those of all."""
    outcomes = before.outcomes()
    names = outcome_names(before, [state for _, state in outcomes])
    at = next((k for k, (_, state) in enumerate(outcomes) if state == after), None)
    told: dict[str, Any] = {
        "name": names[at] if at is not None else before.outcome_name(after),
        "player": "chance",
        "text": str(after),
        "stage": before.stage,
        "probability": None if at is None else outcomes[at][0],
    }
    if len(outcomes) <= FEW:
        told["odds"] = {name: p for name, (p, _) in zip(names, outcomes, strict=True)}
    return told


def described(state: State) -> dict[str, Any]:
    """Returns a position as JSON."""
    game = state.game
    told: dict[str, Any] = {
        "game": game.name,
        "options": dict(game.given_options),
        "text": str(state),
        "board": state.board(),
        "player": None if state.is_terminal else acting(state),
        "stage": state.stage,
        "actions": list(state.legal_names),
        "outcomes": [],
        "over": state.is_terminal,
        "returns": finite(state.returns),
        "result": ending(state) if state.is_terminal else "",
    }
    if game.text.action_words is not None:
        told["words"] = {name: state.action_words(name) for name in state.legal_names}
    if state.is_chance:
        outcomes = state.outcomes()
        names = outcome_names(state, [after for _, after in outcomes])
        told["outcomes"] = [
            {"name": name, "words": state.outcome_words(after), "probability": p, "text": str(after)}
            for name, (p, after) in zip(names, outcomes, strict=True)
        ]
    return told


def finite(value: float) -> float | None:
    """Returns a number as JSON has it: None for infinity and nan."""
    return float(value) if math.isfinite(value) else None


def ending(state: State) -> str:
    """Returns how a game ended, in words."""
    if state.game.players == 1:
        return f"game over, return {state.returns:,.10g}"
    return "a draw" if state.returns == 0 else f"player {1 if state.returns > 0 else 2} wins"
