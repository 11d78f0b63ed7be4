"""Pretrains a PPO on games of a guide: the policy learns its actions, the value its returns.

Source: behavioural cloning, Pomerleau, "Efficient training of artificial neural networks for autonomous navigation" (1991).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from leafwise.envs.core.arrays import Array, Floats32
from leafwise.envs.core.contract.game import Game
from leafwise.models.players import player
from leafwise.training.types import Tensors

EPOCHS, BATCH = 8, 1024
"""Passes over the guide's decisions, and decisions in a batch."""
RATE, LAST_RATE = 0.003, 0.0001
"""Learning rates of the first and last pass (Adam)."""


def recorded(model: Any, game: Game, text: str, decisions: int) -> Tensors:
    """Plays the model's environments with the player `text` until finished episodes have `decisions` decisions.

    Returns `observations` [n, ...], `masks` bool [n, A], `actions` int64 [n] and `returns` float32 [n], discounted, of the
    decisions of episodes that ended.
    """
    env, guide = model.env, player(text, game)
    batch, last = env.unwrapped.batch, env.reset()
    steps: list[tuple[Array, ...]] = []
    space: Any = env.observation_space
    kept = np.min_scalar_type(int(space.high.max())) if space.dtype == np.int64 else space.dtype  # features, by number
    ended = np.zeros(batch.num_envs, np.int64)
    while ended.sum() < decisions:
        masks = batch.action_masks()
        actions = np.array([guide.choose(batch.state(e)) for e in range(batch.num_envs)])
        seen, (last, rewards, dones, _) = last, env.step(actions)
        steps.append((seen.astype(kept), masks, actions, rewards, dones))
        ended[dones] = len(steps)
    observations, masks, actions, rewards, dones = (np.stack(arrays) for arrays in zip(*steps, strict=True))
    whole = np.arange(len(steps))[:, None] < ended
    return {
        "observations": observations[whole],
        "masks": masks[whole],
        "actions": actions[whole],
        "returns": returns_of(rewards, dones, model.gamma)[whole],
    }


def returns_of(rewards: Array, dones: Array, gamma: float) -> Floats32:
    """Returns the discounted returns to come [steps, n] of consecutive steps."""
    returns = np.zeros(rewards.shape, np.float32)
    after = np.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        after = rewards[t] + gamma * after * ~dones[t]
        returns[t] = after
    return returns


def imitate(model: Any, game: Game, text: str, decisions: int) -> None:
    """Trains a model's policy on the actions of the player `text` in its environments, and its value on the returns."""
    seen, policy = recorded(model, game, text, decisions), model.policy
    torch.manual_seed(model.seed)
    optimiser = torch.optim.Adam(policy.parameters(), lr=RATE, eps=1e-5)
    policy.set_training_mode(True)
    kept = model.observation_space.dtype
    actions, returns = torch.as_tensor(seen["actions"]), torch.as_tensor(seen["returns"])
    for epoch in range(EPOCHS):
        optimiser.param_groups[0]["lr"] = RATE + (LAST_RATE - RATE) * epoch / (EPOCHS - 1)
        for chosen in torch.randperm(len(actions)).split(BATCH):
            where = chosen.numpy()
            observations = torch.as_tensor(seen["observations"][where].astype(kept)).to(model.device)
            values, likely, _ = policy.evaluate_actions(
                observations, actions[chosen].to(model.device), seen["masks"][where]
            )
            missed = (values.flatten() - returns[chosen].to(model.device)).square().mean()
            optimiser.zero_grad()
            (model.vf_coef * missed - likely.mean()).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), model.max_grad_norm)
            optimiser.step()
