"""What people type for a choice: its name, its number, or the first letters of its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from leafwise.envs.core.errors import UserError

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
