"""Writes the page of an environment id from the code: observation, actions, rewards, options and measured returns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode

from leafwise.envs.core.contract.game import Game, Labels
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.gym.keywords import EnvOptions, default_of
from leafwise.envs.core.gym.stepper import patience
from leafwise.envs.core.ranges import Limit, OneOf, limits_of
from leafwise.envs.reference import Reference, reference
from leafwise.envs.registry import NAMESPACE

ROLES = {
    "hand-made": "a player with a hand-made score",
    "shipped": "a search with the network of the package",
    "best known": "the strongest player that was measured",
    "perfect": "an exact solver",
}
"""Roles of players with reference returns, explained where they occur."""
MOST_NAMES = 8
"""A range of up to this many names lists them all; a longer one lists the first and the last."""
MOST_RANGES = 16
"""Actions in more ranges than this are shown as one range."""


def page(game: Game, short: str) -> str:
    """Returns an id's page in Markdown; `short` is the id without namespace and version, such as "Threes"."""
    variant = game.variant(**game.ids[short])
    env_id, given = f"{short}-v0", "".join(f", {name}={value!r}" for name, value in game.ids[short].items())
    parts: dict[str, Iterable[str]] = {
        "Observation": observation(variant), "Actions": actions(variant), "Rewards": rewards(variant), "Ends": ends(variant),
        "Options": options(variant), "Reference returns": returns(env_id, game),
        "Source": [f"The rules are in the module `{game.module}`. This is version 0 of the environment, not released yet."],
    }  # fmt: skip
    intro = f'`gym.make("{NAMESPACE}/{env_id}")` makes the environment; `import leafwise` registers it.'
    blocks = [f"# {env_id}", f"{game.title}.", f'{intro} The game is `leafwise.game("{game.name}"{given})`.']
    for title, texts in parts.items():
        blocks += [f"## {title}", *texts]
    return "\n\n".join(blocks)


def observation(game: Game) -> Iterator[str]:
    """Yields the ranges of the observation, then those of each other view, and the keys of `info`."""
    if game.text.about.observation:
        yield game.text.about.observation
    yield from arrays(game, DEFAULT_VIEW)
    for name in game.view_names[1:]:
        same = game.view(name).observe_as is game.view(DEFAULT_VIEW).observe_as
        yield f'`observation="{name}"` {"is another name for this observation." if same else "selects another observation:"}'
        yield from () if same else arrays(game, name)
    keys = {
        "action_mask": "int8 array: 1 for each legal action; all ones after the end of the game",
        "illegal": "only after an illegal action: why it was illegal, as text",
    }
    if game.observation.info is not None:
        keys |= game.observation.info.keys
    yield "Keys of `info`:"
    yield table(["key", "meaning"], [[f"`{key}`", what] for key, what in keys.items()])


def arrays(game: Game, name: str) -> Iterator[str]:
    """Yields the arrays of a view, each with a table of its ranges."""
    view, space = game.view(name), game.observation_space(name)
    labels = view.labels(game.options) if view.labels is not None else {}
    for key, box in space.items() if isinstance(space, gym.spaces.Dict) else [("", space)]:
        assert isinstance(box, gym.spaces.Box)
        cells = " x ".join(map(str, box.shape[1:]))
        over = f": planes of {cells} cells, row by row from the top" if cells else ""
        yield f"{f'`{key}`: ' * bool(key)}Box {box.dtype} {list(box.shape)}{over}."
        if key in labels:
            head = ["planes" if cells else "entries", "names", "range", "meaning"]
            yield table(head, ranges(labels[key], box))


def ranges(labels: Sequence[Labels], box: gym.spaces.Box) -> Iterator[list[str]]:
    """Yields a row of the table for each range of entries."""
    first = 0
    for names, meaning, order in labels:
        entries = slice(first, first + len(names))
        values = f"{box.low[entries].min():g} to {box.high[entries].max():g}"
        yield [span(first, len(names)), order or listed(names), values, meaning]
        first += len(names)


def span(first: int, n: int) -> str:
    """Returns `n` consecutive numbers in words."""
    return f"{first} to {first + n - 1}" if n > 1 else f"{first}"


def listed(names: Sequence[str]) -> str:
    """Returns a few names, or the first and the last of many."""
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{names[0]} to {names[-1]}"


def actions(game: Game) -> Iterator[str]:
    """Yields the actions, with a table of their names; names that differ only in numbers are one range."""
    yield f"Discrete({len(game.actions)}). {game.text.about.actions}".rstrip()
    alike = [list(names) for _, names in groupby(game.actions, key=numbered)]
    first, rows = 0, []
    for names in alike if len(alike) <= MOST_RANGES else [game.actions]:
        rows.append([span(first, len(names)), listed([f"`{name}`" for name in names])])
        first += len(names)
    yield table(["actions", "names"], rows)


def numbered(name: str) -> str:
    """Returns the name of an action with # for each number; "" for a name without numbers."""
    return re.sub(r"\d+", "#", name) if re.search(r"\d", name) else ""


def rewards(game: Game) -> Iterator[str]:
    """Yields the rewards, the default first."""
    default, meanings = game.reward_names[0], game.text.about.rewards
    rows = [[f"`{name}`" + " (default)" * (name == default), meanings.get(name, "")] for name in game.reward_names]
    yield table(["`reward=`", "meaning"], rows)
    low, high = game.return_range
    yield f"With `{default}` the rewards of an episode add up to a value from {figure(low)} to {figure(high)}."


def ends(game: Game) -> Iterator[str]:
    """Yields when an episode ends."""
    yield game.text.about.ends or "An episode ends with the game."
    default = ", the default here," if game.players == 1 else ""
    yield f"""An episode is also truncated after `max_episode_steps` steps, if you set this keyword.
With `illegal="noop"`{default} it is truncated after {patience(game)} illegal actions in a row."""


def options(game: Game) -> Iterator[str]:
    """Yields the options of the game with their values, and the keywords that all environments take."""
    meanings, given = game.text.about.options, values_of(game.options)
    limits = limits_of(type(game.options)) if given else {}
    rows = [
        [f"`{name}`", f"`{value!r}`", meanings.get(name, ""), allowed(value, limits.get(name))]
        for name, value in given.items()
    ]
    yield table(["option", "value here", "meaning", "values"], rows) if rows else "The game has none."
    keywords = ", ".join(
        f"`{one.name}={shown(default_of(one, game, 'single'))}`"
        for one in fields(EnvOptions)
        if game.players == 2 or not one.metadata["two_player"]
    )
    yield f"""Every environment also has these keywords. Their defaults here: {keywords}.
[Environments](../howto/environments.md#keywords) and `help(env.unwrapped)` explain them."""


def allowed(value: object, limit: Limit | None) -> str:
    """Returns the values that an option may have, with their meanings; "" for any text or number."""
    if isinstance(limit, OneOf):
        meanings = limit.meanings or [""] * len(limit.choices)
        listed = [
            f"`{choice!r}`{meaning and f': {meaning}'}" for choice, meaning in zip(limit.choices, meanings, strict=True)
        ]
        return ("; " if limit.meanings else ", ").join(listed)
    if limit is not None:
        return str(limit).removeprefix("of ")
    return "`True`, `False`" if isinstance(value, bool) else ""


def shown(value: Any) -> str:
    """Returns the value of a keyword as a caller writes it."""
    return repr(value.value if isinstance(value, AutoresetMode) else value)


def returns(env_id: str, game: Game) -> Iterator[str]:
    """Yields the measured returns of known players."""
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
    yield """The table has the mean [return](../terms.md#return) of an episode for each player. In names of players, `learned` is
the network that the package has for the game. The last column names the commit whose code measured the row, or the page with
the measurement."""
    yield table(["player", "role", "trained steps", "mean return", "95 % interval", "games", "commit or page"], rows)
    roles = {one.role for one in known}
    if marked := [f"The role `{role}` marks {what}." for role, what in ROLES.items() if role in roles]:
        yield " ".join(marked)
    if "learner" in roles:
        yield """The role `learner` marks PPO and DQN of Stable-Baselines3, and MaskablePPO of sb3-contrib. They have their default
settings. The column `trained steps` has the number of environment steps of their training."""
    if any(one.ci_low is None for one in known):
        yield "Where there is no interval, all episodes had the same return."
    if game.players == 2:
        yield 'The opponent is `greedy`, and the player moves first (`seat="first"`).'
        perfect = [one.mean for one in known if one.role == "perfect"]
        if perfect and max(one.mean for one in known) > perfect[0]:
            yield """The solver plays perfectly, but it does not look for the errors of `greedy`. So another player can have a
higher return than the solver."""


def figure(x: float) -> str:
    """Returns a mean return with four digits, or with all digits before the point."""
    return f"{x:,.4g}" if abs(x) < 1000 else f"{x:,.0f}"


def interval(one: Reference) -> str:
    """Returns the 95 % interval of a mean return; a dash if there is none."""
    return " to ".join(figure(x) for x in (one.ci_low, one.ci_high) if x is not None) or "-"


def table(head: Sequence[str], rows: Iterable[list[str]]) -> str:
    """Returns a Markdown table."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
