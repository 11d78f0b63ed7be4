"""Moves, and what chance did, by name or as people type them: from a position to those after it.

People type the name of a choice, its number, or the first letters of its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.turns import played_in_order

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


def is_position(game: Game, text: str) -> bool:
    """Whether a text is a position: it looks like a board, or begins with no action and is one that the game reads."""
    if is_board(text):
        return True
    names = move_names(game, text)
    if not names or is_action(game, names[0]):
        return False
    try:
        game.parse(text)
    except UserError:
        return False
    return True


def after_moves(state: State, names: Sequence[str], text: str) -> State:
    """Returns the position after moves and outcomes by name; raises ValueError that says which one of `text` cannot be."""
    left = list(names)
    while left:
        whole = played_in_order(state, left)
        left[: len(whole)] = whole
        for name in whole or left[:1]:
            try:
                state = stepped(state, name)
            except UserError as problem:
                raise UserError(f"{problem} as move {len(names) - len(left) + 1} of {text!r}") from None
            left.pop(0)
    return state


WORD = re.compile(r"[a-z]+|[+-]?\d+")


@dataclass(frozen=True)
class Choice:
    """Something that may be typed next."""

    name: str
    """Its name in the game, which may always be typed."""
    words: str
    """What it is, for people."""
    number: int
    """Its number in the list, from 1 on, which may be typed for it."""
    chance: float | None = None
    """Its probability, where chance acts."""

    @property
    def told(self) -> str:
        """Its words, and its name where that says something else."""
        return self.words if self.name == self.words else f"{self.words} [{self.name}]"


def chosen(choices: Sequence[Choice], typed: Sequence[str]) -> Choice | None:
    """Returns the choice that words mean, None if they mean none; raises ValueError if they mean several.

    A name counts more than a number, that more than all words of a choice, those more than the beginnings of its first words one by
    one, and these more than beginnings of any of its words in their order, best from the first one on.
    """
    line = " ".join(typed).lower()
    tokens = WORD.findall(line)
    tests = (
        lambda choice: line.replace(" ", "") == choice.name.lower(),
        lambda choice: line == str(choice.number),
        lambda choice: tokens == WORD.findall(choice.words.lower()),
        lambda choice: one_by_one(tokens, choice),
        lambda choice: begins(tokens, choice, from_first=True),
        lambda choice: begins(tokens, choice, from_first=False),
    )
    for test in tests:
        found = [choice for choice in choices if test(choice)]
        if len(found) > 1:
            raise UserError(f"expected one of {', '.join(choice.told for choice in found)}, got {' '.join(typed)!r}")
        if found:
            return found[0]
    return None


def one_by_one(tokens: Sequence[str], choice: Choice) -> bool:
    """Whether typed tokens begin the first words of a choice, one by one."""
    words = WORD.findall(choice.words.lower())
    return 0 < len(tokens) <= len(words) and all(map(fits, tokens, words))


def begins(tokens: Sequence[str], choice: Choice, *, from_first: bool) -> bool:
    """Whether typed tokens begin words of a choice, in their order, perhaps from its first word on."""
    words = iter(WORD.findall(choice.words.lower()))
    for k, token in enumerate(tokens):
        if from_first and k == 0:
            if not fits(token, next(words, "")):
                return False
        elif not any(fits(token, word) for word in words):
            return False
    return bool(tokens)


def fits(token: str, word: str) -> bool:
    """Whether a token begins a word, or is a number, perhaps without its sign."""
    if token.lstrip("+-").isdigit():
        return token == word or token == word.lstrip("+-")
    return word.startswith(token)
