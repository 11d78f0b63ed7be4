"""Random texts, actions, command lines and files: whatever is read or refused, it is refused in one clear line."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from front.console import Shell, make_shell

import leafwise
from contract.cases import CASES, GAMES, positions
from contract.refusals import ODD, assert_one_clear_line
from leafwise.envs.core.contract.game import Game
from leafwise.envs.starship import CLASSIC, generate, settings
from leafwise.envs.starship import ship as files
from leafwise.models.files import model_path
from leafwise.models.tensors import load_tensors, save_tensors
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.runs.run_options import described, read_options, to_toml
from running.campaign import Campaign, quick


def edited(rng: Random, text: str, letters: list[str], most: int = 4) -> str:
    """Returns a text with up to so many places replaced, cut out or doubled."""
    parts = list(text)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(parts) + 1)
        parts[at : at + rng.randint(0, 3)] = rng.choice([[], [rng.choice(letters)], parts[at : at + 2] * 2])
    return "".join(parts)


@pytest.mark.campaign(whole=100_000)
@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_texts(game: Game, campaign: Campaign) -> None:
    variants = [case for case in CASES if case.name == game.name]
    texts = {case: [str(s) for s in positions(case)] for case in variants}
    letters = [*sorted(set("".join(map("".join, texts.values())))), *ODD, "-", "99"]

    def checks(rng: Random) -> Iterator[None]:
        while True:
            case = rng.choice(variants)
            text = edited(rng, rng.choice(texts[case]), letters)
            quick(partial(assert_one_clear_line, case, text))
            yield

    campaign.run(checks(campaign.rng), "texts")


@pytest.mark.campaign(whole=100_000)
@pytest.mark.parametrize("game", [g for g in GAMES if g.module.startswith("leafwise.")], ids=lambda g: g.name)
def test_actions(game: Game, campaign: Campaign) -> None:
    """An environment takes any number as an action: its episodes end, its observations stay in their space."""

    def checks(rng: Random) -> Iterator[None]:
        while True:
            env: Any = gym.make(f"leafwise/{rng.choice(list(game.ids))}-v0")
            env.reset(seed=rng.randrange(900_000))
            legally, over = rng.random(), False
            while not over:
                mask = env.unwrapped.action_masks()
                action = rng.choice(np.flatnonzero(mask)) if rng.random() < legally else rng.randrange(len(mask))
                obs, reward, terminated, truncated, _ = env.step(action)
                assert env.observation_space.contains(obs)
                assert np.isfinite(float(reward))
                over = terminated or truncated
                yield

    campaign.run(checks(campaign.rng), "actions")


LINES = (
    "games",
    "analyze trilobite ... --depth 2",
    "analyze threes --depth 1 --json",
    "solve cassis --n 5 --moves 0-1,2-3 --json",
    "solve trilobite --moves 121",
    "eval dice greedy --games 2",
    "eval threes random --games 1 --json",
    "arena trilobite random greedy --games 2",
    "play trilobite --assist",
)
"""Command lines to make mistakes in: quick ones, so that one that is still understood costs little."""
WORDS = (
    "", "inf", "1e9", "9" * 20, "9" * 5000, "\ud800", "--table-mb", "--player", "--file", "search:seconds=inf", "rollout:n=-1",
    "search:depth=99999999999999999999", "-1", "0", "nan", "x", "--json", "--depth", "--games", "--seed", "--nonsense",
    "trilobite", "٣", "=", "a:b,c=d",
)  # fmt: skip


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return make_shell(capsys, monkeypatch)


@pytest.mark.campaign(whole=20_000)
def test_command_lines(shell: Shell, campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def checks(rng: Random) -> Iterator[None]:
        while True:
            words = rng.choice(LINES).split()
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(words) + 1)
                words[at : at + rng.randint(0, 1)] = [rng.choice(WORDS)] * rng.randint(0, 1)
            answer = quick(partial(shell, "", *words))
            assert answer.status in (0, 2), (words, answer)
            if answer.status == 2 and words:  # without any it explains itself
                assert answer.error.count("\n") == 1, (words, answer)
            yield

    campaign.run(checks(campaign.rng), "command lines")


def is_read(read: Callable[[], object], said_with: str = "") -> bool:
    """Returns whether something is read; fails if it is not refused with a ValueError of one short line, which has a word."""
    try:
        read()
    except ValueError as problem:
        error = str(problem)
        assert error
        assert said_with in error, error
        assert "\n" not in error, error
        assert len(error) < 600, error
        return False
    return True


@pytest.mark.campaign(whole=5_000)
@pytest.mark.parametrize("name", ["threes-small", "trilobite"])
def test_model_files(name: str, campaign: Campaign, tmp_path: Path) -> None:
    """A file with some bytes changed or cut off gets one line, unless it holds what it held."""
    path = tmp_path / "model.safetensors"
    tensors, metadata = load_tensors(model_path(name))
    save_tensors(path, tensors, metadata)
    whole = path.read_bytes()

    def checks(rng: Random) -> Iterator[None]:
        while True:
            data = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(rng.choice((64, 4000, len(data))))] = rng.randrange(256)
            path.write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
            if quick(partial(is_read, partial(leafwise.load, path), "expected")):
                again, loaded = load_tensors(path)
                assert loaded == metadata
                assert all(np.array_equal(again[name], tensor) for name, tensor in tensors.items())
            yield

    campaign.run(checks(campaign.rng), "files")


NUMBERS = [
    "-1", "1e999", "9" * 400, "nan", "null", "true", '"', "[", "{", "}", "]", ",", ":", "\0", "\udcff", "\u0661", "[" * 99,
]  # fmt: skip


@pytest.mark.campaign(whole=20_000)
@pytest.mark.parametrize("kind", ["ship", "parameters", "options"])
def test_files_of_text(kind: str, campaign: Campaign, tmp_path: Path) -> None:
    """Ship files, their parameters, and the options of runs, with mistakes in them."""
    path = tmp_path / "config.toml"
    whole, read = {
        "ship": (files.dump(generate(3)), lambda text: files.load(text)),
        "parameters": (settings.to_toml(CLASSIC), settings.from_toml),
        "options": (to_toml(described(td.Config(game="threes"))), lambda text: read_options(path, td.Config)),
    }[kind]
    letters = [*sorted(set(whole)), *NUMBERS]

    def checks(rng: Random) -> Iterator[None]:
        while True:
            text = edited(rng, whole, letters)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            quick(partial(is_read, partial(read, text)))
            yield

    campaign.run(checks(campaign.rng), "files")
