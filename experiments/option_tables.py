"""Tables of options, made from the classes and functions that define them; `figures` writes them into the pages.

A mark `<!-- table: dqn-options -->` takes the table of that name. A row has an option, its default, its values, and the first
paragraph of what its definition says of it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.fields import docs_of
from leafwise.envs.core.gym.env_page import table
from leafwise.envs.core.play.program import KNOWN, ProgramPlayer
from leafwise.envs.core.play.solver import LEVELS, SolverPlayer
from leafwise.envs.core.ranges import Limit, OneOf, limits_of
from leafwise.envs.core.ranges import shown as shown_number
from leafwise.envs.starship.lookahead import LookAhead
from leafwise.envs.trap.turns import TurnSearch
from leafwise.search.rollout import rollout
from leafwise.search.search_options import MctsOptions, SearchOptions

TRAINING = {
    "run-options": "runs.run_options:RunOptions", "match-options": "runs.gating:GatedOptions",
    "actor-options": "runs.gating:ActorOptions", "iteration-options": "runs.gating:IterationOptions",
    "alphazero-options": "alphazero.alphazero:Config", "dqn-options": "dqn.dqn:Config",
    "ntuple-q-options": "ntuple_td.ntuple_q:Config", "ntuple-td-options": "ntuple_td.ntuple_td:Config",
    "ppo-options": "ppo.ppo:Config", "selfplay-options": "selfplay.selfplay:Config",
    "ship-changes-options": "starship.ship_changes:Config", "ship-ppo-options": "starship.ppo:Config",
    "ship-values-options": "starship.ship_values:Config", "value-td-options": "selfplay.value_td:Config",
}  # fmt: skip
"""Name of a table -> the dataclass of `leafwise.training` that defines its options."""
PLAYERS: dict[str, tuple[Callable[..., Any], Mapping[str, Limit]]] = {
    "`rollout`": (rollout, {}),
    "`solver`": (SolverPlayer.__init__, {"level": OneOf(tuple(LEVELS))}),
    "`program:COMMAND`": (ProgramPlayer.__init__, KNOWN),
    "`turns:LEAF` (Trap)": (TurnSearch.__init__, {}),
    "`build:LEAF` (Starship)": (LookAhead.__init__, {}),
}
"""A player's text -> what it calls with its options, described in the docstring's `Args`, and limits that stand elsewhere."""


def of_search(options: Any, exact: bool) -> str:
    """Returns the table of a search's options, whose definitions say which are exact and which a player's text may hold."""
    docs, limits = docs_of(options), limits_of(options)
    head = ["option", "default", "values", *(["exact"] if exact else []), "in a text", "what it does"]
    rows = []
    for one in dataclasses.fields(options):
        exact_column = [one.metadata["exact"]] if exact else []
        yes_or_no = ["yes" if this else "no" for this in (*exact_column, one.metadata["in_text"])]
        values = values_of(str(one.type), limits.get(one.name))
        rows.append([f"`{one.name}`", shown(one.default), values, *yes_or_no, first(docs[one.name])])
    return table(head, rows)


def of_training(place: str) -> str:
    """Returns the table of the options that a class of training defines itself."""
    module, _, name = place.partition(":")
    options = getattr(importlib.import_module(f"leafwise.training.{module}"), name)
    docs, limits = docs_of(options), limits_of(options)
    rows = []
    for one in dataclasses.fields(options):
        if one.name not in inspect.get_annotations(options) or "Suppress" in str(one.type):
            continue
        flag = f"`{flag_of(one.name)}`"
        default, values = shown(one.default), values_of(str(one.type), limits.get(one.name))
        if isinstance(one.default, bool):
            flag, default, values = ("`--no-" + flag[3:], "on", "") if one.default else (flag, "off", "")
        rows.append([flag, default, values, first(docs[one.name])])
    return table(["option", "default", "values", "what it does"], rows)


def of_players() -> str:
    """Returns the table of the options of players that are no search of all games."""
    rows = []
    for player, (call, elsewhere) in PLAYERS.items():
        call = inspect.unwrap(call)
        parameters, hints = inspect.signature(call).parameters, typing.get_type_hints(call, include_extras=True)
        for name, meaning in arguments_of(call):
            default = parameters[name].default if name in parameters else None
            marks = getattr(hints.get(name), "__metadata__", ())
            limit = next((one for one in marks if isinstance(one, Limit)), elsewhere.get(name))
            rows.append([player, f"`{name}`", shown(default), values_of(str(hints.get(name)), limit), meaning])
    return table(["player", "option", "default", "values", "what it does"], rows)


def arguments_of(call: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """Yields the arguments that a docstring describes, with what it says."""
    listed = (inspect.getdoc(call) or "").partition("Args:\n")[2].partition("\n\n")[0]
    for entry in re.split(r"\n    (?=\w)", f"\n{listed}")[1:]:
        name, _, meaning = entry.partition(": ")
        yield name, first(meaning[0].upper() + meaning[1:])


def values_of(kind: str, limit: Limit | None) -> str:
    """Returns the values that an option takes, given its type as it is written; nothing where they are texts."""
    if limit is not None:
        return str(limit).removeprefix("of ").removeprefix("among ")
    if choices := re.search(r"Literal\[(.*?)\]", kind):
        return re.sub(r"[\"']", "", choices[1])
    return next(
        (words for name, words in {"tuple[int": "whole numbers", "bool": "True, False"}.items() if name in kind), ""
    )


def shown(default: Any) -> str:
    """Returns a default as pages have it; nothing where an option has none or the empty text."""
    if default is dataclasses.MISSING or default is inspect.Parameter.empty or default == "":
        return ""
    if isinstance(default, tuple):
        return ", ".join(map(shown, default))
    return str(default) if isinstance(default, bool | str | None) else shown_number(default)


def first(text: str) -> str:
    """Returns the first paragraph of a text, in one line, as a cell of a table."""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", r"\|")


@cache
def option_tables() -> dict[str, str]:
    """Returns all tables of options by name."""
    return {
        "search-options": of_search(SearchOptions, exact=True),
        "mcts-options": of_search(MctsOptions, exact=False),
        "player-options": of_players(),
        **{name: of_training(place) for name, place in TRAINING.items()},
    }
