"""Plays moves and chance outcomes given by name or as people type them.

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
"""Matches text that cannot be a list of moves: rows, words with values, and lists in a list or of more than two."""


def stepped(state: State, name: str) -> State:
    """Returns the position after an action, or at a chance stage after an outcome, given by name; raises ValueError for others."""
    return outcome(state, name) if state.is_chance else state.play(name)


def outcome(state: State, name: str) -> State:
    """Returns the position after an outcome of a chance stage; raises ValueError, naming some outcomes, for an unknown one."""
    outcomes = [after for _, after in state.outcomes()]
    names = outcome_names(state, outcomes)
    if name not in names:
        raise UserError(f"{state.game.name}: expected what chance did, {outcomes_text(state)}, got {name!r}")
    return outcomes[names.index(name)]


def outcome_names(state: State, outcomes: Sequence[State]) -> list[str]:
    """Returns the names of the outcomes of a chance stage."""
    return [state.outcome_name(after) or f"#{k}" for k, after in enumerate(outcomes)]


def outcomes_text(state: State) -> str:
    """Returns the stage of a chance position and some of its outcomes as text."""
    names = outcome_names(state, [after for _, after in state.outcomes()])
    return f"{state.stage} ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''})"


def move_names(game: Game, text: str) -> list[str]:
    """Splits a text into names of moves: words, perhaps with commas, or letters if every action has one: `0-1, 2-3`, `4453`."""
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
    """Whether a text names an action, in any spelling."""
    try:
        game.action(name)
    except UserError:
        return False
    return True


def is_board(text: str) -> bool:
    """Whether a text looks like a position instead of moves."""
    return BOARD.search(text) is not None


def is_position(game: Game, text: str) -> bool:
    """Whether a text is a position: it looks like a board, or does not begin with an action and the game can read it."""
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
    """Returns the position after moves and outcomes given by name; raises ValueError, naming the wrong one in `text`."""
    rest = list(names)
    while rest:
        turn = played_in_order(state, rest)
        rest[: len(turn)] = turn
        for name in turn or rest[:1]:
            try:
                state = stepped(state, name)
            except UserError as problem:
                raise UserError(f"{problem} as move {len(names) - len(rest) + 1} of {text!r}") from None
            rest.pop(0)
    return state


WORD = re.compile(r"[a-z]+|[+-]?\d+")


@dataclass(frozen=True)
class Choice:
    """Something that may be typed next."""

    name: str
    """Its name in the game, which may always be typed."""
    words: str
    """Its description for people."""
    number: int
    """Its number in the list, from 1 on, which may be typed instead."""
    chance: float | None = None
    """Its probability, if chance acts."""

    @property
    def told(self) -> str:
        """Its words, and its name if that differs."""
        return self.words if self.name == self.words else f"{self.words} [{self.name}]"


def chosen(choices: Sequence[Choice], typed: Sequence[str]) -> Choice | None:
    """Returns the choice that typed words mean, None for no match; raises ValueError for several matches.

    A name comes before a number, a number before all words of a choice, and these before the beginnings of its first words, one
    by one. Last come beginnings of any of its words in their order, preferably from the first one on.
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
        matches = [choice for choice in choices if test(choice)]
        if len(matches) > 1:
            raise UserError(f"expected one of {', '.join(choice.told for choice in matches)}, got {' '.join(typed)!r}")
        if matches:
            return matches[0]
    return None


def one_by_one(tokens: Sequence[str], choice: Choice) -> bool:
    """Whether typed tokens are beginnings of the first words of a choice, one by one."""
    words = WORD.findall(choice.words.lower())
    return 0 < len(tokens) <= len(words) and all(map(fits, tokens, words))


def begins(tokens: Sequence[str], choice: Choice, *, from_first: bool) -> bool:
    """Whether typed tokens are beginnings of words of a choice, in their order, perhaps from its first word on."""
    words = iter(WORD.findall(choice.words.lower()))
    for k, token in enumerate(tokens):
        if from_first and k == 0:
            if not fits(token, next(words, "")):
                return False
        elif not any(fits(token, word) for word in words):
            return False
    return bool(tokens)


def fits(token: str, word: str) -> bool:
    """Whether a token is the beginning of a word, or the same number, perhaps without its sign."""
    if token.lstrip("+-").isdigit():
        return token == word or token == word.lstrip("+-")
    return word.startswith(token)
