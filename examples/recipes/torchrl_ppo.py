# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise",
#   "torchrl==0.14.1",
#   "torch==2.13.0",
# ]
# ///
"""A short PPO training with TorchRL, whose collector uses the mask of legal actions."""

import gymnasium as gym
import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, Compose, DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import leafwise

torch.manual_seed(1)
base = leafwise.MaskedObservation(gym.make("leafwise/Cassis-v0", opponent="random", seat="random", illegal="raise"))
cast = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
env = TransformedEnv(GymWrapper(base, categorical_action_encoding=True), Compose(cast, ActionMask()))
cells, actions = base.observation_space["observation"].shape[0], int(base.action_space.n)


def network(outputs):
    return torch.nn.Sequential(torch.nn.Linear(cells, 64), torch.nn.Tanh(), torch.nn.Linear(64, outputs))


actor = ProbabilisticActor(
    TensorDictModule(network(actions), ["observation"], ["logits"]),
    in_keys={"logits": "logits", "mask": "action_mask"},
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
critic = TensorDictModule(network(1), ["observation"], ["state_value"])
loss, advantage = ClipPPOLoss(actor, critic), GAE(gamma=1.0, lmbda=0.95, value_network=critic)
optimiser = torch.optim.Adam(loss.parameters(), lr=1e-3)
collector = Collector(env, actor, frames_per_batch=512, total_frames=5 * 512)
for batch in collector:
    for _ in range(4):
        advantage(batch)
        for part in batch[torch.randperm(len(batch))].split(128):
            losses = loss(part)
            optimiser.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
            optimiser.step()
    ended = batch["next", "done"]
    print(f"{len(batch)} steps, mean return {batch['next', 'reward'][ended].mean():.3f}")
collector.shutdown()
