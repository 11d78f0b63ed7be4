"""The learning side of DQN: replay buffer, targets by play or by searches with the target network, loss, update."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Bools, Floats, Floats32, Ints
from leafwise.envs.core.contract.game import Game
from leafwise.models.network import Says
from leafwise.models.seen import default_seen
from leafwise.models.sparse import BOUND
from leafwise.training.dqn.games import Decisions, QPlayer
from leafwise.training.networks import (
    TorchModule,
    chance_losses,
    fresh_module,
    load_optimizer,
    load_parameters,
    losses_of,
    optimizer_tensors,
    parameters,
    seeded,
    torch_module,
    value_of,
)
from leafwise.training.runs.gating import SPARSE, Replay
from leafwise.training.types import Tensors, named, prefixed

MIN_ERROR = 0.01
"""Added to every absolute error, so that well-learned decisions are sampled again."""


Target = Literal["sampled", "expected", "afterstate"]
"""Kind of target of a decision; see `leafwise.training.dqn.dqn.target_of`."""


class DecisionOrder(NamedTuple):
    """Order of the decisions in the buffer: one decision of every game of a set, `steps` times, then the next set of games."""

    games: int
    steps: int = 1
    sets: int = 1

    def following(self, numbers: Ints) -> Ints:
        """Returns the number of the next decision of the same game; decisions are numbered from 0."""
        last = (numbers // self.games) % self.steps == self.steps - 1
        return numbers + self.games + np.where(last, self.games * self.steps * (self.sets - 1), 0)


class NStepStates(NamedTuple):
    """The states some steps after n decisions."""

    rows: Array
    """States after the steps, [n, width]: decisions, or ends."""
    gained: Floats32
    """Discounted reward on the way, for the player who decided, [n]."""
    factor: Floats32
    """Factor from the value for the player who acts in `rows` to the value for the player who decided; 0 after an end, [n]."""


class Priorities:
    """Sum tree of priorities, as in Schaul et al., "Prioritized experience replay" (2016), appendix B.2.1.

    Every sum is computed from the two below it, so that the tree depends on the priorities alone and not on their history.
    """

    def __init__(self, size: int) -> None:
        """Starts with `size` priorities of 0."""
        self.levels = max(1, (size - 1).bit_length())
        self.first = 1 << self.levels
        self.sums = np.zeros(2 * self.first)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self.sums[1])

    def __getitem__(self, indices: Ints) -> Floats:
        """Returns the priorities at indices [n], [n]."""
        return self.sums[self.first + indices]

    def put(self, indices: Ints, priorities: Floats) -> None:
        """Sets priorities [n], at least 0, at indices [n]; for a repeated index the last counts."""
        nodes = self.first + indices
        self.sums[nodes] = priorities
        for _ in range(self.levels):
            nodes = np.unique(nodes >> 1)
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, shares: Floats) -> Ints:
        """Samples indices [n]: those at which the cumulative sum reaches shares [n], in [0, 1), of the total."""
        left, nodes = shares * self.total, np.ones(len(shares), np.int64)
        for _ in range(self.levels):
            nodes *= 2
            below = self.sums[nodes]
            right = (left >= below) & (self.sums[nodes + 1] > 0)  # rounding must not lead to priority 0
            left -= np.where(right, below, 0.0)
            nodes += right
        return nodes - self.first


class DecisionReplay(Replay):
    """Replay buffer of the last `size` decisions."""

    def __init__(
        self, game: Game, size: int, order: DecisionOrder, *, cut: bool, alpha: float, chance: bool = False
    ) -> None:
        """`cut`: multi-step targets end before a random action (Watkins, 1989); `alpha`: exponent of priorities, 0 for none.

        `chance`: the states of chance that a leaf values between two decisions are stored too.
        """
        arrays = {
            "before": game.rows(size),
            "after": game.rows(size),
            "actions": np.zeros(size, np.int64),
            "gains": np.zeros((size, 2), np.float32),  # reward, and sign of the next value
        }
        arrays |= {"explored": np.zeros(size, np.bool_)} if cut else {}
        arrays |= {"asked": game.rows(size)} if chance else {}
        super().__init__(size, arrays)
        self.order, self.cut, self.alpha = order, cut, alpha
        self.priorities = Priorities(size) if alpha else None
        self.highest = 1.0

    def keep(self, decisions: Decisions) -> None:
        """Records decisions; new ones get the highest priority so far."""
        indices = self.put(**decisions._asdict())
        if self.priorities is not None:
            self.priorities.put(indices, np.full(len(indices), self.highest))

    def has_chance_stage(self, indices: Ints) -> Bools:
        """Returns whether a stage of chance that the leaf values came after the decisions at indices [n], [n]."""
        if "asked" not in self.arrays:
            return np.zeros(len(indices), dtype=bool)
        return (self["asked"][indices] != self["after"][indices]).any(axis=1)

    def draw(self, rng: np.random.Generator, n: int, beta: float) -> tuple[Ints, Floats32 | None]:
        """Samples n indices; returns them and importance weights (filled * probability)**-beta, at most 1 (None: all equal)."""
        if self.priorities is None:
            return rng.integers(0, self.filled, n), None
        indices = self.priorities.draw((np.arange(n) + rng.random(n)) / n)
        weights = (self.filled * self.priorities[indices] / self.priorities.total) ** -beta
        return indices, (weights / weights.max()).astype(np.float32)

    def update_priorities(self, indices: Ints, errors: NDArray[np.floating[Any]]) -> None:
        """Sets the priorities at indices [n] from absolute errors [n]."""
        if self.priorities is not None:
            self.highest = max(self.highest, float((errors.max() + MIN_ERROR) ** self.alpha))
            self.priorities.put(indices, (errors.astype(np.float64) + MIN_ERROR) ** self.alpha)

    def follow(self, indices: Ints, steps: int, gamma: float, *, action_given: bool) -> NStepStates:
        """Returns the states up to `steps` steps after decisions at indices [n].

        `action_given`: the targets are values of the first action, which may be random. Steps end with the game, at the newest
        decision, and as `cut` says.
        """
        n = len(indices)
        rows, gained = self["before"][indices], np.zeros(n, np.float32)
        factor, going = np.ones(n, np.float32), np.ones(n, dtype=bool)
        numbers = self.recorded - 1 - (self.recorded - 1 - indices) % self.size
        for step in range(steps):
            at = numbers % self.size
            going &= numbers < self.recorded
            if self.cut and (step or not action_given):
                going &= ~self["explored"][at]
            gained[going] += (factor * self["gains"][at, 0])[going]
            factor[going] *= np.float32(gamma) * self["gains"][at, 1][going]
            rows[going] = self["after"][at][going]
            going &= factor != 0
            numbers = self.order.following(numbers)
        return NStepStates(rows, gained, factor)

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `recorded` and `highest` are stored separately."""
        tensors = super().tensors()
        if self.cut:
            tensors["explored"] = tensors["explored"].astype(np.uint8)
        if self.priorities is not None:
            tensors["priorities"] = self.priorities[np.arange(self.filled)]
        return tensors

    def restore(self, tensors: Tensors, recorded: int, highest: float = 1.0) -> None:
        """Restores the decisions of a checkpoint, made after `recorded` decisions."""
        super().restore(tensors, recorded)
        self.highest = highest
        if self.priorities is not None:
            self.priorities.put(np.arange(self.filled), tensors["priorities"])


CLIP = 10.0
"""Maximum norm of a gradient."""
ASKED = 0.5
"""Share of decisions that train the stage of chance after them instead of themselves, if the leaf values such a stage."""


class Learning:
    """The online network, the target network and the optimizer."""

    def __init__(self, game: Game, config: Any, target_kind: Target, replay: DecisionReplay) -> None:
        """`config` has the method's options.

        The network predicts the win probability if it values states of a single-player game that is won or lost.
        """
        self.game, self.config, self.target_kind, self.replay, self.solo = (
            game,
            config,
            target_kind,
            replay,
            game.players == 1,
        )
        self.online: Any = self.fresh()
        self.target = self.fresh() if config.network == SPARSE else TorchModule(self.online.network)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=config.learning_rate)
        self.shape, self.batches = self.online.export(), 0
        self.head = self.shape.head
        self.both = np.zeros((2 * config.batch_size, game.width), dtype=game.dtype)
        self.player = QPlayer(self.shape, config)
        self.T = self.player.new_tables(self.shape)
        """Tables with the weights of the target network."""

    def fresh(self) -> Any:
        """Returns the initial module."""
        game, config = self.game, self.config
        if config.network != SPARSE:
            says: Says = "value" if self.target_kind == "afterstate" else "q"
            return torch_module(game, config, says=says, scale=0.0 if config.scale == 1 else config.scale)
        chance = self.target_kind == "afterstate" and (game.players, game.return_range) == (1, (0.0, 1.0))
        head, sees = (
            "chance" if chance else config.head,
            config.sees or default_seen(game, actions=config.head == "max"),
        )
        options = {"head": head, "sees": sees, "scale": config.scale if self.solo else None, "dueling": config.dueling}
        return fresh_module(game, config.hidden, config.seed, **options)

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `batches` is stored separately."""
        tensors = prefixed("online", parameters(self.online)) | prefixed("target", parameters(self.target))
        return tensors | prefixed("adam", optimizer_tensors(self.optimizer))

    def restore(self, tensors: Tensors, batches: int) -> None:
        """Restores the state of a checkpoint."""
        load_parameters(self.online, named(tensors, "online"))
        load_parameters(self.target, named(tensors, "target"))
        load_optimizer(self.optimizer, named(tensors, "adam"))
        self.batches = batches
        self.target.write_to(self.T.leaf)

    @property
    def divisor(self) -> float:
        """Divisor of values in training."""
        return self.shape.unit * (1.0 if self.solo else BOUND)

    def transformed(self, rows: Array, symmetries: Ints, actions: Ints) -> Array:
        """Returns rows under symmetries, [n, width]; maps `actions` accordingly."""
        n = len(rows)
        self.both[:n] = rows
        self.player.kernels.transform_rows(self.both, symmetries, actions, self.T)
        return self.both[n:].copy()

    def sampled(self, indices: Ints, symmetries: Ints) -> Floats32:
        """Returns n-step targets [n] of the actions at indices [n], from the states reached in play."""
        config = self.config
        reached = self.replay.follow(indices, config.n_step, config.gamma, action_given=True)
        following = self.transformed(reached.rows, symmetries, np.zeros_like(indices))
        features, legal, _ = self.shape.describe(following, self.T)
        seen, illegal = torch.from_numpy(features), torch.from_numpy(legal == 0)
        with torch.no_grad():
            outputs = self.target(seen)
            chosen = (self.online(seen) if config.double else outputs).masked_fill(illegal, -torch.inf)
            later = value_of(outputs.gather(1, chosen.argmax(dim=1, keepdim=True))[:, 0], self.solo).numpy()
        return reached.gained / np.float32(self.shape.unit) + reached.factor * later

    def searched(self, indices: Ints, *, at_chance: bool = False) -> Floats32:
        """Returns targets [n] of the states at indices [n]: the best value of a search `n_step` - 1 decisions later.

        `at_chance`: targets of the states of chance after these decisions.
        """
        config = self.config
        reached = self.replay.follow(indices, config.n_step - (not at_chance), config.gamma, action_given=at_chance)
        going = reached.factor != 0
        best = np.zeros(len(indices))
        depth = max(1, config.target_depth)
        best[going] = self.player.searched(reached.rows[going], depth, self.T, self.target).max(axis=1)
        targets: Floats = (reached.gained + reached.factor * best) / self.divisor
        if at_chance and not self.solo:  # values of chance are player 0's, but `gained` is the deciding player's
            rows, acts = self.replay["before"][indices], self.game.calls.current_player
            T = self.game.thread_tables
            targets *= [-1.0 if acts(rows, np.uint64(i), T) == 1 else 1.0 for i in range(len(rows))]
        return targets.astype(np.float32)

    def all_actions(self, rows: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns targets [n, A] of all actions in rows [n, width] by a search, and their weights, which sum to 1 in a row."""
        values = self.player.searched(rows, self.config.target_depth, self.T, self.target)
        considered = torch.from_numpy(np.isfinite(values))
        targets = np.where(np.isfinite(values), values / self.divisor, 0.0).astype(np.float32)
        return torch.from_numpy(targets), considered / considered.sum(dim=1, keepdim=True)

    def losses(self, indices: Ints, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns losses and absolute errors of decisions at indices [n], under random symmetries."""
        symmetries = rng.integers(0, self.game.symmetry_count, len(indices))
        actions, rows = self.replay["actions"][indices], self.replay["before"][indices]
        at_chance = self.replay.has_chance_stage(indices)
        if at_chance.any():  # train both, because a leaf values decisions where no such stage comes
            at_chance &= rng.random(len(indices)) < ASKED
            rows[at_chance] = self.replay["asked"][indices[at_chance]]
        rows = self.transformed(rows, symmetries, actions)
        features, _, signs = self.shape.describe(rows, self.T)
        self.online.train()
        with seeded(self.config.seed, self.batches):
            outputs = self.online(torch.from_numpy(features))
        self.online.eval()
        if self.target_kind == "expected":
            targets, shares = self.all_actions(rows)
            errors = ((value_of(outputs, self.solo) - targets).abs() * shares).sum(dim=1)
            return (losses_of(outputs, targets, self.solo) * shares).sum(dim=1), errors.detach()
        if self.target_kind == "sampled":
            outputs = outputs.gather(1, torch.from_numpy(actions)[:, None])[:, 0]
            targets = torch.from_numpy(self.sampled(indices, symmetries))
        else:
            values = np.zeros(len(indices), np.float32)
            for chance in (False, True):
                values[at_chance == chance] = self.searched(indices[at_chance == chance], at_chance=chance)
            outputs, targets = outputs[:, 0], torch.from_numpy(values * signs)
        if self.head == "chance":
            return chance_losses(outputs, targets), (torch.sigmoid(outputs) - targets).abs().detach()
        return losses_of(outputs, targets, self.solo), (value_of(outputs, self.solo) - targets).abs().detach()

    def step(self, share: float) -> tuple[float, float]:
        """Trains on a batch after a share of the run; returns the loss and the mean error."""
        config = self.config
        rng = np.random.default_rng((config.seed, 1, self.batches))
        beta = config.importance + (1 - config.importance) * share
        indices, weights = self.replay.draw(rng, config.batch_size, beta)
        losses, errors = self.losses(indices, rng)
        self.replay.update_priorities(indices, errors.numpy())
        loss = (losses if weights is None else losses * torch.from_numpy(weights)).mean()
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate + (config.final_learning_rate - config.learning_rate) * share
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.online.parameters(), CLIP)
        self.optimizer.step()
        self.batches += 1
        self.move_target()
        return float(loss.detach()), float(errors.mean())

    def move_target(self) -> None:
        """Updates the target network."""
        if self.config.tau:
            with torch.no_grad():
                for slow, new in zip(self.target.parameters(), self.online.parameters(), strict=True):
                    slow.lerp_(new, self.config.tau)
                for slow, new in zip(self.target.buffers(), self.online.buffers(), strict=True):
                    slow.copy_(new)
        elif self.batches % self.config.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        else:
            return
        self.target.write_to(self.T.leaf)  # the searches use these weights
