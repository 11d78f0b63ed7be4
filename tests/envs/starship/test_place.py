"""The building game: scenario 18, rewards, observations, chance fed from the generator's streams."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import leafwise
from contract.same import assert_same
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.starship import GAME, Generator, dump
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.features import CHANNELS
from leafwise.envs.starship.heuristic_builder import HandBuilder
from leafwise.envs.starship.quality import TERM_WEIGHTS, TERMS
from leafwise.envs.starship.ship import reported
from twins.starship import Twin

SCOUT, CLASSIC = GAME, GAME.variant(preset="classic")
LETTER = {part.name: part.letter for part in PARTS}


def ship_bytes(game: leafwise.Game, row: np.ndarray[Any, Any], seed: int) -> str:
    """Returns the file of a finished row, as the generator would write it at attempt 0."""
    return dump(reported(row, game.tables().ship, Generator(game.options.preset).parameters, seed))


@pytest.mark.parametrize(("game", "seeds"), [(SCOUT, 20), (CLASSIC, 6)], ids=["scout", "classic"])
def test_the_hand_made_builder_makes_the_generators_ships(game: leafwise.Game, seeds: int) -> None:
    """Scenario 18: bytes of `generate`, rewards that add up to the quality, failures that end with 0."""
    env, generator, valid = GameEnv(game), Generator(game.options.preset), 0
    for k in range(seeds):
        env.reset(seed=k)
        assert env.state == game.new(k)  # a seed is the same ship everywhere
        builder, total, terminated = HandBuilder(k), 0.0, env.state.is_terminal
        while not terminated:
            _, reward, terminated, _, _ = env.step(builder.choose(env.state))
            total += reward
        ship = generator.attempt(k, 0)
        assert total == pytest.approx(ship.stats["quality"], abs=1e-6)
        assert total == pytest.approx(env.state.returns, abs=1e-9)
        if ship.valid:
            valid += 1
            assert ship_bytes(game, env.state.row, k) == dump(ship)
    assert valid > seeds // 2


def test_a_new_ship_on_the_same_stream_is_another_ship() -> None:
    stream = new_stream(7)
    first, second = SCOUT.start().settle(stream), SCOUT.start().settle(stream)
    assert first == SCOUT.new(7)
    assert first != second


def test_the_terminal_reward_is_the_quality() -> None:
    dense, terminal = GameEnv(SCOUT, reward="dense"), GameEnv(SCOUT, reward="terminal")
    for env in (dense, terminal):
        env.reset(seed=3)
    total, over = 0.0, False
    while not over:
        action = int(np.argmax(dense.action_masks()))
        _, reward, over, _, _ = dense.step(action)
        _, last, over_too, _, _ = terminal.step(action)
        total += reward
        assert over_too == over
        assert (last != 0.0) <= over
    assert last == pytest.approx(total, abs=1e-9)


def test_the_maps_show_the_ship() -> None:
    env = GameEnv(SCOUT)
    naive, rng = Twin(SCOUT.options), np.random.default_rng(0)
    obs, info = env.reset(seed=5)
    over = False
    while not over:
        assert isinstance(obs, dict)
        position = naive.read(str(env.state))
        maps = dict(zip(CHANNELS, obs["grid"], strict=True))
        cockpit = {c for c, k in position.room.items() if position.parts[k][0] == "C"}
        cells = {
            "hull": position.hull,
            "armour": position.armour,
            "corridor": {c for c in position.hull if position.is_floor(c)},
            "cockpit": cockpit,
            "legal": {tuple(map(int, name[:-1].split(","))) for name in naive.legal(position)},
        }
        for name, expected in cells.items():
            assert {(int(x), int(y)) for y, x in np.argwhere(maps[name])} == set(expected), name
        steps = position.steps(cockpit, 47)
        found = {(int(x), int(y)): v for (y, x), v in np.ndenumerate(maps["steps_from_cockpit"]) if v < 1}
        assert found == pytest.approx({c: n / 48 for c, n in steps.items()})
        obs, _, over, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_batch_tells_what_single_environments_tell(mode: str) -> None:
    """The request at every step; quality, terms and reasons where an episode ends."""
    batch = GameVectorEnv(3, SCOUT, autoreset_mode=mode)
    singles = SyncVectorEnv([partial(GameEnv, SCOUT)] * 3, autoreset_mode=AutoresetMode(mode))
    told: tuple[Any, ...] = batch.reset(seed=2)
    assert_same(told, singles.reset(seed=2))
    rng, ends = np.random.default_rng(0), 0
    while ends < 4:
        mask = told[-1]["action_mask"]
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        told = batch.step(actions)
        assert_same(told, singles.step(actions))
        ends += int(told[2].sum())


def test_the_end_tells_how_the_ship_has_turned_out() -> None:
    env, ends = GameEnv(SCOUT), {True: 0, False: 0}
    for seed in range(12):
        _, info = env.reset(seed=seed)
        builder, over, total = HandBuilder(seed), False, 0.0
        while not over:
            assert set(info) == {"action_mask", "request"}
            part, _, facing = info["request"].partition(" ")
            letters = str(env.state).split("next=")[1].split(",")[0].split()[0]
            assert letters == LETTER[part] + (facing[:1].upper() if facing else "")
            _, reward, over, _, info = env.step(builder.choose(env.state))
            total += reward
        assert info["request"] == ""
        assert info["quality"] == pytest.approx(total, abs=1e-6)
        ship = Generator("scout").attempt(seed, 0)
        assert info["reasons"] == ship.reasons
        assert info["terms"] == pytest.approx({name: ship.stats[name] for name in TERMS})
        if not info["reasons"]:
            weighted = sum(w * x for w, x in zip(TERM_WEIGHTS, info["terms"].values(), strict=True))
            assert info["quality"] == pytest.approx(weighted, abs=1e-5)
        ends[not info["reasons"]] += 1
    assert ends[True]


def test_places_are_those_of_the_row_that_is_asked_about() -> None:
    """The room remembers the last row's places: a row that changes, in place or for another, is searched anew."""
    game, T, A = SCOUT, SCOUT.tables(), np.zeros(SCOUT.max_actions, dtype=np.int64)
    first = GameEnv(game)
    _, info = first.reset(seed=3)
    S, expected = game.rows(2), []
    for turn in range(4):
        S[turn % 2] = first.state.row
        for i in (np.uint64(0), np.uint64(1)) if turn else (np.uint64(0),):
            fresh = game.tables()
            assert_same(A[: game.rules.legal_actions(S, i, A, T)].copy(), A[: game.rules.legal_actions(S, i, A, fresh)])
        expected.append(info["action_mask"].nonzero()[0])
        assert_same(A[: game.rules.legal_actions(S, np.uint64(turn % 2), A, T)], expected[-1])
        _, _, _, _, info = first.step(int(expected[-1][0]))
    assert len({places.tobytes() for places in expected}) == 4
