"""`render_mode="human"`: with pygame if it is installed, otherwise with a stand-in that is as strict as pygame."""

from __future__ import annotations

import copy
import importlib.util
import sys
import types
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import render_test

import leafwise
from leafwise.envs.core.gym.env import GameEnv


class StandIn(types.ModuleType):
    """The part of pygame that a window needs; refuses what pygame refuses."""

    def __init__(self) -> None:
        super().__init__("pygame")
        self.shown: list[np.ndarray[Any, Any]] = []
        self.open, self.started, self.ticks, self.captions = False, False, 0, list[str]()
        self.display = self.surfarray = self.event = self.time = self

    def init(self) -> None:
        self.started = True

    def quit(self) -> None:
        self.started = self.open = False

    def set_mode(self, size: tuple[int, int]) -> StandIn:
        assert self.started, "video system not initialized"
        assert all(type(length) is int and length > 0 for length in size)
        self.size, self.open = size, True
        return self

    def set_caption(self, title: str) -> None:
        self.captions.append(title)

    def get_size(self) -> tuple[int, int]:
        return self.size

    def blit_array(self, surface: StandIn, array: np.ndarray[Any, Any]) -> None:
        assert surface.open, "display Surface quit"
        assert array.shape == (*self.size, 3), "Array must match surface dimensions"
        assert array.dtype == np.uint8
        self.drawn = array.transpose(1, 0, 2).copy()

    def pump(self) -> None:
        assert self.started, "video system not initialized"

    def flip(self) -> None:
        assert self.open, "Display mode not set"
        self.shown.append(self.drawn)

    def Clock(self) -> StandIn:  # noqa: N802
        return self

    def tick(self, fps: int) -> None:
        assert fps > 0
        self.ticks += 1


@pytest.fixture
def pygame(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setitem(sys.modules, "pygame", stand_in)
    return stand_in


def test_a_window_shows_every_position(pygame: StandIn) -> None:
    env = gym.make("leafwise/Threes-v0", render_mode="human")
    _, info = env.reset(seed=1)
    pictures = [env.unwrapped.state.rgb()]  # type: ignore[attr-defined]
    for _ in range(3):
        _, _, _, _, info = env.step(int(info["action_mask"].argmax()))
        pictures.append(env.unwrapped.state.rgb())  # type: ignore[attr-defined]
    assert env.render() is None
    pictures.append(pictures[-1])
    assert len(pygame.shown) == pygame.ticks == len(pictures)
    for shown, picture in zip(pygame.shown, pictures, strict=True):
        np.testing.assert_array_equal(shown, picture)
    assert pygame.captions == [leafwise.game("threes").title]
    env.close()
    assert not pygame.open
    env.close()  # closing twice is nothing


def test_a_copy_opens_a_window_of_its_own(pygame: StandIn) -> None:
    env = GameEnv("threes", render_mode="human")
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    shown = len(pygame.shown)
    twin.step(int(twin.action_masks().argmax()))
    assert len(pygame.shown) == shown + 1


@pytest.mark.parametrize("env_id", ["leafwise/Threes-v0", "leafwise/Trap-v0"])
def test_gymnasiums_check_renders_in_every_mode(pygame: StandIn, env_id: str) -> None:
    check_env(gym.make(env_id).unwrapped)
    assert pygame.shown


@pytest.mark.parametrize("name", ["threes", "trap"])
def test_pettingzoos_render_test_passes(pygame: StandIn, name: str) -> None:
    render_test(lambda render_mode: leafwise.aec(name, render_mode=render_mode))
    assert len(pygame.shown) > 4


@pytest.mark.parametrize(
    "make", [GameEnv, leafwise.aec, lambda game, **k: gym.make("leafwise/Threes-v0", **k)], ids=["env", "aec", "make"]
)
def test_without_pygame_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    message = r"^threes: expected pygame for render_mode 'human', found none: pip install 'leafwise\[human\]'"
    with pytest.raises(gym.error.DependencyNotInstalled, match=message):
        make("threes", render_mode="human")


@pytest.mark.skipif(importlib.util.find_spec("pygame") is None, reason="pygame is not installed")
def test_a_real_window_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pygame's own, of what it imports
        import pygame as real
    env = GameEnv("threes", render_mode="human")
    env.reset(seed=1)
    assert real.display.get_surface().get_size() == env.state.rgb().shape[1::-1]
    np.testing.assert_array_equal(
        real.surfarray.array3d(real.display.get_surface()).transpose(1, 0, 2), env.state.rgb()
    )
    env.close()
