"""The building game: its options, the generator's ships, rewards, observations, and the cache of legal places."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import leafwise
from contract.same import assert_same
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.play.gamefile import read_games
from leafwise.envs.starship import CLASSIC, GAME, SCOUT, Generator, Parameters, dump, from_toml, to_toml
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.features import CHANNELS
from leafwise.envs.starship.heuristic_builder import HandBuilder, hand_made_ships
from leafwise.envs.starship.options import Options
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.ship import reported
from leafwise.envs.starship.targets import NAMES, reached_by, read_targets, with_targets
from leafwise.models.files import game_of
from leafwise.models.tensors import save_tensors
from leafwise.training.ppo import ppo
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.run_options import parse_options
from leafwise.web import games
from leafwise.web.requests import GameRequest
from leafwise.web.workers import JobContext
from twins.starship import Twin

ID = "leafwise/StarshipPlace-v0"
TARGETS = {"thrust": 10, "seats": 12, "firepower": {"north": 3, "south": 1}}
SHAPED = ["Shape", "Carve", "Fill Gaps", "Cockpit", "Weapons", "Armour part=cockpit layers=2", "Reactor", "Thrusters"]
LATE = ["Crew", "Ammo Supplies", "Exterior Armour", "Power Storage", "Fill With Armour", "Add Extra Doors"]
LETTER = {part.name: part.letter for part in PARTS}
HULL = [" " * 24] * 4 + [" " * 4 + "." * 15 + " " * 5] * 14 + [" " * 24] * 6


def build(env: GameEnv, seed: int) -> tuple[float, dict[str, Any]]:
    """Builds the hand-made ship of a seed; returns the sum of rewards and the last info."""
    _, info = env.reset(seed=seed)
    builder, total, over = HandBuilder(seed), 0.0, env.state.is_terminal
    while not over:
        assert set(info) == {"action_mask", "request"}
        part, _, facing = info["request"].partition(" ")
        letters = str(env.state).split("next=")[1].split(",")[0].split()[0]
        assert letters == LETTER[part] + (facing[:1].upper() if facing else "")
        _, reward, over, _, info = env.step(builder.choose(env.state))
        total += reward
    assert info["request"] == ""
    return total, info


@pytest.mark.parametrize(
    ("words", "seeds"),
    [
        ({}, 16),
        ({"preset": "classic"}, 4),
        ({"preset": "corvette", "parameters": {"crew": {"min_seats": 14}}}, 4),
        ({"parameters": {"stages": [*SHAPED, *LATE], "carve": {"enabled": True}}}, 4),
        ({"parameters": {"ammo_supplies": {"enabled": False}}, "targets": TARGETS}, 4),
        ({"hull": HULL}, 4),
    ],
    ids=["scout", "classic", "mirrored", "stages", "targets", "hull"],
)
def test_the_hand_made_builder_makes_the_generators_ships(words: dict[str, Any], seeds: int) -> None:
    """Scenario 18: the bytes of `generate`, rewards that add up to the quality, failures that end with 0, and `info`."""
    env, valid, several = GameEnv("starship", **words), 0, 0
    options: Any = env.game.options
    generator = Generator(options.built, hull=words.get("hull"))
    for seed in range(seeds):
        total, info = build(env, seed)
        ship = generator.attempt(seed, 0)
        assert total == pytest.approx(ship.stats["quality"], abs=1e-6)
        assert total == pytest.approx(env.state.returns, abs=1e-9)
        assert info["quality"] == ship.stats["quality"]
        assert info["reasons"] == ship.reasons[:1]
        assert env.game.parse(str(env.state)) == env.state
        if ship.valid:
            valid += 1
            assert info["terms"] == {name: ship.stats[name] for name in TERMS}
            assert dump(reported(env.state.row, env.game.tables().ship, options.built, seed)) == dump(ship)
        qualities, best = hand_made_ships(env.game, seed, 3)
        assert qualities[0] == pytest.approx(total)
        assert (best.is_terminal, best.returns) == (True, qualities.max())
        several += len(set(qualities)) > 1
    assert valid > seeds // 4
    assert several


def test_targets_are_seen_met_and_told() -> None:
    env = GameEnv("starship", targets=TARGETS)
    obs, _ = env.reset(seed=3)
    assert isinstance(obs, dict)
    assert obs["vec"].shape == (62,)
    asked = [0.1, 0.06, 0.08, 0.06, 0, 0.02, 0]
    np.testing.assert_allclose(obs["vec"][48:], [*asked, *[0] * 7], rtol=1e-6)
    for seed in range(8):
        total, info = build(env, seed)
        assert info["targets"] == dict(zip(NAMES, (10, 12, 4, 3, 0, 1, 0), strict=True))
        last = env._see()  # the observation of the finished ship
        assert isinstance(last, dict)
        reached = [info["reached"][name] for name in NAMES]
        np.testing.assert_allclose(last["vec"][55:] * [100, 200, *[50] * 5], reached, rtol=1e-5)
        assert (total > 0) == (not info["reasons"])
        if not info["reasons"]:
            exact = {name: count for name, count in info["reached"].items() if name != "seats"}
            assert exact == {name: count for name, count in info["targets"].items() if name != "seats"}
            assert 12 <= info["reached"]["seats"] <= 17
            ship = Generator(env.game.options.built).attempt(seed, 0)
            assert info["reached"] == reached_by(ship)


def test_only_what_is_asked_for_is_told() -> None:
    with pytest.raises(ValueError, match="expected nothing after hand, got 'x'"):
        leafwise.player("hand:x", GAME)
    env = GameEnv("starship", targets={"thrust": 9})
    _, info = build(env, 1)
    assert info["targets"] == {"thrust": 9}
    assert set(info["reached"]) == {"thrust"}
    assert "targets" not in build(GameEnv("starship"), 1)[1]


def test_the_environment_checker_of_gymnasium_passes() -> None:
    made = gym.make(ID, targets={"thrust": 9, "firepower": 4}, disable_env_checker=True)
    check_env(made.unwrapped, skip_render_check=True)
    batch = gym.make_vec(ID, num_envs=2, targets={"thrust": 9})
    assert batch.reset(seed=1)[0]["vec"].shape == (2, 62)


def test_parameters_in_every_form_are_one_variant(tmp_path: Path) -> None:
    changes = {"preset": "classic", "crew": {"min_seats": 30}}
    file, other = tmp_path / "ship.toml", tmp_path / "short.toml"
    wanted = from_toml('preset = "classic"\n[crew]\nmin_seats = 30\n')
    file.write_text(to_toml(wanted))
    other.write_text("[crew]\nmin_seats = 30\n")
    given = [changes, json.dumps(changes), str(file), file, wanted]
    games = [leafwise.game("starship", parameters=form) for form in given]
    games.append(leafwise.game("starship", preset="classic", parameters=str(other)))
    assert {game.options for game in games} == {Options("classic", '{"crew":{"min_seats":30}}')}
    assert games[0].options.built == wanted
    assert leafwise.game("starship", parameters=SCOUT) == GAME
    assert leafwise.game("starship", preset="scout", parameters=str(other)).options.built.grid == 24
    named = leafwise.game("starship", parameters={"preset": "tug", "grid": 40})
    assert (named.options.preset, named.options.built.preset, named.options.built.grid) == ("classic", "tug", 40)
    for game in (*games, named):
        assert game.variant() == leafwise.game("starship", **game.given_options)


def test_hulls_in_every_form_are_one_variant(hull_file: Path) -> None:
    mask = np.array([[c == "." for c in line] for line in HULL])
    games = [leafwise.game("starship", hull=form) for form in (HULL, mask, str(hull_file), hull_file)]
    games.append(leafwise.game("starship", hull=games[0].options.hull))
    assert len(set(games)) == 1
    start = games[0].start()
    assert not start.is_chance
    assert [line.count(".") for line in start.board().splitlines()].count(15) == 14


@pytest.fixture
def hull_file(tmp_path: Path) -> Path:
    """A hull in a file."""
    file = tmp_path / "hull.txt"
    file.write_text("\n".join(line.rstrip() for line in HULL))
    return file


def model_of(options: dict[str, Any], folder: Path) -> Game:
    """Returns the game that a model's metadata names."""
    save_tensors(folder / "model.safetensors", {"w": np.zeros(1)}, {"game": "starship", "options": options})
    return game_of(folder / "model.safetensors")


OTHERS: dict[str, Callable[[dict[str, Any], Path], Game]] = {
    "a game's text": lambda options, _: next(read_games(f'[Game "starship"]\n[Options {json.dumps(options)}]\n')).game,
    "a model": model_of,
    "a run": lambda options, _: find_variant("starship", ",".join(f"{name}={text}" for name, text in options.items())),
    "a request": lambda options, _: games.need_game(
        GameRequest(game="starship", options=options), JobContext(lambda message: None)
    ),
    "a variant": lambda options, _: GAME.variant(**options),
}
"""Where others say what the options of a game are."""


@pytest.mark.parametrize("where", OTHERS)
@pytest.mark.parametrize("option", ["hull", "parameters"])
def test_options_that_others_tell_open_no_file(
    where: str, option: str, hull_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "touch", lambda game: None)
    hull_file.with_name("ship.toml").write_text('preset = "classic"\n')
    path = hull_file if option == "hull" else hull_file.with_name("ship.toml")
    for name in (str(path), "/proc/kmsg", "no.txt"):
        with pytest.raises(ValueError, match=rf"expected {option} in .*, got '{re.escape(name)[:60]}") as caught:
            OTHERS[where]({option: name}, hull_file.parent)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("where", OTHERS)
def test_options_that_others_tell_hold_the_content(
    where: str, hull_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "touch", lambda game: None)
    wanted = leafwise.game(
        "starship", hull=hull_file, parameters={"crew": {"min_seats": 3}, "max_attempts": 2, "grid": 24}
    )
    assert OTHERS[where](wanted.given_options, hull_file.parent) == wanted


def test_a_command_line_names_files_and_a_run_keeps_what_they_say(hull_file: Path) -> None:
    words = ["--game", "starship", "--variant", f"hull={hull_file}", "--run", "x"]
    config, _ = parse_options(ppo.Config, words, "train")
    assert find_variant("starship", config.variant) == leafwise.game("starship", hull=hull_file)
    config, _ = parse_options(ppo.Config, ["--game", "trap", "--variant", "size=3,max_turns=none"], "train")
    assert config.variant == "size=3,max_turns=none"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero", "x\0"):
        with pytest.raises(ValueError, match="starship: expected hull as the path of a file, got "):
            leafwise.game("starship", hull=str(path))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"preset": "tug"}, "expected preset among classic, scout, cruiser, corvette, frigate, got 'tug'"),
        ({"targets": {"speed": 3}}, "expected targets among thrust, seats, firepower, got 'speed'"),
        ({"targets": {"thrust": -1}}, "expected thrust of 0 to 100, got -1"),
        ({"targets": {"thrust": True}}, "expected thrust of 0 to 100, got True"),
        ({"targets": {"seats": 1.5}}, "expected seats of 0 to 200, got 1.5"),
        ({"targets": {"firepower": {"up": 1}}}, "expected firepower among north, east, south, west, got 'up'"),
        ({"targets": {"firepower": {"north": 30, "west": 30}}}, "expected firepower in all of 0 to 50, got 60"),
        ({"targets": "thrust=40"}, "expected targets like {\"thrust\": 40}, got 'thrust=40'"),
        ({"targets": [1]}, 'expected targets like {"thrust": 40}, got [1]'),
        ({"parameters": "no.toml"}, "expected parameters as the path of a file, got 'no.toml'"),
        ({"parameters": 3}, "expected parameters as a mapping, JSON or TOML, got 3"),
        ({"parameters": "{"}, "expected parameters as JSON, got '{'"),
        ({"parameters": {"crew": {"min_seats": -1}}}, "expected crew.min_seats as an integer from 0 to 1000, got -1"),
        ({"parameters": {"engines": {}}}, "expected a field of parameters among "),
        ({"parameters": {"shape": {"enabled": False}}}, "expected a hull if the stage Shape does not run, got none"),
        ({"parameters": {"stages": ["Shape", "Crew", "Crew"]}}, "expected each stage that places parts once where"),
        ({"hull": "no.txt"}, "expected hull as the path of a file, got 'no.txt'"),
        ({"hull": ["..."]}, "expected a hull of 24 by 24 cells, got shape (1, 3)"),
        ({"hull": 7}, "expected hull as booleans, rows of text or run lengths, got 7"),
    ],
)
def test_wrong_values_get_one_line(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^starship: ") as caught:
        gym.make(ID, **words)
    assert str(caught.value).startswith(f"starship: {message}")
    assert "\n" not in str(caught.value)


def test_targets_become_what_the_stages_ask_for() -> None:
    parameters = with_targets(CLASSIC, {"thrust": 40, "seats": 48, "firepower": {"north": 6, "west": 2}})
    assert (parameters.thrusters.min_score, parameters.thrusters.max_score, parameters.crew.min_seats) == (40, 40, 48)
    weapons = parameters.weapons
    assert (weapons.min_score, weapons.max_score) == (8, 8)
    assert [weapons.most_north, weapons.most_east, weapons.most_south, weapons.most_west] == [6, 0, 0, 2]
    assert with_targets(CLASSIC, {}) == CLASSIC
    assert with_targets(CLASSIC, {"firepower": {}}).weapons.max_score == 0
    assert parameters.stages.index("Weapons") == parameters.stages.index("Thrusters") - 1
    assert with_targets(CLASSIC, {"firepower": 9}).stages == ()
    assert isinstance(parameters, Parameters)
    assert list(read_targets('{"seats": 3, "thrust": 4}')) == ["thrust", "seats"]


def test_a_new_ship_on_the_same_stream_is_another_ship() -> None:
    stream = new_stream(7)
    first, second = GAME.start().settle(stream), GAME.start().settle(stream)
    assert first == GAME.new(7)
    assert first != second


def test_the_terminal_reward_is_the_quality() -> None:
    dense, terminal = GameEnv(GAME, reward="dense"), GameEnv(GAME, reward="terminal")
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
    env = GameEnv(GAME)
    naive, rng = Twin(GAME.options), np.random.default_rng(0)
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
        shares = {(int(x), int(y)): v for (y, x), v in np.ndenumerate(maps["steps_from_cockpit"]) if v < 1}
        assert shares == pytest.approx({c: n / 48 for c, n in steps.items()})
        obs, _, over, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_batch_tells_what_single_environments_tell(mode: str) -> None:
    """The request at every step; quality, terms and reasons at the end of an episode."""
    batch = GameVectorEnv(3, GAME, autoreset_mode=mode)
    singles = SyncVectorEnv([partial(GameEnv, GAME)] * 3, autoreset_mode=AutoresetMode(mode))
    result: tuple[Any, ...] = batch.reset(seed=2)
    assert_same(result, singles.reset(seed=2))
    rng, ends = np.random.default_rng(0), 0
    while ends < 4:
        mask = result[-1]["action_mask"]
        actions = (rng.random(mask.shape) * mask).argmax(axis=1)
        result = batch.step(actions)
        assert_same(result, singles.step(actions))
        ends += int(result[2].sum())


def test_places_are_those_of_the_row_that_is_asked_about() -> None:
    """The room stores the last row's places: for a row that changes, in place or for another, they are computed again."""
    game, T, A = GAME, GAME.tables(), np.zeros(GAME.max_actions, dtype=np.int64)
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
