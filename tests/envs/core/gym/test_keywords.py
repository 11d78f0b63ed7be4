"""Every option of environments stands twice: in `EnvOptions`, and with the same type and default in the signatures that take it."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode

import leafwise
from games import dice
from leafwise.envs.core.fields import docs_of, types_of
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.env_page import every_keyword
from leafwise.envs.core.gym.keywords import EnvOptions, Kind, fields_of
from leafwise.envs.core.gym.stepper import _rebuild
from leafwise.envs.core.gym.vector import GameVectorEnv

ROOT = Path(__file__).resolve().parents[4]
THREES = leafwise.game("threes")
SPEC = gym.spec("leafwise/Threes-v0")
assert SPEC.entry_point is not None
assert SPEC.vector_entry_point is not None
SIGNATURES: dict[str, tuple[Any, Kind]] = {
    "GameEnv": (GameEnv, "single"),
    "GameVectorEnv": (GameVectorEnv, "batch"),
    "aec": (leafwise.aec, "turns"),
    "make": (load_env_creator(SPEC.entry_point), "single"),  # type: ignore[arg-type]
    "make_vec": (load_env_creator(SPEC.vector_entry_point), "batch"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("which", SIGNATURES)
def test_signatures_and_options_are_the_same(which: str) -> None:
    call, kind = SIGNATURES[which]
    keywords = [p for p in inspect.signature(call).parameters.values() if p.kind is p.KEYWORD_ONLY]
    types = types_of(EnvOptions)
    told = [(one.name, types[one.name], one.default) for one in fields_of(kind)]
    assert [(p.name, p.annotation, p.default) for p in keywords] == told


def test_every_option_is_explained() -> None:
    docs = docs_of(EnvOptions)
    assert list(docs) == [one.name for one in fields(EnvOptions)]
    for environment, kind in ((GameEnv, "single"), (GameVectorEnv, "batch")):
        for one in fields_of(kind):  # type: ignore[arg-type]
            assert f"        {one.name}: {docs[one.name].splitlines()[0]}" in str(environment.__doc__)


def test_the_documentation_has_the_table_of_keywords() -> None:
    text = (ROOT / "docs/howto/environments.md").read_text(encoding="utf-8")
    assert f"\n{every_keyword()}\n" in text


def test_a_default_says_what_it_is_in_a_game() -> None:
    def made(game: leafwise.Game, kind: Kind) -> EnvOptions:
        return EnvOptions().checked(game, kind)

    assert made(THREES, "single") == EnvOptions(None, "score", "noop", "greedy")
    assert [made(game, "batch").illegal for game in (THREES, dice.GAME)] == ["noop", "lose"]
    assert [made(game, "turns").illegal for game in (THREES, dice.GAME)] == ["lose", "lose"]
    assert EnvOptions(autoreset_mode="SAME_STEP").checked(THREES, "batch").autoreset_mode is AutoresetMode.SAME_STEP
    plies = EnvOptions(plies=np.uint8(3)).checked(THREES, "single").plies  # type: ignore[arg-type]
    assert (plies, type(plies)) == (3, int)


@pytest.mark.parametrize("name", ["seat", "plies", "autoreset_mode"])
def test_none_is_no_value_of_an_option_with_another_default(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^dice: expected {name} .*, got None$"):
        EnvOptions(**{name: None}).checked(dice.GAME, "batch")  # type: ignore[arg-type]


def test_compiled_code_sees_numbers() -> None:
    given = EnvOptions(illegal="raise", seat="random", autoreset_mode="Disabled", max_episode_steps=9, plies=4)
    numbers = {"illegal": 2, "seat": 2, "autoreset_mode": 0, "max_episode_steps": 9, "plies": 4}
    assert given.checked(dice.GAME, "batch").compiled()._asdict() == numbers
    assert pickle.loads(pickle.dumps(given.checked(dice.GAME, "batch").compiled())).plies == 4


def test_an_environment_that_an_older_version_pickled_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^threes: expected an environment pickled by this version of leafwise, got "):
        _rebuild(THREES, 1, {"plies": 0}, {})  # type: ignore[arg-type]
