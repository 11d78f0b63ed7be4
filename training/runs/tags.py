"""What the tags that learners log mean: words for the progress bar and its lines, a description for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TAGS = {
    "position": "position: half way through a random game, with what the newest network says of its actions, one decision deep",
    "ships": "ships: some of those that the newest network builds on the seeds of the evaluation",
    "eval/score_mean": "mean score: alone the final score, the share of games won or the quality of ships; of two players the "
    "points against the best network before, 0 to 1",
    "eval/score_ci_low": "interval from: the lower end of the mean score's 95 % interval",
    "eval/score_ci_high": "interval to: the upper end of the mean score's 95 % interval",
    "eval/elo": "Elo: of the newest network; the first network has 0",
    "eval/best_elo": "best Elo: of the best network so far; the first network has 0",
    "eval/keeps_value": "value kept: share of fixed critical positions in which one-ply play keeps the value, by the exact solver",
    "eval/ladder_elo": "Elo over the first reference player: of the newest network",
    "eval/ladder_elo_error": "its error: half the 95 % interval of the Elo over the first reference player",
    "eval/calibration_error": "calibration error: mean distance of the chances that were told from what came of the games",
    "eval/gain": "gain: mean quality of ships beyond the hand-made ones of the same seeds",
    "eval/over_random": "over random: mean quality of ships beyond those of as many changes at random",
    "eval/valid": "valid: share of the ships that are valid",
    "eval/correlation": "correlation: of values with the quality of the finished ships",
    "eval/absolute_error": "error of values: mean distance of values from the quality of the finished ships",
    "eval/mean_of_presets": "mean of presets: mean score over all presets, by which the network is chosen",
    "rollout/ep_rew_mean": "return of a game: mean of the games that were learned from, exploring",
    "rollout/ep_len_mean": "decisions of a game: mean of the games that were learned from",
    "rollout/first_wins": "first player's wins: share of the games that were learned from",
    "rollout/decided": "decided games: share of the games that were not drawn",
    "rollout/staleness": "iterations behind: how far the network that played is behind the newest one",
    "rollout/repeated": "repeated: pieces of work that were played again, since a process or machine was lost",
    "time/fps": "speed: steps a second",
    "time/seconds": "processor seconds: of the run so far",
    "train/loss": "loss: of what was learned last",
    "train/error": "error: mean distance of values from their targets",
    "train/exploration_rate": "exploration: share of random actions",
    "train/gained": "gained: share of the changes that were tried that made the ship better",
    "train/learning_rate": "learning rate: the highest of the last cycle",
    "train/policy_entropy": "entropy: of the policy, in nats",
    "train/policy_loss": "policy loss: of what was learned last",
    "train/q_mean": "mean value: of the actions that were learned from",
    "train/quality": "quality: mean of the finished ships that were learned from",
    "train/rate": "learning rate: of each weight",
    "train/td_error": "temporal-difference error: mean distance of values from their targets",
}
"""Tag -> its words, and after a colon what it is."""


def words_of(logged: Mapping[str, Any], players: int) -> str:
    """Returns what is said of the figures of an evaluation, `mean score 44,560 (43,020 to 46,100)`, of two players
    `0.53 of points`; "" where there was none."""
    low, high = (logged.get(f"eval/score_ci_{end}") for end in ("low", "high"))
    found = []
    for tag, x in logged.items():
        if tag in TAGS and tag.startswith("eval/") and not tag.startswith("eval/score_ci"):
            is_score = tag == "eval/score_mean"
            bounds = f" ({figure(low)} to {figure(high)})" if is_score and low is not None and high is not None else ""
            told = f"{figure(x)}{bounds}"
            of_two = is_score and players == 2
            found.append(f"{told} of points" if of_two else f"{TAGS[tag].partition(':')[0]} {told}")
    return ", ".join(found)


def figure(x: float) -> str:
    """Returns a number as people read it."""
    return f"{x:{',.0f' if abs(x) >= 1000 else '.3g'}}"
