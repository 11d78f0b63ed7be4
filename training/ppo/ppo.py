"""PPO with masked actions by sb3-contrib: self-play, a fixed opponent, or single-player; its value head becomes a leaf.

Sources: Schulman et al., "Proximal policy optimization algorithms" (2017); Huang and Ontanon, "A closer look at invalid action
masking" (2022); opponents from earlier versions as in Bansal et al., "Emergent complexity via multi-agent competition" (2018).
Policy and value share the first layer. Its input is one feature for each cell and value of the observation, or what `--sees`
names. In two-player games the value goes through tanh, and the agent has a random seat. Rewards are divided by `--scale`, in
two-player games by the maximum outcome. Training may start with games of a guide, and in easier variants. The result is one
network with the value of a decision for the player who acts, and the policy.

docs/methods/ppo.md lists what is logged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.network import Learned
from leafwise.models.players import player
from leafwise.models.seen import OBSERVATION, features_of, seen_by
from leafwise.training.runs.folder import Checkpoint
from leafwise.training.runs.gating import SPARSE, GatedLearner, GatedOptions, need_sparse
from leafwise.training.runs.loop import find_variant, run_learner
from leafwise.training.runs.run_options import Count, Every, Plies, Rate, TotalSteps
from leafwise.training.types import Json, Logged, Tensors


@dataclass(frozen=True)
class Config(GatedOptions):
    """Options of `leafwise train GAME --method ppo`."""

    empty_means = MappingProxyType({"sees": OBSERVATION})
    total_steps: TotalSteps = 1_000_000
    """Length of the run, in decisions of the agent."""
    envs: Annotated[int, Range(1, 100000)] = 1024
    """Number of games played side by side."""
    rollout: Count = 16
    """Number of decisions in each game between two updates."""
    opponent: str = "self"
    """Opponent in two-player games: self (the current or an earlier policy, which samples its actions) or any player.
    greedy and random are compiled into the environment's step."""
    newest_share: Share = 0.5
    """Share of rollouts against the current policy with --opponent self. In the other rollouts the opponent is an earlier
    policy that won its match."""
    pool_size: Annotated[int, Range(1, 100)] = 8
    """Number of latest match winners that are kept as opponents."""
    plies: Plies = 0
    """Maximum number of random actions, of both players, at the start of a training game."""
    reward: str = "score"
    """Reward of the environment: score, or another reward of the game."""
    guide: str = ""
    """Player that the policy imitates before it learns from its own games, for example search:pirates,depth=2 (default: none)."""
    guide_decisions: Count = 400_000
    """Minimum number of the guide's decisions. Its games are played to the end."""
    easy_variants: tuple[str, ...] = ()
    """Easier variants of a single-player game in which training starts, one after another, for example
    level=1,start_life=31 (curriculum)."""
    curriculum_decisions: Annotated[int, Range(0, 1e12)] = 1_000_000
    """Number of decisions played in the easier variants."""
    scale: Annotated[float, Range(1e-6, 1e9)] = 1.0
    """Return that counts as 1, in single-player games (default for a torch module: the typical return of random games)."""
    learning_rate: Rate = 0.002
    """Learning rate at the start (Adam)."""
    final_learning_rate: Rate = 0.0001
    """Learning rate at the end. It falls linearly."""
    gamma: Share = 0.99
    """Discount per decision."""
    gae_lambda: Share = 0.95
    """Lambda of generalized advantage estimation."""
    epochs: Annotated[int, Range(1, 1000)] = 4
    """Number of passes over each rollout."""
    batch_size: Annotated[int, Range(2, 1e6)] = 2048
    """Number of decisions in a batch."""
    entropy: Annotated[float, Range(0, 10)] = 0.01
    """Weight of the entropy bonus."""
    sees: str = ""
    """Input of a sparse network: observation, another of the game's sets of sparse features, or features+observation.
    Default: observation. Input of a torch module: planes, onehot or observation. Default: the first of these that the game
    has."""
    hidden: tuple[int, int] = (64, 32)
    """Width of the shared first layer, and width of the second layers of policy and value. Both are multiples of 4."""
    evaluate_every: Every = 8
    """Number of updates between two evaluations."""
    match_plies: Plies = 8
    """Maximum number of random actions at the start of a match game."""


class MaskedPpo(GatedLearner):
    """One run: model, environments, files."""

    blank: Any
    opponent_network: Any

    method, unit = "ppo", "decisions"

    def __init__(self, config: Config) -> None:
        super().__init__(config)  # raises ValueError without torch
        from leafwise.training.ppo.network import SampledOpponent, blank_network, make_model
        from leafwise.training.sb3 import PpoRun

        two, sees, is_module = self.game.players == 2, config.sees or OBSERVATION, config.network != SPARSE
        if is_module:
            from leafwise.models.modules import views_of
            from leafwise.training.networks import torch_module

            need_sparse(config)
            self.blank = torch_module(
                self.game, config, says="policy", scale=0.0 if config.scale == 1 else config.scale
            ).network
            if self.blank.sees not in (DEFAULT_VIEW, *self.game.view_names):
                views = views_of(self.game)
                raise UserError(
                    f"expected --sees {views} for a torch module that learns by ppo, got {self.blank.sees!r}"
                )
            self.opponent_network = SampledOpponent(self.blank)
        else:
            if sees in seen_by(self.game) and features_of(self.game, sees).invariant:
                expected = "expected --sees features+observation: symmetric positions share these features"
                raise UserError(f"{expected}, got {sees!r}")
            self.blank, self.opponent_network = (
                blank_network(self.game, config.hidden, sees, None if two else config.scale) for _ in range(2)
            )
        self.plays_itself = two and config.opponent == "self"
        opponent = self.opponent_network if is_module else self.opponent_network.evaluator("self")
        seats: Json = {"opponent": opponent if self.plays_itself else config.opponent, "seat": "random"} if two else {}
        if is_module:
            seats["observation"] = self.blank.sees
        if config.easy_variants and two:
            raise UserError(f"expected --easy-variants in a single-player game, got {self.game.name!r}")
        if config.guide:
            player(config.guide, self.game)  # raises ValueError for an unknown player
        self.variants = [*(find_variant(config.game, text) for text in config.easy_variants), self.game]
        self.batches = [
            GameVectorEnv(
                config.envs, variant, reward=config.reward, plies=config.plies, autoreset_mode="SameStep", **seats
            )
            for variant in self.variants
        ]
        self.variant_number = self.variant_index(0)
        envs = self.batches[self.variant_number]
        self.model, log = make_model(
            envs, self.blank, config, self.opponent_network if is_module and self.plays_itself else None
        )
        self.ppo = PpoRun(self.model, log, envs, config, self.rate)
        self.newest = self.exported()
        self.open_folder()
        self.begin(pool=config.pool_size if self.plays_itself else 1, plies=config.match_plies)

    def rate(self) -> float:
        """Returns the current learning rate."""
        first, last = self.config.learning_rate, self.config.final_learning_rate
        return float(first + (last - first) * min(self.done / self.goal, 1.0))

    def variant_index(self, done: int) -> int:
        """Returns the index in `variants` of the variant played after a number of decisions."""
        easy, duration = len(self.config.easy_variants), self.config.curriculum_decisions
        return easy if done >= duration else easy * done // duration

    def move(self) -> None:
        """Switches to the current variant of the curriculum."""
        if (number := self.variant_index(self.done)) == self.variant_number:
            return
        from leafwise.training.ppo.network import wrapped

        self.variant_number, self.ppo.envs = number, self.batches[number]
        envs = wrapped(self.ppo.envs, self.blank)
        envs.seed(self.config.seed + number)
        self.model.set_env(envs)

    def exported(self) -> Learned:
        """Returns the current model, for search and files."""
        from leafwise.training.ppo.network import exported

        return exported(self.model, self.blank)

    def seat_opponent(self) -> None:
        """Chooses the opponent of the next rollout, and gives its weights to the environments."""
        rng = np.random.default_rng((self.config.seed, self.ppo.updates))
        chosen: Any = self.exported() if rng.random() < self.config.newest_share else None
        chosen = chosen or self.gate.pool[int(rng.integers(len(self.gate.pool)))]
        if self.config.network != SPARSE:
            self.opponent_network.take(chosen)
            return
        for name in ("embedding", "bias", "dense"):
            getattr(self.opponent_network.weights, name)[:] = getattr(chosen.weights, name)

    @property
    def done(self) -> int:
        return self.ppo.done

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        self.ppo.updates = metadata["updates"]
        self.move()
        self.ppo.restore(tensors, metadata["updates"])
        self.newest = self.exported()

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors, metadata = super().state()
        return self.ppo.tensors() | tensors, {"updates": self.ppo.updates} | metadata

    def advance(self) -> tuple[Logged, int | None]:
        """Plays one rollout and trains on it; a match is due every few updates."""
        if self.plays_itself:
            self.seat_opponent()
        if self.config.guide and not self.done:
            from leafwise.training.ppo.imitation import imitate

            print(f"imitating {self.config.guide} in {self.config.guide_decisions:,} decisions first", flush=True)
            imitate(self.model, self.variants[self.variant_number], self.config.guide, self.config.guide_decisions)
        self.move()
        logged, every = self.ppo.step(), self.config.evaluate_every
        if not self.is_due(self.ppo.updates, every):
            return logged, None
        self.newest = self.exported()
        return logged, self.ppo.updates // every


def train(config: Config) -> Path:
    """Trains by masked PPO and returns the run folder; raises ValueError for options that do not fit."""
    return run_learner(MaskedPpo(config))
