"""Observations of one array or of several named ones (a `Box`, or a `Dict` of boxes), and `Observer`, which makes them from
rows.

`Observer` returns observations, masks and players of many rows in one compiled call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Ints
from leafwise.envs.core.compile.jit import ResolvedEntry, bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, DEFAULT_VIEW, Compiled, Rules
from leafwise.envs.core.contract.stream import u64

Arrays = dict[str, Array]
"""Arrays by name."""
Observation = Array | Arrays
"""The type of observations: one array, or arrays by name."""
Info = dict[str, Any]
"""The type of an environment's `info`."""


def new_observations(game: Game, n: int, view: str = DEFAULT_VIEW) -> Any:
    """Returns buffers for n observations of a view, as `observe` writes them: an array [n, ...], or a NamedTuple of such arrays."""
    space: Any = game.observation_space(view)
    layout = game.view(view).layout
    if layout is None:
        return np.zeros((n, *space.shape), space.dtype)
    return layout(**{name: np.zeros((n, *box.shape), box.dtype) for name, box in space.items()})


def reader(buffer: Any) -> Callable[[], Any]:
    """Returns a function that copies all observations of a buffer: an array, or a dict of arrays."""
    if isinstance(buffer, np.ndarray):
        return buffer.copy
    arrays = buffer._asdict()
    return lambda: {name: array.copy() for name, array in arrays.items()}


def each(change: Callable[[Array], Any], buffer: Any) -> Any:
    """Returns a buffer with `change` applied to its arrays."""
    return change(buffer) if isinstance(buffer, np.ndarray) else type(buffer)(*map(change, buffer))


def at(buffer: Any, e: int) -> Any:
    """Returns the part of a buffer for environment e, itself a buffer."""
    return each(lambda array: array[e], buffer)


def picked(buffer: Any, where: Ints) -> Iterable[Any]:
    """Returns copies of some environments' observations, as arrays or dicts of arrays, made in one step."""
    if isinstance(buffer, np.ndarray):
        return buffer.take(where, axis=0)
    arrays = {name: array.take(where, axis=0) for name, array in buffer._asdict().items()}
    return [dict(zip(arrays, one, strict=True)) for one in zip(*arrays.values(), strict=True)]


class ObservedRows(NamedTuple):
    """Observations, masks, players and returns of n positions."""

    obs: Observation
    """[n, ...]: observations as `step` returns them, or a dict of such arrays; zeros where chance acts next and no viewer is
    given.
    """
    mask: NDArray[np.int8]
    """[n, A]: 1 for each legal action; all ones where nobody decides."""
    player: NDArray[np.int8]
    """[n]: who acts: 0, 1, CHANCE (-1) or TERMINAL (-4)."""
    returns: Floats
    """[n]: player 0's return so far."""
    lowest: int
    """The lowest number in `player`: 0 or 1 if all positions are decisions."""


@cache
def make_observe_rows(rules: Rules, room: Path) -> Compiled:
    """Compiles a game's `observe_rows`."""
    current_player, legal_actions = rules.current_player, rules.legal_actions
    returns, observe_as = rules.returns, rules.observe_as

    @bind(room)
    def observe_rows(S, viewers, obs, mask, player, gains, A, T):
        """Writes the observations, masks, players and returns of the rows S [n, width] to buffers as in `Seen`.

        A [actions] is scratch. `viewers` [n] are the players who look; -1 means the player who acts, or player 0 after the end.
        A mask without columns is not written. Returns the lowest player.
        """
        lowest = 1
        for e in range(S.shape[0]):
            i = u64(e)
            acts = current_player(S, i, T)
            lowest = min(lowest, acts)
            player[e] = acts
            gains[e] = returns(S, i, T)
            if viewers[e] >= 0:
                observe_as(S, i, np.int64(viewers[e]), obs, e, T)
            elif acts != CHANCE:
                observe_as(S, i, np.int64(max(acts, 0)), obs, e, T)
            for a in range(mask.shape[1]):
                mask[e, a] = acts < 0
            if acts >= 0 and mask.shape[1]:
                for k in range(legal_actions(S, i, A, T)):
                    mask[e, A[k]] = 1
        return lowest

    return observe_rows


class Observer:
    """Makes the observations and masks of a view from rows, exactly as `GameEnv.step` returns them."""

    def __init__(self, game: Game, view: str = DEFAULT_VIEW, *, masked: bool = True) -> None:
        """Without `masked`, legal actions are not computed: masks are [n, 0]."""
        self.game, self._columns = game, len(game.actions) if masked else 0
        self._observe_rows = ResolvedEntry(make_observe_rows(game.rules_seen(view), game.room))
        self._tables = game.tables()
        self._blank = new_observations(game, 0, view)
        self._room: Any = None
        self._cut: Any = None

    def __call__(self, rows: Array, T=None, viewers: NDArray[np.int8] | None = None) -> ObservedRows:
        """Returns the observations of rows [n, width].

        `viewers`, int8 [n], are the players who look; by default the player who acts, and player 0 after the end. `T` is the
        game's tables with the caller's own scratch; by default the observer's, which only one thread may use at a time.
        """
        buffers = self._buffers(len(rows))
        tables = self._tables if T is None else T._replace(leaf=())
        if viewers is None:
            viewers = np.full(len(rows), -1, dtype=np.int8)
        lowest = self._observe_rows(np.ascontiguousarray(rows), viewers, *buffers, tables)
        return ObservedRows(_named(buffers[0]), buffers[1], buffers[2], buffers[3], lowest)

    def again(self, rows: Array) -> ObservedRows:
        """Returns the observations of rows [n, width] in arrays that the next call overwrites; for one thread at a time.

        The arrays are the same objects as long as `n` stays the same.
        """
        n = len(rows)
        if self._room is None or len(self._room[1]) < n:
            self._room, self._cut = self._buffers(n), None
        if self._cut is None or len(self._cut[1][1]) != n:
            obs, mask, player, gains = (each(lambda array: array[:n], part) for part in self._room[:4])
            arguments = np.full(n, -1, dtype=np.int8), obs, mask, player, gains, self._room[4], self._tables
            self._cut = arguments, [_named(obs), mask, player, gains]
        arguments, (shown, mask, player, gains) = self._cut
        return ObservedRows(shown, mask, player, gains, self._observe_rows(np.ascontiguousarray(rows), *arguments))

    def _buffers(self, n: int) -> tuple[Any, ...]:
        """Returns buffers of `observe_rows` for n observations, masks, players and returns, and its scratch."""
        return (
            each(lambda array: np.zeros((n, *array.shape[1:]), array.dtype), self._blank),
            np.zeros((n, self._columns), dtype=np.int8), np.zeros(n, dtype=np.int8), np.zeros(n),
            np.zeros(self.game.max_actions, dtype=np.int64),
        )  # fmt: skip


def _named(buffer: Any) -> Observation:
    """Returns the arrays of a buffer in the form of observations."""
    return buffer if isinstance(buffer, np.ndarray) else buffer._asdict()
