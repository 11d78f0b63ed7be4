"""Refuses a `Game` that cannot be one, in a line that says what was expected: sizes, names, ranges, numbers of parameters.

None of its rules is run: whether they keep what `rules` promises is for `leafwise.check_game` to find.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import DISABLED
from leafwise.envs.core.contract.options import values_of
from leafwise.envs.core.contract.parts import Observation, OwnSearch, SearchDefaults, Sizes, Text, of_options
from leafwise.envs.core.contract.rules import (
    DEFAULTS,
    NO_CHANCE,
    PARAMETERS,
    Chance,
    Rules,
    Symmetries,
    one_stage,
    same_for_both,
)
from leafwise.envs.core.errors import UserError

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

REWARD = "S, i, j, k, T"
TRANSFORMS = ("transform", "transform_action")
PARTS = {
    "rules": Rules, "sizes": Sizes, "observation": Observation, "text": Text, "symmetries": Symmetries,
    "search": SearchDefaults,
}  # fmt: skip
MAX_DEPTH = 64
"""How far searches look ahead at most."""
GYM_NAME = r"[A-Za-z][\w.]*"
CANDIDATES = r"[a-z][a-z0-9_+]*"
WORD = r"[a-z][a-z0-9_]*"


def check_declared(game: Game) -> None:
    """Raises ValueError, which names the game, for what no game can be; runs none of its rules, and makes no tables."""
    _need(game, _is_word(game.name), "a name in lower case", game.name)
    for name, kind in PARTS.items():
        _need(game, isinstance(getattr(game, name), kind), f"{name} as {kind.__name__}", getattr(game, name))
    _need(game, isinstance(game.rules.chance, Chance), "rules.chance as Chance", game.rules.chance)
    _need(game, _whole(game.players, 1) and game.players < 3, "1 or 2 players", game.players)
    _need(game, isinstance(game.title, str) and game.title.strip(), "a title", game.title)
    _check_options(game)
    _check_sizes(game)
    _check_functions(game)
    _check_chance(game)
    _check_names(game)
    _check_observation(game)
    _check_search(game)
    ends = game.return_range
    finite = isinstance(ends, tuple) and len(ends) == 2 and all(math.isfinite(end) for end in ends)
    _need(game, finite and ends[0] < ends[1], "return_range as (low, high), low below high", ends)


def check_tables(game: Game, T: Any) -> None:
    """Raises ValueError for tables that no search can use."""
    _need(game, isinstance(T, tuple) and hasattr(T, "_fields"), "a NamedTuple from make_tables", T)
    for name in ("stop", "leaf", *game.scratch):
        part = T
        for step in name.split("."):
            fields = ", ".join(getattr(part, "_fields", ()))
            _need(
                game, step in getattr(part, "_fields", ()), f"a field {name!r} of T, which make_tables returns", fields
            )
            part = getattr(part, step)
    stop = T.stop
    fits = isinstance(stop, np.ndarray) and (stop.dtype, stop.shape) == (np.uint8, (1,))
    _need(game, fits, "T.stop as a uint8 array of shape (1,)", stop)


def _need(game: Game, ok: object, expected: str, got: object) -> None:
    if not ok:
        told = repr(got)
        raise UserError(f"{game.name}: expected {expected}, got {told if len(told) < 200 else told[:200] + ' ...'}")


def _whole(number: object, least: int) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool) and bool(number >= least)


def _is_word(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(WORD, name) is not None


def _need_words(game: Game, what: str, names: Iterable[Any]) -> None:
    for name in names:
        _need(game, _is_word(name), f"{what} as words in lower case", name)


def _check_options(game: Game) -> None:
    options = game.options
    frozen = dataclasses.is_dataclass(options) and not isinstance(options, type)
    frozen = frozen and type(options).__dataclass_params__.frozen
    _need(game, frozen, "options as an instance of a frozen dataclass", options)
    for field in dataclasses.fields(options):
        _need(game, field.default is not dataclasses.MISSING, f"a default of the option {field.name}", field.name)
    for name, value in values_of(options).items():
        try:
            json.dumps(value)
            hash(value)
        except TypeError:
            _need(game, False, f"the option {name} as a number, text, bool or None", value)


def _check_sizes(game: Game) -> None:
    _need(game, _whole(of_options(game.sizes.width, game.options), 1), "a width of at least 1", game.sizes.width)
    _need(game, _whole(game.max_actions, 1), "max_actions of at least 1", game.max_actions)
    try:
        kind = np.dtype(game.dtype).kind
    except TypeError:
        kind = "?"
    _need(game, kind in "iu", "dtype as an integer type of NumPy", game.dtype)
    count = of_options(game.symmetries.count, game.options)
    _need(game, _whole(count, 1), "a count of symmetries of at least 1", count)
    for name in TRANSFORMS:
        given = getattr(game.symmetries, name)
        _need(game, count == 1 or given not in DEFAULTS, f"symmetries.{name} for {count} symmetries", None)


def _check_functions(game: Game) -> None:
    compiled = {**game.rules.functions(), **{name: getattr(game.symmetries, name) for name in TRANSFORMS}}
    compiled = {name: rule for name, rule in compiled.items() if rule not in (*DEFAULTS, one_stage, same_for_both)}
    taken = {name: (rule, PARAMETERS[name]) for name, rule in compiled.items()}
    taken |= {f"the reward {name}": (rule, REWARD) for name, rule in game.rewards.items() if rule is not None}
    for name, (rule, parameters) in taken.items():
        _need(game, callable(rule), f"{name}({parameters}) as a function", rule)
        _need(game, DISABLED or hasattr(rule, "py_func"), f"{name} compiled by jit", rule)
        _need(game, _takes(rule, parameters.count(",") + 1), f"{name}({parameters})", _signature(rule))
    is_valid = game.rules.is_valid
    if is_valid is not None:
        _need(game, callable(is_valid), "is_valid(S, i, T) as a function", is_valid)
        _need(game, _takes(is_valid, 3), "is_valid(S, i, T)", _signature(is_valid))
    plain: dict[str, tuple[Callable[..., Any], int]] = {
        "make_tables": (game.make_tables, 1), "text.write": (game.text.write, 2),
        "text.parse": (game.text.parse, 2), "text.outcome_name": (game.text.outcome_name, 3),
    }  # fmt: skip
    if game.draw is not None:
        plain["draw"] = (game.draw, 2)
    for name, (function, n) in plain.items():
        _need(game, callable(function), f"{name} as a function", function)
        _need(game, _takes(function, n), f"{name} with {n} parameters", _signature(function))


def _signature(function: Any) -> str:
    source = getattr(function, "py_func", function)
    try:
        return f"{getattr(source, '__name__', source)}{inspect.signature(source)}"
    except (ValueError, TypeError):
        return repr(function)


def _takes(function: Any, parameters: int) -> bool:
    """Returns whether a function can be called with so many arguments by place."""
    try:
        inspect.signature(getattr(function, "py_func", function)).bind(*range(parameters))
    except TypeError:
        return False
    except ValueError:  # something built in, which does not say
        return True
    return True


def _check_chance(game: Game) -> None:
    chance = game.rules.chance
    stages = chance.stages
    _need(game, isinstance(stages, tuple) and stages[:1] == ("decision",), "stages that begin with 'decision'", stages)
    _need_words(game, "stages", stages)
    _need(game, len(set(stages)) == len(stages), "stages that differ", stages)
    both = (chance.afterstates is None) == (chance.apply_outcome is None)
    _need(game, both, "both of afterstates and apply_outcome or none", chance.afterstates or chance.apply_outcome)
    alone = chance.afterstates is None or (game.players == 1 and game.search.decisions_per_depth == 1)
    _need(game, alone, "afterstates of a game for one, whose actions all cost 1", chance.afterstates)
    if chance is NO_CHANCE or chance.outcomes in DEFAULTS or chance.max_outcomes == chance.max_stages == 0:
        return
    _need(game, _whole(chance.max_outcomes, 1), "max_outcomes of at least 1", chance.max_outcomes)
    _need(game, _whole(chance.max_stages, 1), "max_stages of at least 1", chance.max_stages)
    _need(game, len(stages) > 1, "a stage of chance after 'decision'", stages)
    told = len(stages) == 2 or chance.stage is not one_stage
    _need(game, told, f"a function stage(S, i, T) for {len(stages) - 1} stages of chance", None)


def _check_names(game: Game) -> None:
    names = of_options(game.action_names, game.options)
    names = ("0",) if names is None else names
    strings = isinstance(names, (tuple, list)) and all(isinstance(name, str) and name.strip() for name in names)
    _need(game, strings and names, "action names as strings that are not empty", names)
    _need(game, len(names) <= game.max_actions, f"at most {game.max_actions} action names (max_actions)", len(names))
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    _need(game, not twice, "action names that differ", twice[:5])
    for what in ("scores", "rewards", "features", "ais"):
        given: Mapping[str, Any] = getattr(game, what)
        _need(game, isinstance(given, Mapping), f"{what} as a mapping", given)
        _need_words(game, f"names of {what}", given)
    _need_words(game, "text.words", game.text.words)
    for what, given in (("scores", game.scores), ("ais", game.ais)):
        for name, make in given.items():
            _need(game, callable(make) or isinstance(make, OwnSearch), f"{what}[{name!r}] as a function", make)
    for short, options in game.ids.items():
        _need(game, re.fullmatch(GYM_NAME, str(short)), "ids as names like 'Threes'", short)
        for option in options:
            known = ", ".join(values_of(game.options)) or "none"
            _need(game, option in values_of(game.options), f"options of id {short!r} among ({known})", option)


def _check_observation(game: Game) -> None:
    space, layout = of_options(game.observation.space, game.options), game.observation.layout
    if isinstance(space, gym.spaces.Box):
        _need(game, layout is None, "no layout of an observation that is a Box", layout)
        return
    boxes = isinstance(space, gym.spaces.Dict) and all(isinstance(box, gym.spaces.Box) for box in space.values())
    _need(game, boxes, "an observation space that is a Box, or a Dict of boxes", space)
    fields = getattr(layout, "_fields", ())
    expected = f"observation.layout as a NamedTuple with the fields {', '.join(space)}"
    _need(game, set(fields) == set(space), expected, fields or layout)


def _check_search(game: Game) -> None:
    search = game.search
    ais = game.ais if isinstance(game.ais, Mapping) else {}
    own = [name for name, make in ais.items() if isinstance(make, OwnSearch)]
    searches = "search", "mcts", *own
    _need(game, search.best in searches, f"search.best among {', '.join(searches)}", search.best)
    _need(game, _whole(search.depth, 1) and search.depth <= MAX_DEPTH, f"search.depth in 1..{MAX_DEPTH}", search.depth)
    _need(game, _whole(search.nodes, 0), "search.nodes of at least 0", search.nodes)
    _need(game, _whole(search.simulations, 1), "search.simulations of at least 1", search.simulations)
    decisions = search.decisions_per_depth
    _need(game, _whole(decisions, 1), "search.decisions_per_depth of at least 1", decisions)
    names = search.candidates
    sound = all(isinstance(name, str) and re.fullmatch(CANDIDATES, name) for name in names)
    _need(game, sound, "search.candidates as names like 'near+far'", names)
    _need(game, len(set(names)) == len(names), "search.candidates that differ", names)
    both = (game.rules.candidates is None) == (not names)
    _need(game, both, "both of rules.candidates and search.candidates or none", names)
