"""The learning side of DQN: replay buffer, targets from it or from searches with the target network, loss, update."""

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

LEAST = 0.01
"""Added to the size of an error, so that what was learned well is seen again."""


Target = Literal["sampled", "expected", "afterstate"]
"""What is learned of a decision; see `leafwise.training.dqn.dqn.target_of`."""


class DecisionOrder(NamedTuple):
    """Order of the decisions in the buffer: those of all games of a set at one step, `steps` steps, then the next set."""

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
    """Where the steps led, [n, width]: decisions, or ends."""
    gained: Floats32
    """Discounted reward on the way, for who decided, [n]."""
    factor: Floats32
    """What turns the value of that row to who acts there into what it is worth to who decided; 0 after an end, [n]."""


class Priorities:
    """Priorities by place, as in Schaul et al., "Prioritized experience replay" (2016), appendix B.2.1.

    Every sum is that of the two below it, so that the tree depends on the priorities alone and not on how they came about.
    """

    def __init__(self, size: int) -> None:
        """`size` places, each of priority 0."""
        self.levels = max(1, (size - 1).bit_length())
        self.first = 1 << self.levels
        self.sums = np.zeros(2 * self.first)

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self.sums[1])

    def __getitem__(self, places: Ints) -> Floats:
        """Returns the priorities of places, [n]."""
        return self.sums[self.first + places]

    def put(self, places: Ints, priorities: Floats) -> None:
        """Sets priorities [n], at least 0, of places [n]; for a repeated place the last counts."""
        nodes = self.first + places
        self.sums[nodes] = priorities
        for _ in range(self.levels):
            nodes = np.unique(nodes >> 1)
            self.sums[nodes] = self.sums[2 * nodes] + self.sums[2 * nodes + 1]

    def draw(self, shares: Floats) -> Ints:
        """Samples places [n]: those at which shares [n], in [0, 1), of the total are reached."""
        left, nodes = shares * self.total, np.ones(len(shares), np.int64)
        for _ in range(self.levels):
            nodes *= 2
            below = self.sums[nodes]
            right = (left >= below) & (self.sums[nodes + 1] > 0)  # rounding must not lead to a place of priority 0
            left -= np.where(right, below, 0.0)
            nodes += right
        return nodes - self.first


class DecisionReplay(Replay):
    """Replay buffer of the last `size` decisions."""

    def __init__(
        self, game: Game, size: int, order: DecisionOrder, *, cut: bool, alpha: float, chance: bool = False
    ) -> None:
        """`cut`: multi-step targets end before a random action (Watkins, 1989); `alpha`: exponent of priorities, 0 for none.

        `chance`: what a leaf is asked between two decisions is kept too.
        """
        kept = {
            "before": game.rows(size),
            "after": game.rows(size),
            "actions": np.zeros(size, np.int64),
            "gains": np.zeros((size, 2), np.float32),  # reward, and sign of what comes after it
        }
        kept |= {"explored": np.zeros(size, np.bool_)} if cut else {}
        kept |= {"asked": game.rows(size)} if chance else {}
        super().__init__(size, kept)
        self.order, self.cut, self.alpha = order, cut, alpha
        self.priorities = Priorities(size) if alpha else None
        self.highest = 1.0

    def keep(self, found: Decisions) -> None:
        """Records decisions; new ones get the highest priority so far."""
        places = self.put(**found._asdict())
        if self.priorities is not None:
            self.priorities.put(places, np.full(len(places), self.highest))

    def asks(self, places: Ints) -> Bools:
        """Returns whether a leaf's stage of chance came after the decisions at places [n], [n]."""
        if "asked" not in self.arrays:
            return np.zeros(len(places), dtype=bool)
        return (self["asked"][places] != self["after"][places]).any(axis=1)

    def draw(self, rng: np.random.Generator, n: int, beta: float) -> tuple[Ints, Floats32 | None]:
        """Samples n places; returns them and importance weights (filled * probability)**-beta, at most 1 (None: all equal)."""
        if self.priorities is None:
            return rng.integers(0, self.filled, n), None
        places = self.priorities.draw((np.arange(n) + rng.random(n)) / n)
        weights = (self.filled * self.priorities[places] / self.priorities.total) ** -beta
        return places, (weights / weights.max()).astype(np.float32)

    def learned(self, places: Ints, errors: NDArray[np.floating[Any]]) -> None:
        """Stores absolute errors [n] as priorities of places [n]."""
        if self.priorities is not None:
            self.highest = max(self.highest, float((errors.max() + LEAST) ** self.alpha))
            self.priorities.put(places, (errors.astype(np.float64) + LEAST) ** self.alpha)

    def follow(self, places: Ints, steps: int, gamma: float, *, own: bool) -> NStepStates:
        """Returns the states up to `steps` steps after decisions at places [n].

        `own`: the first action is what is valued, so that it is followed however it was chosen. Steps end with the game,
        before what is not known yet, and as `cut` says.
        """
        n = len(places)
        rows, gained = self["before"][places], np.zeros(n, np.float32)
        factor, going = np.ones(n, np.float32), np.ones(n, dtype=bool)
        numbers = self.recorded - 1 - (self.recorded - 1 - places) % self.size
        for step in range(steps):
            at = numbers % self.size
            going &= numbers < self.recorded
            if self.cut and (step or not own):
                going &= ~self["explored"][at]
            gained[going] += (factor * self["gains"][at, 0])[going]
            factor[going] *= np.float32(gamma) * self["gains"][at, 1][going]
            rows[going] = self["after"][at][going]
            going &= factor != 0
            numbers = self.order.following(numbers)
        return NStepStates(rows, gained, factor)

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `recorded` and `highest` are stored separately."""
        found = super().tensors()
        if self.cut:
            found["explored"] = found["explored"].astype(np.uint8)
        if self.priorities is not None:
            found["priorities"] = self.priorities[np.arange(self.filled)]
        return found

    def restore(self, tensors: Tensors, recorded: int, highest: float = 1.0) -> None:
        """Restores the decisions of a checkpoint, made after `recorded` decisions."""
        super().restore(tensors, recorded)
        self.highest = highest
        if self.priorities is not None:
            self.priorities.put(np.arange(self.filled), tensors["priorities"])


CLIP = 10.0
"""Greatest norm of a gradient."""
ASKED = 0.5
"""Share of the decisions after which a leaf's stage of chance comes where that is learned, and not the decision itself."""


class Learning:
    """The online network, the target network and the optimizer."""

    def __init__(self, game: Game, config: Any, wanted: Target, replay: DecisionReplay) -> None:
        """`config` are the method's options; `wanted` says which target is learned.

        The network says the chance of a win where a single-player game is won or lost and states are valued.
        """
        self.game, self.config, self.wanted, self.replay, self.solo = game, config, wanted, replay, game.players == 1
        self.online: Any = self.fresh()
        self.target = self.fresh() if config.network == SPARSE else TorchModule(self.online.network)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=config.learning_rate)
        self.shape, self.batches = self.online.export(), 0
        self.head = self.shape.head
        self.both = np.zeros((2 * config.batch_size, game.width), dtype=game.dtype)
        self.player = QPlayer(self.shape, config)
        self.T = self.player.new_tables(self.shape)
        """Those of the target network."""

    def fresh(self) -> Any:
        """Returns the initial module."""
        game, config = self.game, self.config
        if config.network != SPARSE:
            says: Says = "value" if self.wanted == "afterstate" else "q"
            return torch_module(game, config, says=says, scale=0.0 if config.scale == 1 else config.scale)
        chance = self.wanted == "afterstate" and (game.players, game.return_range) == (1, (0.0, 1.0))
        head, sees = (
            "chance" if chance else config.head,
            config.sees or default_seen(game, actions=config.head == "max"),
        )
        told = {"head": head, "sees": sees, "scale": config.scale if self.solo else None, "dueling": config.dueling}
        return fresh_module(game, config.hidden, config.seed, **told)

    def tensors(self) -> Tensors:
        """Returns the arrays for a checkpoint; `batches` is stored separately."""
        found = prefixed("online", parameters(self.online)) | prefixed("target", parameters(self.target))
        return found | prefixed("adam", optimizer_tensors(self.optimizer))

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

    def shown(self, rows: Array, symmetries: Ints, actions: Ints) -> Array:
        """Returns rows under symmetries, [n, width]; maps `actions` accordingly."""
        n = len(rows)
        self.both[:n] = rows
        self.player.kernels.transform_rows(self.both, symmetries, actions, self.T)
        return self.both[n:].copy()

    def sampled(self, places: Ints, symmetries: Ints) -> Floats32:
        """Returns n-step targets [n] of the actions at places [n], from the states reached in play."""
        config = self.config
        followed = self.replay.follow(places, config.n_step, config.gamma, own=True)
        following = self.shown(followed.rows, symmetries, np.zeros_like(places))
        features, legal, _ = self.shape.describe(following, self.T)
        seen, illegal = torch.from_numpy(features), torch.from_numpy(legal == 0)
        with torch.no_grad():
            said = self.target(seen)
            chosen = (self.online(seen) if config.double else said).masked_fill(illegal, -torch.inf)
            later = value_of(said.gather(1, chosen.argmax(dim=1, keepdim=True))[:, 0], self.solo).numpy()
        return followed.gained / np.float32(self.shape.unit) + followed.factor * later

    def searched(self, places: Ints, *, asked: bool = False) -> Floats32:
        """Returns targets [n] of the states at places [n]: the best value of a search `n_step` - 1 decisions later.

        `asked`: the states of chance after the decisions there.
        """
        config = self.config
        followed = self.replay.follow(places, config.n_step - (not asked), config.gamma, own=asked)
        going = followed.factor != 0
        best = np.zeros(len(places))
        depth = max(1, config.target_depth)
        best[going] = self.player.searched(followed.rows[going], depth, self.T, self.target).max(axis=1)
        found: Floats = (followed.gained + followed.factor * best) / self.divisor
        if asked and not self.solo:  # where a leaf speaks for player 0, and what followed was counted for who decided
            rows, acts = self.replay["before"][places], self.game.calls.current_player
            T = self.game.thread_tables
            found *= [-1.0 if acts(rows, np.uint64(i), T) == 1 else 1.0 for i in range(len(rows))]
        return found.astype(np.float32)

    def all_actions(self, rows: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns targets [n, A] of all actions in rows [n, width] by a search, and their weights, which sum to 1 in a row."""
        found = self.player.searched(rows, self.config.target_depth, self.T, self.target)
        known = torch.from_numpy(np.isfinite(found))
        targets = np.where(np.isfinite(found), found / self.divisor, 0.0).astype(np.float32)
        return torch.from_numpy(targets), known / known.sum(dim=1, keepdim=True)

    def losses(self, places: Ints, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns losses and absolute errors of decisions at places [n], under random symmetries."""
        symmetries = rng.integers(0, self.game.symmetry_count, len(places))
        actions, rows = self.replay["actions"][places], self.replay["before"][places]
        asked = self.replay.asks(places)
        if asked.any():  # both are learned: where a line of play has no such stage, a leaf is asked at a decision
            asked &= rng.random(len(places)) < ASKED
            rows[asked] = self.replay["asked"][places[asked]]
        rows = self.shown(rows, symmetries, actions)
        features, _, signs = self.shape.describe(rows, self.T)
        self.online.train()
        with seeded(self.config.seed, self.batches):
            outputs = self.online(torch.from_numpy(features))
        self.online.eval()
        if self.wanted == "expected":
            targets, shares = self.all_actions(rows)
            errors = ((value_of(outputs, self.solo) - targets).abs() * shares).sum(dim=1)
            return (losses_of(outputs, targets, self.solo) * shares).sum(dim=1), errors.detach()
        if self.wanted == "sampled":
            outputs = outputs.gather(1, torch.from_numpy(actions)[:, None])[:, 0]
            targets = torch.from_numpy(self.sampled(places, symmetries))
        else:
            worth = np.zeros(len(places), np.float32)
            for chance in (False, True):
                worth[asked == chance] = self.searched(places[asked == chance], asked=chance)
            outputs, targets = outputs[:, 0], torch.from_numpy(worth * signs)
        if self.head == "chance":
            return chance_losses(outputs, targets), (torch.sigmoid(outputs) - targets).abs().detach()
        return losses_of(outputs, targets, self.solo), (value_of(outputs, self.solo) - targets).abs().detach()

    def step(self, share: float) -> tuple[float, float]:
        """Trains on a batch after a share of the run; returns the loss and the mean error."""
        config = self.config
        rng = np.random.default_rng((config.seed, 1, self.batches))
        beta = config.importance + (1 - config.importance) * share
        places, weights = self.replay.draw(rng, config.batch_size, beta)
        losses, errors = self.losses(places, rng)
        self.replay.learned(places, errors.numpy())
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
        self.target.write_to(self.T.leaf)  # that of the searches
