"""Names and descriptions of the logged tags, for progress lines and TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TAGS = {
    "position": "position: half way through a random game, with the newest network's values of its actions at depth 1",
    "ships": "ships: some ships that the newest network builds on the seeds of the evaluation",
    "eval/score_mean": "mean score: final score, share of games won or quality of ships; in two-player games share of "
    "the points against the previous best network, 0 to 1",
    "eval/score_ci_low": "lower bound: lower end of the mean score's 95 % interval",
    "eval/score_ci_high": "upper bound: upper end of the mean score's 95 % interval",
    "eval/elo": "Elo: rating of the newest network; the first network has 0",
    "eval/best_elo": "best Elo: rating of the best network so far; the first network has 0",
    "eval/keeps_value": "value kept: share of critical positions in which play at depth 1 keeps the exact solver's value",
    "eval/ladder_elo": "Elo over the first reference player: rating of the newest network",
    "eval/ladder_elo_error": "Elo error: half of the 95 % interval of the Elo over the first reference player",
    "eval/calibration_error": "calibration error: mean difference between predicted win probabilities and the share of games won",
    "eval/gain": "gain: mean quality of ships minus that of the hand-made ships of the same seeds",
    "eval/over_random": "gain over random: mean quality of ships minus that after as many random changes",
    "eval/valid": "valid: share of valid ships",
    "eval/correlation": "correlation: between values and the quality of the finished ships",
    "eval/absolute_error": "value error: mean absolute difference between values and the quality of the finished ships",
    "eval/mean_of_presets": "mean of presets: mean score over all presets, which selects the best network",
    "rollout/ep_rew_mean": "mean return: of the training games, with exploration",
    "rollout/ep_len_mean": "mean length: number of decisions in a training game",
    "rollout/first_wins": "first player's wins: share of training games that the first player won",
    "rollout/decided": "decided games: share of training games that were not drawn",
    "rollout/staleness": "staleness: number of iterations by which the playing network is behind the newest one",
    "rollout/repeated": "repeated: number of jobs that ran again because a process or machine was lost",
    "time/fps": "speed: steps per second",
    "time/seconds": "CPU time: processor seconds of the run so far",
    "train/loss": "loss: mean loss of the last training",
    "train/error": "error: root mean square error of values against their targets, in potential",
    "train/exploration_rate": "exploration: share of random actions",
    "train/gained": "gained: share of the tried changes that improved the ship",
    "train/learning_rate": "learning rate: of the last training; the maximum if it changes in cycles",
    "train/policy_entropy": "policy entropy: mean entropy of the policy targets, in nats",
    "train/policy_loss": "policy loss: mean policy loss of the last training",
    "train/q_mean": "mean value: of the actions that were trained",
    "train/quality": "quality: mean quality of the training ships",
    "train/rate": "learning rate: of a weight",
    "train/td_error": "temporal-difference error: mean absolute difference between values and their targets",
}
"""Tag -> its name in progress lines, a colon, and its description."""


def words_of(logged: Mapping[str, Any], players: int) -> str:
    """Returns the figures of an evaluation in words, "" without an evaluation.

    For example `mean score 44,560 (43,020 to 46,100)`, or `0.53 of points` in two-player games.
    """
    low, high = (logged.get(f"eval/score_ci_{end}") for end in ("low", "high"))
    parts = []
    for tag, x in logged.items():
        if tag in TAGS and tag.startswith("eval/") and not tag.startswith("eval/score_ci"):
            is_score = tag == "eval/score_mean"
            bounds = f" ({figure(low)} to {figure(high)})" if is_score and low is not None and high is not None else ""
            text = f"{figure(x)}{bounds}"
            of_two = is_score and players == 2
            parts.append(f"{text} of points" if of_two else f"{TAGS[tag].partition(':')[0]} {text}")
    return ", ".join(parts)


def figure(x: float) -> str:
    """Formats a number for people: 44,560 or 0.53."""
    return f"{x:{',.0f' if abs(x) >= 1000 else '.3g'}}"
