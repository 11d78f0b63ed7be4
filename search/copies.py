"""What a search is where it is pickled or copied: its recipe, which is the game, the leaf and the options that it was made of."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from leafwise.envs import registry
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.lines import short


class Copied:
    """A search whose copies and pickles are made anew of its recipe, with memory of their own."""

    game: Game
    evaluator: Evaluator
    recipe: Mapping[str, Any]
    """The options that it was made with."""

    def __copy__(self) -> Any:
        return type(self)(self.game, self.evaluator, **self.recipe)  # type: ignore[call-arg]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce__(self) -> Any:
        return made, (type(self), self.game, pickled_leaf(self.game, self.evaluator), dict(self.recipe))


def made(kind: type[Any], game: Game, leaf: str | Evaluator, options: Mapping[str, Any]) -> Any:
    """Returns the search of a recipe."""
    return kind(game, registry.leaf(leaf, game) if isinstance(leaf, str) else leaf, **options)


def pickled_leaf(game: Game, evaluator: Evaluator) -> str | Evaluator:
    """Returns what a leaf is pickled as: its name where one stands for it, else itself.

    Raises ValueError for a leaf of functions that no other process can find.
    """
    try:
        if is_same(registry.leaf(evaluator.name, game), evaluator):
            return evaluator.name
    except (ValueError, Warning):  # no name of a leaf; or of a file that is not to be opened without a word
        pass
    expected = "expected a leaf that has a name like a score's or a file's, or is made of a module's functions, to pickle a search"
    check_pickles(evaluator, f"{expected}, got {evaluator.name!r}")
    return evaluator


def check_pickles(thing: Any, problem: str) -> None:
    """Raises ValueError for what cannot be pickled."""
    try:
        pickle.dumps(thing)
    except Exception as reason:  # pickle raises whatever the parts' own methods do
        raise ValueError(f"{problem}: {short(reason)}") from None


def is_same(first: Any, second: Any) -> bool:
    """Whether two leaves, or parts of leaves, are the same thing made twice."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Evaluator):
        return all(is_same(getattr(first, field.name), getattr(second, field.name)) for field in fields(first))
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)


class Again(Protocol):
    """What searches a position on a principal line, so many decisions deep."""

    def again(self, state: State, depth: int) -> Any:
        """Returns the result."""


class Follow:
    """Finds what a result's line is searched by: the search that it is of, or one made anew where that is gone."""

    def __init__(self, search: Any) -> None:
        self._search = weakref.ref(search)
        self._recipe = type(search), search.game, search.evaluator, search.recipe

    def __call__(self) -> Again:
        """Returns the search."""
        search: Again | None = self._search()
        return made(*self._recipe) if search is None else search
