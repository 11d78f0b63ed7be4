"""Decisions of Q-learning's games: played step by step in the learner's process, or many steps of some games as a piece of work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.models.sparse import WITH_ACTIONS
from leafwise.training.dqn.kernels import kernels
from leafwise.training.execution.executor import Shared
from leafwise.training.games.playing import forget, new_table
from leafwise.training.selfplay.actor import guide_of

GROUP = 64
"""Games of a piece, at most."""


class Decisions(NamedTuple):
    """Decisions and what came of them, n of them."""

    before: NDArray[Any]
    """[n, width]"""
    asked: NDArray[Any]
    """What a leaf is asked between them, if its stage is one of chance; else as `after`, [n, width]."""
    after: NDArray[Any]
    """The next decisions, or ends, [n, width]."""
    actions: NDArray[np.int64]
    """[n]"""
    gains: NDArray[np.float32]
    """Reward, and the sign of what comes after it, [n, 2]."""
    explored: NDArray[np.bool_]
    """Whether the action was drawn at random, [n]."""
    values: float
    """Mean value of the other actions, to who took them; not a number where there are none."""


class How(NamedTuple):
    """How games are played."""

    plies: int
    """Most random actions at the beginning of a game."""
    candidates: str = ""
    """Actions that searches consider; all legal ones where empty."""
    depth: int = 1
    """Deepest search."""
    rare: float = 0.0
    nodes: int = 0
    guide: str = ""
    """Whose searches play where a guide plays, as `guide_of` knows it."""
    guide_depth: int = 1


class Playing(NamedTuple):
    """How decisions are played, as it changes over a run."""

    exploration: NDArray[np.float64]
    """Chance of a random action in each game, [n]."""
    credit: float = 0.0
    """A game that is over is worth at least this share of its progress; in games for one."""
    guided: bool = False
    """The guide plays."""


class Player:
    """Plays games side by side: at random, the action that a network values most, or a guide's."""

    def __init__(self, network: Learned, how: How) -> None:
        """The network is only known by its shape.

        One that says something of each action is asked for that; else a search of one decision values the actions, by what
        the network says of all that may follow them. Raises ValueError for a guide that there is not.
        """
        self.game, self.how, self._first = network.game, how, network
        self.by_actions = network.head in WITH_ACTIONS
        evaluator = network.evaluator("newest")
        self.kernels, self.T = kernels(self.game, evaluator), self.new_tables(network)
        leaf = None if how.depth == 1 and not how.nodes else evaluator  # shallow searches have nothing to remember
        self.table = new_table(self.game, how.depth, 0, leaf, rare=how.rare, nodes=how.nodes)
        self.width = len(self.game.actions)
        if guide := guide_of(self.game, how.guide):
            self.guide, self.guide_T = kernels(self.game, guide), self.game.tables(guide, how.candidates or None)
            self.guide_table = new_table(self.game, how.guide_depth, 0, guide, rare=how.rare, nodes=how.nodes)

    def __reduce__(self) -> Any:
        return Player, (self._first, self.how)

    def new_tables(self, network: Learned) -> Any:
        """Returns `T` with weights of its own."""
        T = self.game.tables(network.with_tensors(dict(network.tensors)).evaluator("own"), self.how.candidates or None)
        own = {name: getattr(T.leaf, name).copy() for name in ("embedding", "bias", "dense")}
        return T._replace(leaf=T.leaf._replace(**own))

    def warm(self) -> None:
        """Loads the code."""
        from leafwise.training.networks.sparse import one_thread

        one_thread()
        rows, streams = self.begun(np.zeros((1, 2), dtype=np.uint64))
        for guided in (False, *([True] if self.how.guide else [])):
            how = Playing(np.array([0.5]), 0.0, guided)
            self.step(
                self._first, self._first.kind.torch_module(self._first), rows, streams, how, np.random.default_rng(0)
            )

    def begun(self, streams: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Returns new games, [n, width], and their random streams, [n, 2]."""
        rows = self.game.rows(len(streams))
        self.kernels.start_games(self.table, rows, streams, self.how.plies, self.T)
        return rows, streams

    def searched(self, rows: NDArray[Any], depth: int, T: Any) -> NDArray[np.float64]:
        """Returns what searches with the leaf in `T` say of each action in rows [n, width], [n, A]; see `Kernels.root_values`."""
        values = np.zeros((len(rows), self.width))
        forget(self.table)  # the leaf has other weights by now
        stoppable(lambda: self.kernels.root_values(self.table, rows, depth, values, T), T.stop)
        return values

    def step(
        self, network: Learned, module: Any, rows: NDArray[Any], streams: NDArray[np.uint64],
        how: Playing, rng: np.random.Generator,
    ) -> Decisions:  # fmt: skip
        """Plays one decision in every game, in place; `module` is the network's."""
        import torch

        n = len(rows)
        explored = rng.random(n) < how.exploration
        greedy = ~explored
        noise = rng.random((n, self.width))
        if how.guided:
            values, legal = self.of_guide(rows[greedy]), self.legal(rows)
        elif self.by_actions:
            features, legal, _ = network.describe(rows, self.T)
            with torch.no_grad():
                outputs = module(torch.from_numpy(features[greedy])).numpy()
            values = np.where(legal[greedy], outputs, -np.inf)
        else:
            module.write_to(self.T.leaf)
            values = self.searched(rows[greedy], 1, self.T)
            legal = self.legal(rows)
        actions = (noise * legal).argmax(axis=1)
        best = values.max(axis=1, keepdims=True)
        actions[greedy] = np.where(values == best, noise[greedy], -1.0).argmax(axis=1)
        before, rewards, signs = rows.copy(), np.zeros(n), np.zeros(n)
        asked, after = np.zeros_like(rows), np.zeros_like(rows)
        told = asked, after, streams, actions, rewards, signs
        self.kernels.advance(self.table, rows, *told, self.how.plies, how.credit, self.T)
        gains = np.stack([rewards, signs], axis=1).astype(np.float32)
        mean = float(self.units(best).mean()) if len(best) and not how.guided else float("nan")
        return Decisions(before, asked, after, actions, gains, explored, mean)

    def of_guide(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Returns 1 for the action that the guide chooses in each row, 0 for the others, [n, A]."""
        actions, found = np.zeros(len(rows), dtype=np.int64), np.zeros((len(rows), self.width))
        choose = self.guide.choose_actions
        stoppable(
            lambda: choose(self.guide_table, rows, self.how.guide_depth, actions, self.guide_T), self.guide_T.stop
        )
        found[np.arange(len(rows)), actions] = 1.0
        return found

    def units(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns values as who acts would count them: outputs for actions before, what searches say as it is."""
        if not self.by_actions:
            return values
        return np.tanh(values) if self.game.players == 2 else values * self._first.unit

    def legal(self, rows: NDArray[Any]) -> NDArray[np.int8]:
        """Returns the mask of legal actions of rows, [n, A]."""
        found = np.zeros((len(rows), self.width), dtype=np.int8)
        self.kernels.mask_actions(self.table, rows, found, self.T)
        return found


class Played(NamedTuple):
    """What comes of a piece: its decisions, its games as they stand then, and the counts of the table."""

    decisions: list[Decisions]
    rows: NDArray[Any]
    streams: NDArray[np.uint64]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Steps:
    """A piece of work: decisions of some games, `steps` in each."""

    player: Shared[Player]
    networks: Shared[Mapping[str, Learned]]
    rows: NDArray[Any]
    streams: NDArray[np.uint64]
    steps: int
    how: Playing
    key: int

    def __call__(self) -> Played:
        """Returns what came of it."""
        player, network = self.player.get(), self.networks.get()["newest"]
        module, rng = network.kind.torch_module(network), np.random.default_rng(self.key)
        rows, streams = self.rows.copy(), self.streams.copy()
        player.table.counts[:] = 0
        steps = range(self.steps)
        decisions = [player.step(network, module, rows, streams, self.how, rng) for _ in steps]
        return Played(decisions, rows, streams, player.table.counts.copy())
