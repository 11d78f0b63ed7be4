"""Moves, and what chance did, by name: from a position to those after it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError

BOARD = re.compile(r"""[/\n=|;]|\\n|[\[(]\s*[\[("']|[\[(](?:[^\[\]()\s,]+[\s,]+){2}[^\[\]()\s,]""")
"""What no list of moves has: rows, words with values, lists in a list or of more than two."""


def stepped(state: State, name: str) -> State:
    """Returns the position after an action, or at a chance stage after an outcome, by name; raises ValueError for others."""
    return outcome(state, name) if state.is_chance else state.play(name)


def outcome(state: State, name: str) -> State:
    """Returns the position after an outcome of a chance stage; raises ValueError, naming some, if it has none such."""
    outcomes = [after for _, after in state.outcomes()]
    names = outcome_names(state, outcomes)
    if name not in names:
        raise UserError(f"{state.game.name}: expected what chance did, {outcomes_told(state)}, got {name!r}")
    return outcomes[names.index(name)]


def outcome_names(state: State, outcomes: Sequence[State]) -> list[str]:
    """Returns the names of the outcomes of a chance stage."""
    return [state.outcome_name(after) or f"#{k}" for k, after in enumerate(outcomes)]


def outcomes_told(state: State) -> str:
    """Returns the stage of a chance position and some of its outcomes, in words."""
    names = outcome_names(state, [after for _, after in state.outcomes()])
    return f"{state.stage} ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''})"


def move_names(game: Game, text: str) -> list[str]:
    """Returns the names of moves: words, perhaps with commas between, or letters where every action is one: `0-1, 2-3`, `4453`."""
    text = re.sub(r"[({\[]([^(){}\[\]]*)[)}\]]", lambda found: re.sub(r"\s", "", found[0]), text)
    if all(len(name) == 1 for name in game.actions):
        return re.findall(r"[^\s,]", text)
    names: list[str] = []
    for word in re.findall(r"\S+", text):
        whole = word.strip(",") or word
        parts = [part for part in re.split(r",(?![^({\[]*[)}\]])", whole) if part]
        names += parts if not is_action(game, whole) and all(is_action(game, part) for part in parts) else [whole]
    return names


def is_action(game: Game, name: str) -> bool:
    """Whether a text names an action, in any of its spellings."""
    try:
        game.action(name)
    except UserError:
        return False
    return True


def is_board(text: str) -> bool:
    """Whether a text is a position rather than moves."""
    return BOARD.search(text) is not None


def after_moves(state: State, names: Sequence[str], text: str) -> State:
    """Returns the position after moves and outcomes by name; raises ValueError that says which one of `text` cannot be."""
    for number, name in enumerate(names, start=1):
        try:
            state = stepped(state, name)
        except UserError as problem:
            raise UserError(f"{problem} as move {number} of {text!r}") from None
    return state
