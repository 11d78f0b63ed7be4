"""All that a check reads of a game, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.declared import PARAMETERS

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


@dataclass(frozen=True)
class Subject:
    """A game as it is checked."""

    game: Game
    rules: Mapping[str, Callable[..., Any]]
    """Every rule that the game has, by its name in `PARAMETERS`."""
    space: Any
    """Of the observations: a Box, or a Dict of boxes."""
    layout: Callable[..., Any] | None
    """The NamedTuple of a Dict's arrays."""
    scratch: frozenset[str]
    write: Callable[[NDArray[Any], Any], str]
    """(row, T) -> text."""
    parse: Callable[[str, Any], NDArray[Any]]
    outcome_name: Callable[[NDArray[Any], NDArray[Any], Any], str]
    symmetries: int
    decisions_per_depth: int
    candidates: tuple[str, ...]
    """Names of what searches can be told to consider; the first is all legal actions."""

    @property
    def name(self) -> str:
        """The game's name."""
        return self.game.name


def subject_of(game: Game) -> Subject:
    """Returns what is checked of a game."""
    symmetries = game.symmetries
    others: dict[str, Callable[..., Any]] = {
        "transform": symmetries.transform,
        "transform_action": symmetries.transform_action,
    }
    if game.rules.is_valid is not None:
        others["is_valid"] = game.rules.is_valid
    return Subject(
        game=game,
        rules={name: rule for name, rule in {**game.rules.functions(), **others}.items() if name in PARAMETERS},
        space=game.observation_space(),
        layout=game.observation.layout,
        scratch=frozenset(game.scratch),
        write=game.text.write,
        parse=game.text.parse,
        outcome_name=game.text.outcome_name,
        symmetries=game.symmetry_count,
        decisions_per_depth=game.search.decisions_per_depth,
        candidates=game.search.candidates,
    )


def boxes(subject: Subject) -> dict[str, Any]:
    """Returns the boxes of the observation by name; of a single one the name is ""."""
    return dict(subject.space.items()) if hasattr(subject.space, "items") else {"": subject.space}


def python_function(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the plain Python function of a rule, compiled or not."""
    plain = getattr(rule, "py_func", rule)
    return getattr(plain, "__wrapped__", plain)


def words(row: NDArray[Any]) -> list[int]:
    """Returns the words of a row as Python's numbers."""
    return [int(word) for word in np.asarray(row)]
