"""How Q-learning's networks learn: what values should be by the replay, by a target network and by searches with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.models.sparse import BOUND
from leafwise.training.dqn.games import How, Player
from leafwise.training.dqn.replay import Decided, Target
from leafwise.training.networks.sparse import (
    chance_losses,
    fresh_module,
    load_optimizer,
    load_parameters,
    losses_of,
    optimizer_tensors,
    parameters,
    value_of,
)
from leafwise.training.runs.gating import named, prefixed

CLIP = 10.0
"""Greatest norm of a gradient."""
ASKED = 0.5
"""Share of the decisions after which a leaf's stage of chance comes where that is learned, and not the decision itself."""
Tensors = dict[str, NDArray[Any]]


class Learning:
    """The newest network, the target network, the optimiser."""

    def __init__(self, game: Game, config: Any, wanted: Target, replay: Decided, how: How) -> None:
        """`config` are the method's options; `wanted` says which target is learned, `how` searches with the target network work.

        The network says the chance of a win where a game for one is won or lost and states are valued.
        """
        self.game, self.config, self.wanted, self.replay, self.solo = game, config, wanted, replay, game.players == 1
        chance = wanted == "afterstate" and (game.players, game.return_range) == (1, (0.0, 1.0))
        self.head = "chance" if chance else config.head
        told = {"head": self.head, "sees": config.sees, "scale": config.scale, "dueling": config.dueling}
        self.online, self.target = (fresh_module(game, config.hidden, config.seed, **told) for _ in range(2))
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=config.learning_rate)
        self.shape, self.batches = self.online.export(), 0
        self.both = np.zeros((2 * config.batch_size, game.width), dtype=game.dtype)
        self.player = Player(self.shape, how)
        self.T = self.player.new_tables(self.shape)
        """Those of the target network."""

    def tensors(self) -> Tensors:
        """Returns what a checkpoint holds, besides `batches`."""
        found = prefixed("online", parameters(self.online)) | prefixed("target", parameters(self.target))
        return found | prefixed("adam", optimizer_tensors(self.optimizer))

    def restore(self, tensors: Tensors, batches: int) -> None:
        """Takes the state of a checkpoint."""
        load_parameters(self.online, named(tensors, "online"))
        load_parameters(self.target, named(tensors, "target"))
        load_optimizer(self.optimizer, named(tensors, "adam"))
        self.batches = batches
        self.target.write_to(self.T.leaf)

    @property
    def divisor(self) -> float:
        """What a value is divided by where it is learned."""
        return float(self.config.scale if self.solo else BOUND)

    def shown(self, rows: NDArray[Any], symmetries: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[Any]:
        """Returns rows under symmetries, [n, width]; `actions` are mapped along."""
        n = len(rows)
        self.both[:n] = rows
        self.player.kernels.transform_rows(self.both, symmetries, actions, self.T)
        return self.both[n:].copy()

    def sampled(self, places: NDArray[np.int64], symmetries: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns what the actions at places [n] should be worth by what was met `n_step` decisions on, [n]."""
        config = self.config
        followed = self.replay.follow(places, config.n_step, config.gamma, own=True)
        following = self.shown(followed.rows, symmetries, np.zeros_like(places))
        features, legal, _ = self.shape.describe(following, self.T)
        seen, illegal = torch.from_numpy(features), torch.from_numpy(legal == 0)
        with torch.no_grad():
            said = self.target(seen)
            chosen = (self.online(seen) if config.double else said).masked_fill(illegal, -torch.inf)
            later = value_of(said.gather(1, chosen.argmax(dim=1, keepdim=True))[:, 0], self.solo).numpy()
        return followed.gained / np.float32(config.scale) + followed.factor * later

    def searched(self, places: NDArray[np.int64], *, asked: bool = False) -> NDArray[np.float32]:
        """Returns what the states at places [n] should be worth: the best that a search finds `n_step` - 1 decisions on, [n].

        `asked`: the states of chance after the decisions there.
        """
        config = self.config
        followed = self.replay.follow(places, config.n_step - (not asked), config.gamma, own=asked)
        going = followed.factor != 0
        best = np.zeros(len(places))
        best[going] = self.player.searched(followed.rows[going], max(1, config.target_depth), self.T).max(axis=1)
        found: NDArray[np.float64] = (followed.gained + followed.factor * best) / self.divisor
        return found.astype(np.float32)

    def all_actions(self, rows: NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns what every action in rows [n, width] should be worth by a search, [n, A], and what it counts: shares of 1."""
        found = self.player.searched(rows, self.config.target_depth, self.T)
        known = torch.from_numpy(np.isfinite(found))
        targets = np.where(np.isfinite(found), found / self.divisor, 0.0).astype(np.float32)
        return torch.from_numpy(targets), known / known.sum(dim=1, keepdim=True)

    def losses(self, places: NDArray[np.int64], rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns losses and sizes of the errors of decisions at places [n]; these are seen under random symmetries."""
        symmetries = rng.integers(0, self.game.symmetry_count, len(places))
        actions, rows = self.replay["actions"][places], self.replay["before"][places]
        asked = self.replay.asks(places)
        if asked.any():  # both are learned: where a line of play has no such stage, a leaf is asked at a decision
            asked &= rng.random(len(places)) < ASKED
            rows[asked] = self.replay["asked"][places[asked]]
        rows = self.shown(rows, symmetries, actions)
        features, _, signs = self.shape.describe(rows, self.T)
        outputs = self.online(torch.from_numpy(features))
        if self.wanted == "expected":
            targets, shares = self.all_actions(rows)
            errors = ((value_of(outputs, self.solo) - targets).abs() * shares).sum(dim=1)
            return (losses_of(outputs, targets, self.solo) * shares).sum(dim=1), errors.detach()
        if self.wanted == "sampled":
            outputs = outputs.gather(1, torch.from_numpy(actions)[:, None])[:, 0]
            targets = torch.from_numpy(self.sampled(places, symmetries))
        else:
            worth = np.zeros(len(places), dtype=np.float32)
            for chance in (False, True):
                worth[asked == chance] = self.searched(places[asked == chance], asked=chance)
            outputs, targets = outputs[:, 0], torch.from_numpy(worth * signs)
        if self.head == "chance":
            return chance_losses(outputs, targets), (torch.sigmoid(outputs) - targets).abs().detach()
        return losses_of(outputs, targets, self.solo), (value_of(outputs, self.solo) - targets).abs().detach()

    def step(self, share: float) -> tuple[float, float]:
        """Learns from a batch of the replay when a share of the run is over; returns the loss and the mean error."""
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
        """Lets the target network follow the newest."""
        if self.config.tau:
            with torch.no_grad():
                for slow, new in zip(self.target.parameters(), self.online.parameters(), strict=True):
                    slow.lerp_(new, self.config.tau)
        elif self.batches % self.config.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        else:
            return
        self.target.write_to(self.T.leaf)  # that of the searches
