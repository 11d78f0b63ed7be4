"""The page of an environment, made of what the code says: what is seen, done, paid, told, taken as keyword or option, and got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import Field, fields
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from leafwise.envs.core.contract.game import Game, Labels
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import docs_of, values_of
from leafwise.envs.core.gym.keywords import EnvOptions, default_of
from leafwise.envs.core.gym.stepper import patience
from leafwise.envs.reference import Reference, reference
from leafwise.envs.registry import NAMESPACE

MOST_NAMES = 24
"""Actions that are listed by name; of more the first and last."""


def page(game: Game, short: str) -> str:
    """Returns an id's page in Markdown; `short` is the id without namespace and version, such as "Threes"."""
    variant = game.variant(**game.ids[short])
    env_id, given = f"{short}-v0", "".join(f", {name}={value!r}" for name, value in game.ids[short].items())
    parts: dict[str, Iterable[str]] = {
        "Observation": observation(variant), "Actions": actions(variant), "Rewards": rewards(variant), "Ends": ends(variant),
        "Info": info(variant), "Keywords": keywords(variant), "Options": options(variant),
        "Reference returns": returns(env_id, game), "Versions": ["v0, not released yet."],
    }  # fmt: skip
    what = f'`gym.make("{NAMESPACE}/{env_id}")` is `leafwise.game("{game.name}"{given})` as an environment.'
    blocks = [f"# {env_id}", f"{game.title}.", what]
    for title, told in parts.items():
        blocks += [f"## {title}", *told]
    return "\n\n".join(blocks)


def observation(game: Game) -> Iterator[str]:
    """Yields what every number of the observation is, and of each other view."""
    for name in game.view_names:
        view, space = game.view(name), game.observation_space(name)
        boxes = dict(space.items()) if isinstance(space, gym.spaces.Dict) else {"": space}
        labels = view.labels(game.options) if view.labels is not None else {}
        if name != DEFAULT_VIEW:
            yield f'With `observation="{name}"`:'
        for key, box in boxes.items():
            assert isinstance(box, gym.spaces.Box)
            cells = " x ".join(map(str, box.shape[1:]))
            over = f", over {cells} cells, row by row from the top" if cells else ""
            named = f"`{key}`: " if key else ""
            yield f"{named}Box {box.dtype} {list(box.shape)}{over}."
            if key in labels:
                yield table(["entries", "least", "most", "what they say"], entries(labels[key], box))
        if name == DEFAULT_VIEW and game.text.about.observation:
            yield game.text.about.observation


def entries(labels: Sequence[Labels], box: gym.spaces.Box) -> Iterator[list[str]]:
    """Yields a row of the table for each group of entries."""
    first = 0
    for names, meaning in labels:
        here = slice(first, first + len(names))
        named = "; ".join(f"`{first + k}` {name}" for k, name in enumerate(names))
        least, most = (sorted(set(np.unique(bound[here]).tolist())) for bound in (box.low, box.high))
        yield [named, *(", ".join(f"{x:g}" for x in bound) for bound in (least, most)), meaning]
        first += len(names)


def actions(game: Game) -> Iterator[str]:
    """Yields what the actions are and what they are called."""
    names, n = game.actions, len(game.actions)
    shown = [f"{a} `{name}`" for a, name in enumerate(names)]
    some = shown if n <= MOST_NAMES else [*shown[: MOST_NAMES - 4], "...", shown[-1]]
    yield f"Discrete({n}). {game.text.about.actions}".rstrip()
    yield ", ".join(some) + "."


def rewards(game: Game) -> Iterator[str]:
    """Yields the rewards, the default first."""
    default, told = game.reward_names[0], game.text.about.rewards
    rows = [[f"`{name}`" + " (default)" * (name == default), told.get(name, "")] for name in game.reward_names]
    yield table(["`reward=`", "what it is"], rows)
    low, high = game.return_range
    yield f"The return, of the first, lies within {low:g} and {high:g}."


def info(game: Game) -> Iterator[str]:
    """Yields what `info` tells."""
    told = {
        "action_mask": "int8, 1 for each legal action; all ones where the game is over",
        "illegal": "what was illegal, in words; after an illegal action",
    }
    if game.observation.info is not None:
        told |= game.observation.info.keys
    yield table(["key", "what it is"], [[f"`{key}`", what] for key, what in told.items()])


def ends(game: Game) -> Iterator[str]:
    """Yields when an episode ends."""
    default = ", the default," if game.players == 1 else ""
    yield f"""{game.text.about.ends or "When the game does."}
It is truncated after `max_episode_steps`, if that is given, and under `illegal="noop"`{default}
after {patience(game)} illegal actions in a row; with masks it never is."""


def keywords(game: Game) -> Iterator[str]:
    """Yields the keywords of the environment and of its batches, with their defaults here."""
    rows = [
        [f"`{one.name}`", f"`{shown(default_of(one, game, 'single'))}`", says(one)]
        for one in fields(EnvOptions)
        if game.players == 2 or not one.metadata["two_player"]
    ]
    yield table(["keyword", "default here", "what it says"], rows)


def says(one: Field[Any]) -> str:
    """Returns what an option of environments says, in short."""
    return docs_of(EnvOptions)[one.name].partition("\n\n")[0]


def shown(value: Any) -> str:
    """Returns the value of a keyword as a caller writes it."""
    return repr(value.value if isinstance(value, AutoresetMode) else value)


def options(game: Game) -> Iterator[str]:
    """Yields the options of the game with what they are here."""
    told = game.text.about.options
    rows = [[f"`{name}`", f"`{value!r}`", told.get(name, "")] for name, value in values_of(game.options).items()]
    yield table(["option", "here", "what it says"], rows) if rows else "None."


def returns(env_id: str, game: Game) -> Iterator[str]:
    """Yields what known players get."""
    try:
        known = reference(env_id)
    except UserError:
        yield "None were measured."
        return
    rows = [
        [
            f"`{one.player}`", one.role, "" if one.training_steps is None else f"{one.training_steps:,}",
            figure(one.mean), interval(one), str(one.games), f"`{one.source[:8]}`" if "/" not in one.source else one.source,
        ]
        for one in known
    ]  # fmt: skip
    yield table(["player", "role", "trained steps", "mean return", "95 % interval", "games", "measured at"], rows)
    if any(one.ci_low is None for one in known):
        yield "Where there is no interval, all episodes had the same return."
    if game.players == 2:
        yield 'The opponent is `greedy`, the player goes first (`seat="first"`). Perfect play need not be what gets most from it.'


def figure(x: float) -> str:
    """Returns a mean return to four digits, or all of those before the point."""
    return f"{x:,.4g}" if abs(x) < 1000 else f"{x:,.0f}"


def interval(one: Reference) -> str:
    """Returns the 95 % interval of a mean return, a dash where there is none."""
    return " to ".join(figure(x) for x in (one.ci_low, one.ci_high) if x is not None) or "-"


def table(head: Sequence[str], rows: Iterable[list[str]]) -> str:
    """Returns a table."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
