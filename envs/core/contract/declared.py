"""Refuses a `Game` that cannot be one, in a line that says what was expected: sizes, names, ranges, numbers of parameters.

None of its rules is run: whether they keep what `rules` promises is for `leafwise.check_game` to find.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import DISABLED
from leafwise.envs.core.contract.game import Observation, OwnSearch, SearchDefaults, Sizes, Text, of_options
from leafwise.envs.core.contract.rules import DEFAULTS, NO_CHANCE, PARAMETERS, STAND_INS, Chance, Rules, Symmetries
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.ranges import OneOf, Range, check_fields, need_among, need_in

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

Needs = Iterator[tuple[object, str, object]]
"""What must hold, one after the other: whether it does, what was expected, what came."""
REWARD = "S, i, j, k, T"
TRANSFORMS = ("transform", "transform_action")
PARTS = {
    "rules": Rules, "sizes": Sizes, "observation": Observation, "text": Text, "symmetries": Symmetries,
    "search": SearchDefaults,
}  # fmt: skip
POSITIVE = Range(1)
GYM_NAME = r"[A-Za-z][\w.]*"
CANDIDATES = r"[a-z][a-z0-9_+]*"
WORD = r"[a-z][a-z0-9_]*"


def check_declared(game: Game) -> None:
    """Raises ValueError, which names the game, for what no game can be; runs none of its rules, and makes no tables."""
    for part in (_front, _options, _sizes, _functions, _chance, _names, _observation, _search):
        _check(game, part(game))


def check_tables(game: Game, T: Any) -> None:
    """Raises ValueError for tables that no search can use."""
    _check(game, _tables(game, T))


def _check(game: Game, needs: Needs) -> None:
    for holds, expected, got in needs:
        if not holds:
            raise UserError(f"{game.name}: expected {expected}, got {short(repr(got), 200)}")


def _front(game: Game) -> Needs:
    yield _is_word(game.name), "a name in lower case", game.name
    for name, kind in PARTS.items():
        yield isinstance(getattr(game, name), kind), f"{name} as {kind.__name__}", getattr(game, name)
    yield isinstance(game.rules.chance, Chance), "rules.chance as Chance", game.rules.chance
    yield game.players in OneOf((1, 2)), "1 or 2 players", game.players
    yield isinstance(game.title, str) and game.title.strip(), "a title", game.title
    ends = game.return_range
    finite = isinstance(ends, tuple) and len(ends) == 2 and all(math.isfinite(end) for end in ends)
    yield finite and ends[0] < ends[1], "return_range as (low, high), low below high", ends


def _tables(game: Game, T: Any) -> Needs:
    yield isinstance(T, tuple) and hasattr(T, "_fields"), "a NamedTuple from make_tables", T
    for name in ("stop", "leaf", *game.scratch):
        part = T
        for step in name.split("."):
            fields = getattr(part, "_fields", ())
            yield step in fields, f"a field {name!r} of T, which make_tables returns", ", ".join(fields)
            part = getattr(part, step)
    fits = isinstance(T.stop, np.ndarray) and (T.stop.dtype, T.stop.shape) == (np.uint8, (1,))
    yield fits, "T.stop as a uint8 array of shape (1,)", T.stop


def _is_word(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(WORD, name) is not None


def _words(what: str, names: Iterable[Any]) -> Needs:
    return ((_is_word(name), f"{what} as words in lower case", name) for name in names)


def _options(game: Game) -> Needs:
    options = game.options
    frozen = getattr(getattr(type(options), "__dataclass_params__", None), "frozen", False)
    yield frozen, "options as an instance of a frozen dataclass", options
    for field in dataclasses.fields(options):
        yield field.default is not dataclasses.MISSING, f"a default of the option {field.name}", field.name
    for name, value in values_of(options).items():
        try:
            json.dumps(value)
            hash(value)
        except TypeError:
            yield False, f"the option {name} as a number, text, bool or None", value


def _sizes(game: Game) -> Needs:
    check_fields(game.sizes, game.name)
    need_in(of_options(game.sizes.width, game.options), POSITIVE, "a width", game.name, int)
    try:
        kind = np.dtype(game.dtype).kind
    except TypeError:
        kind = "?"
    yield kind in "iu", "dtype as an integer type of NumPy", game.dtype
    count = of_options(game.symmetries.count, game.options)
    need_in(count, POSITIVE, "a count of symmetries", game.name, int)
    for name in TRANSFORMS:
        given = getattr(game.symmetries, name)
        yield count == 1 or given not in DEFAULTS, f"symmetries.{name} for {count} symmetries", None


def _functions(game: Game) -> Needs:
    compiled = {**game.rules.functions(), **{name: getattr(game.symmetries, name) for name in TRANSFORMS}}
    taken = {name: (rule, PARAMETERS[name]) for name, rule in compiled.items() if rule not in STAND_INS}
    taken |= {f"the reward {name}": (rule, REWARD) for name, rule in game.rewards.items() if rule is not None}
    if game.rules.is_valid is not None:
        taken["is_valid"] = game.rules.is_valid, PARAMETERS["is_valid"]
    for name, (rule, parameters) in taken.items():
        yield callable(rule), f"{name}({parameters}) as a function", rule
        yield DISABLED or hasattr(rule, "py_func") or name == "is_valid", f"{name} compiled by jit", rule
        yield _takes(rule, parameters.count(",") + 1), f"{name}({parameters})", _signature(rule)
    plain: dict[str, tuple[Any, int]] = {
        "make_tables": (game.make_tables, 1), "text.write": (game.text.write, 2),
        "text.parse": (game.text.parse, 2), "text.outcome_name": (game.text.outcome_name, 3),
    }  # fmt: skip
    if game.draw is not None:
        plain["draw"] = game.draw, 2
    for name, (function, n) in plain.items():
        yield callable(function), f"{name} as a function", function
        yield _takes(function, n), f"{name} with {n} parameters", _signature(function)


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


def _chance(game: Game) -> Needs:
    chance = game.rules.chance
    stages = chance.stages
    yield isinstance(stages, tuple) and stages[:1] == ("decision",), "stages that begin with 'decision'", stages
    yield from _words("stages", stages)
    yield len(set(stages)) == len(stages), "stages that differ", stages
    both = (chance.afterstates is None) == (chance.apply_outcome is None)
    yield both, "both of afterstates and apply_outcome or none", chance.afterstates or chance.apply_outcome
    alone = chance.afterstates is None or (game.players == 1 and game.search.decisions_per_depth == 1)
    yield alone, "afterstates of a game for one, whose actions all cost 1", chance.afterstates
    if chance is NO_CHANCE or chance.outcomes in DEFAULTS or chance.max_outcomes == chance.max_stages == 0:
        return
    need_in(chance.max_outcomes, POSITIVE, "max_outcomes", game.name, int)
    need_in(chance.max_stages, POSITIVE, "max_stages", game.name, int)
    yield len(stages) > 1, "a stage of chance after 'decision'", stages
    told = len(stages) == 2 or chance.stage not in STAND_INS
    yield told, f"a function stage(S, i, T) for {len(stages) - 1} stages of chance", None


def _names(game: Game) -> Needs:
    names = of_options(game.action_names, game.options)
    names = ("0",) if names is None else names
    strings = isinstance(names, (tuple, list)) and all(isinstance(name, str) and name.strip() for name in names)
    yield strings and names, "action names as strings that are not empty", names
    yield len(names) <= game.max_actions, f"at most {game.max_actions} action names (max_actions)", len(names)
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    yield not twice, "action names that differ", twice[:5]
    for what in ("scores", "rewards", "features", "ais"):
        given = getattr(game, what)
        yield isinstance(given, Mapping), f"{what} as a mapping", given
        yield from _words(f"names of {what}", given)
        for name, make in given.items() if what in ("scores", "ais") else ():
            yield callable(make) or isinstance(make, OwnSearch), f"{what}[{name!r}] as a function", make
    yield from _words("text.words", game.text.words)
    known = values_of(game.options)
    for name, options in game.ids.items():
        yield re.fullmatch(GYM_NAME, str(name)), "ids as names like 'Threes'", name
        for option in options:
            yield option in known, f"options of id {name!r} among ({', '.join(known) or 'none'})", option


def _observation(game: Game) -> Needs:
    space, layout = of_options(game.observation.space, game.options), game.observation.layout
    if isinstance(space, gym.spaces.Box):
        yield layout is None, "no layout of an observation that is a Box", layout
        return
    boxes = isinstance(space, gym.spaces.Dict) and all(isinstance(box, gym.spaces.Box) for box in space.values())
    yield boxes, "an observation space that is a Box, or a Dict of boxes", space
    fields = getattr(layout, "_fields", ())
    expected = f"observation.layout as a NamedTuple with the fields {', '.join(space)}"
    yield set(fields) == set(space), expected, fields or layout


def _search(game: Game) -> Needs:
    check_fields(game.search, game.name, "search.{}".format)
    own = [name for name, make in game.ais.items() if isinstance(make, OwnSearch)]
    need_among(game.search.best, ("search", "mcts", *own), "search.best", game.name)
    names = game.search.candidates
    sound = all(isinstance(name, str) and re.fullmatch(CANDIDATES, name) for name in names)
    yield sound, "search.candidates as names like 'near+far'", names
    yield len(set(names)) == len(names), "search.candidates that differ", names
    both = (game.rules.candidates is None) == (not names)
    yield both, "both of rules.candidates and search.candidates or none", names
