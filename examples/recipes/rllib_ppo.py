# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise",
#   "ray[rllib]==2.60.0",
#   "torch==2.13.0",
# ]
# ///
"""A short training with RLlib's PPO, which uses the mask of legal actions."""

import gymnasium as gym
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import leafwise


def make(config):
    env = gym.make("leafwise/Cassis-v0", opponent="random", seat="random", illegal="raise")
    return leafwise.MaskedObservation(env, observation="observations")  # the name that this module of RLlib expects


register_env("cassis", make)
config = (
    PPOConfig()
    .environment("cassis")
    .env_runners(num_env_runners=0)
    .training(train_batch_size_per_learner=512, minibatch_size=128, num_epochs=4, lr=1e-3)
    .rl_module(rl_module_spec=RLModuleSpec(module_class=ActionMaskingTorchRLModule))
    .debugging(seed=1)
)
algorithm = config.build_algo()
for _ in range(5):
    result = algorithm.train()["env_runners"]
    print(f"{result['num_env_steps_sampled_lifetime']:.0f} steps, mean return {result['episode_return_mean']:.3f}")
algorithm.stop()
ray.shutdown()
