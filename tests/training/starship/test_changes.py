"""Changes of finished ships that a network proposes: what is seen of one, and that the likeliest is tried."""

from __future__ import annotations

import numpy as np
import pytest

from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship import GAME
from leafwise.envs.starship.changes import SEEN, THRUST_AT, ChangeWeights, Proposer, shapes
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.rules import OVER
from leafwise.envs.starship.tables import TURN
from leafwise.training.starship.builders import builder


def network(**units: float) -> ChangeWeights:
    """Returns a network whose odds rise with some of what is seen, named by their places."""
    made = {name: np.zeros(shape, np.float32) for name, shape in shapes(4).items()}
    for place, much in units.items():
        made["first"][int(place[1:]), 0 if much > 0 else 1] = abs(much)
    made["second"][0, 0] = made["second"][1, 1] = 1.0
    made["out"][:2] = 1.0, -1.0
    return ChangeWeights(**made)


def changed(weights: ChangeWeights, seed: int, tries: int) -> tuple[Plans, np.ndarray, np.ndarray]:
    plans, chances = Plans(GAME), np.array([seed, 1 << 62], np.uint64)
    plans.start(new_stream(seed))
    plans.by_hand(chances)
    seen, gained = Proposer(GAME, weights)(plans, chances, tries, record=True)
    return plans, seen, gained


def test_changes_make_no_ship_worse_and_end_it_as_the_rules_do() -> None:
    for seed in range(5000, 5006):
        by_hand = builder("hand", GAME)(seed).returns
        plans, seen, gained = changed(network(), seed, 60)
        assert plans.quality >= by_hand
        assert plans.row[TURN] == OVER
        assert seen.shape == (len(gained), SEEN)
        assert np.isfinite(seen).all()
        assert (seen[:, :11].sum(axis=1) == 1).all()


def test_the_likeliest_change_is_tried() -> None:
    """Odds that rise, or fall, with the thrust that is gained: what is tried gains more, or less."""
    means = []
    for much in (1.0, 0.0, -1.0):
        tried = [changed(network(**{f"p{THRUST_AT}": much}), seed, 60)[1] for seed in range(5000, 5004)]
        means.append(np.concatenate(tried)[:, THRUST_AT].mean())
    assert means[0] > means[1] > means[2]


def test_the_shipped_network_betters_ships_more_than_chance_does() -> None:
    proposed, at_random = builder("propose:150:hand", GAME), builder("refine:150:hand", GAME)
    gains = [proposed(seed).returns - at_random(seed).returns for seed in range(5000, 5040)]
    assert np.mean(gains) > 0
    again = builder("propose:150:hand", GAME)
    assert [again(seed).returns for seed in (5001, 5000)] == [proposed(seed).returns for seed in (5001, 5000)]


def test_what_does_not_propose() -> None:
    with pytest.raises(ValueError, match="expected a network that proposes changes of ships, got one of kind 'grid'"):
        builder("propose:9:hand,by=starshipplace", GAME)
    with pytest.raises(ValueError, match="after propose:9:, got 'tug'"):
        builder("propose:9:tug", GAME)
