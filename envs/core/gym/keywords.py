"""The options of environments: each with its default, its range and its description.

A new option is a field of `EnvOptions`, and a keyword with the same type and default in the signatures that take it: `GameEnv`,
`GameVectorEnv`, `leafwise.aec`. Checks, copies, compiled code, `help` and the tables of the documentation follow from the
field.
"""

from __future__ import annotations

import textwrap
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from gymnasium.vector import AutoresetMode

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import docs_of, with_files_read
from leafwise.envs.core.ranges import OneOf, Range, check_fields, need_among

if TYPE_CHECKING:
    from leafwise.envs.core.play.players import Opponent


Kind = Literal["single", "batch", "turns"]
"""A single environment (`GameEnv`), a batch (`GameVectorEnv`), or PettingZoo's, in turns (`leafwise.aec`)."""
EVERY: tuple[Kind, ...] = ("single", "batch", "turns")
STEPPED: tuple[Kind, ...] = ("single", "batch")

RENDER_MODES: dict[Kind, tuple[str, ...]] = {
    "single": ("human", "ansi", "rgb_array"),
    "batch": ("ansi", "rgb_array"),
    "turns": ("human", "ansi", "rgb_array"),
}

LOSE, NOOP, RAISE = 0, 1, 2
"""Effects of an illegal action, as numbers for compiled code."""
ILLEGAL = {"lose": LOSE, "noop": NOOP, "raise": RAISE}

RANDOM_SEAT = 2
SEAT_NAMES = ("first", "second")
SEATS = {"first": 0, "second": 1, "random": RANDOM_SEAT}

WAIT, SAME_STEP, NEXT_STEP = 0, 1, 2
"""What follows the end of an episode, for compiled code: waiting for reset, a new start in the same step, or one in the next."""
AUTORESET = {
    AutoresetMode.NEXT_STEP: NEXT_STEP,
    AutoresetMode.SAME_STEP: SAME_STEP,
    AutoresetMode.DISABLED: WAIT,
}

NO_LIMIT = 2**62
MOST_PLIES = 1000
"""The largest number of random actions at the start of an episode."""

E = TypeVar("E")


def option(
    *,
    choices: Callable[[Game, Kind], Iterable[str]] | None = None,
    meaning: Callable[[Game, Kind], Any] = lambda game, kind: None,
    kinds: tuple[Kind, ...] = STEPPED,
    two_player: bool = False,
    number: Callable[[Any], int] | None = None,
) -> dict[str, Any]:
    """Returns the metadata of a field of `EnvOptions`.

    `choices` depend on the game or the kind of environment; a fixed range stands beside the type. `meaning` replaces a default
    of None. `kinds` are the environments that take the option. A `two_player` option must have its default in a single-player
    game. `number` converts the value for compiled code.
    """
    return {"choices": choices, "meaning": meaning, "kinds": kinds, "two_player": two_player, "number": number}


@dataclass(frozen=True)
class EnvOptions:
    """How a game is played as an environment, besides the game's own options. None is a default that depends on the game."""

    render_mode: str | None = field(
        default=None, metadata=option(choices=lambda game, kind: RENDER_MODES[kind], kinds=EVERY)
    )
    """The kind of picture: `"ansi"` (text), `"rgb_array"` (uint8 [height, width, 3]) or, except in batches, `"human"` (a window).

    The window shows every position by itself; it needs pygame, the extra `human`."""
    reward: str | None = field(
        default=None,
        metadata=option(choices=lambda game, kind: game.reward_names, meaning=lambda game, kind: game.reward_names[0]),
    )
    """The name of the reward (default: the change of the agent's return). The page of an environment lists the names.

    This default is called "score". If the game itself defines a reward "score", this default is called "returns" instead."""
    illegal: Annotated[str | None, OneOf(tuple(ILLEGAL))] = field(
        default=None,
        metadata=option(
            meaning=lambda game, kind: "noop" if game.players == 1 and kind in STEPPED else "lose",
            kinds=EVERY,
            number=ILLEGAL.__getitem__,
        ),
    )
    """What an illegal action does: `"lose"`, `"noop"` (default in single-player games, except in PettingZoo) or `"raise"`.

    Under "lose", the default everywhere else, the episode ends with the least return. Under "noop" the position stays as it is and
    the reward is 0; many such actions in a row truncate the episode. "raise" raises ValueError. `info["illegal"]` says in words
    what was illegal."""
    opponent: Opponent | None = field(
        default=None, metadata=option(meaning=lambda game, kind: "greedy", two_player=True)
    )
    """The agent's opponent: a text such as `"greedy"` (default), a `Player`, or a function from the `State` to an action.

    A text is what `leafwise.player` takes: "greedy:LEAF", "search:learned,depth=4", "solver:level=easy". "random" and "greedy" with
    a leaf of compiled code, hand-made or learned, are compiled into the step. All other opponents play in Python, also in a
    batch, and only the rules are compiled. A player with a `stream` takes its random numbers from the environment's. `get_state`
    does not store anything else that a player object of your own remembers. To copy the environment, this object must be
    picklable."""
    seat: Annotated[str, OneOf(tuple(SEATS))] = field(
        default="first", metadata=option(two_player=True, number=SEATS.__getitem__)
    )
    """The agent's seat: `"first"` (default), `"second"` or `"random"` (drawn anew for each episode)."""
    autoreset_mode: Annotated[AutoresetMode | str, OneOf(tuple(AUTORESET))] = field(
        default=AutoresetMode.NEXT_STEP, metadata=option(kinds=("batch",), number=AUTORESET.__getitem__)
    )
    """When an ended episode of a batch starts anew: `"NextStep"` (default, as in Gymnasium), `"SameStep"` or `"Disabled"`.

    "NextStep": in the next step, which ignores the action. "SameStep": in the same step, with the last observation and info in
    `info["final_obs"]` and `info["final_info"]`. "Disabled": when you call `reset` with `options={"reset_mask": bool
    [num_envs]}`."""
    max_episode_steps: Annotated[int | None, Range(1, NO_LIMIT - 1)] = field(
        default=None, metadata=option(number=lambda steps: NO_LIMIT if steps is None else steps)
    )
    """Steps after which an episode is truncated (default: never)."""
    plies: Annotated[int, Range(0, MOST_PLIES)] = field(default=0, metadata=option(number=int))
    """Maximum number of random actions at the start of an episode (default: 0). Each episode draws its number at random.

    Rewards count from the position after these actions. So agents meet positions that their own play does not lead to."""
    observation: str = field(
        default=DEFAULT_VIEW, metadata=option(choices=lambda game, kind: game.view_names, kinds=EVERY)
    )
    """The kind of observation: `"default"`; if the game has them, also `"planes"` [channels, rows, columns] or `"onehot"`.

    The page of an environment says what every number is."""

    @classmethod
    def among(cls, arguments: Mapping[str, Any], game: Game, kind: Kind) -> EnvOptions:
        """Returns the checked options among the arguments of a signature, its `locals()`."""
        return cls(**{name: arguments[name] for name in names_of(kind)}).checked(game, kind)

    def checked(self, game: Game, kind: Kind) -> EnvOptions:
        """Returns the options with values of one type each, and with None replaced by its meaning in this game.

        Raises ValueError for a value that does not fit.
        """
        given = self.autoreset_mode
        mode: Any = next((mode for mode in AUTORESET if given in (mode.value, mode.name)), given)
        fitted = check_fields(replace(self, autoreset_mode=mode), game.name)
        return replace(
            fitted, **{one.name: _checked(one, getattr(fitted, one.name), game, kind) for one in fields_of(kind)}
        )

    def compiled(self) -> Any:
        """Returns the options for compiled code, as numbers: `StepOptions`."""
        return StepOptions(*(number(getattr(self, name)) for name, number in _NUMBERS.items()))


_NUMBERS = {one.name: number for one in fields(EnvOptions) if (number := one.metadata["number"]) is not None}
StepOptions = namedtuple("StepOptions", tuple(_NUMBERS))  # type: ignore[misc]
"""The options that compiled code reads, by name."""


def with_keyword_docs(environment: type[E]) -> type[E]:
    """Adds the description of each keyword to the docstring of an environment, for `help`."""
    parameters = signature(environment.__init__).parameters
    descriptions = [
        f"{name}: {textwrap.indent(text, '    ')[4:]}"
        for name, text in docs_of(EnvOptions).items()
        if name in parameters
    ]
    environment.__doc__ = (
        f"{environment.__doc__}\n    Keywords:\n{textwrap.indent(chr(10).join(descriptions), ' ' * 8)}\n    "
    )
    return environment


def fields_of(kind: Kind) -> list[Field[Any]]:
    """Returns the options that a kind of environment takes."""
    return [one for one in fields(EnvOptions) if kind in one.metadata["kinds"]]


def names_of(kind: Kind) -> tuple[str, ...]:
    """Returns the names of the options that a kind of environment takes."""
    return tuple(one.name for one in fields_of(kind))


def default_of(one: Field[Any], game: Game, kind: Kind) -> Any:
    """Returns the default of an option in a game."""
    return one.metadata["meaning"](game, kind) if one.default is None else one.default


def _checked(one: Field[Any], given, game: Game, kind: Kind):
    """Returns the value of an option; raises ValueError for one that does not fit this game or kind of environment."""
    default, choices = default_of(one, game, kind), one.metadata["choices"]
    if given is None and one.default is None:
        return default
    if choices is not None:
        need_among(given, choices(game, kind), one.name, game.name)
    if one.metadata["two_player"] and game.players == 1 and given != default:
        raise UserError(f"{game.name}: expected no {one.name} in a single-player game, got {given!r}")
    return given


def as_game(game: str | Game, options: Mapping[str, Any], keywords: Iterable[str]) -> Game:
    """Returns the game with a name (or the given one) in the variant with `options`.

    Raises ValueError for an unknown name or a wrong value of an option. Raises TypeError, as Python does, for a keyword that is
    neither an option nor in `keywords`: wrappers try keywords and expect it.
    """
    if not isinstance(game, Game):
        from leafwise.envs.registry import game as by_name

        game = by_name(game)
    for name in options:
        if name not in game.defaults:
            known = ", ".join((*keywords, *game.defaults))
            raise TypeError(f"{game.name}: got an unexpected keyword argument {name!r}, expected some of {known}")
    return game.variant(**with_files_read(game.name, game.options, options))
