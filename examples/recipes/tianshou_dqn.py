# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise",
#   "tianshou==2.0.1",
# ]
# ///
"""A short training with Tianshou's DQN, which uses the mask of legal actions."""

import gymnasium as gym
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import leafwise


def make():
    env = gym.make("leafwise/Cassis-v0", opponent="random", seat="random", illegal="raise")
    return leafwise.MaskedObservation(env, observation="obs", mask="mask")  # the names that Tianshou expects


torch.manual_seed(1)
env = make()
net = Net(state_shape=env.observation_space["obs"].shape, action_shape=env.action_space.n, hidden_sizes=[64, 64])
policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1)
learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, target_update_freq=100)
train, test = DummyVectorEnv([make] * 4), DummyVectorEnv([make] * 4)
train.seed(1)
test.seed(2)
result = learner.run_training(
    OffPolicyTrainerParams(
        training_collector=Collector(learner, train, VectorReplayBuffer(10_000, 4)),
        test_collector=Collector(learner, test),
        max_epochs=3,
        epoch_num_steps=1000,
        collection_step_num_env_steps=40,
        test_step_num_episodes=100,
        batch_size=64,
        show_progress=False,
        verbose=False,
    )
)
print(f"{result.update_step} updates, best mean return {result.best_reward:.3f}")
