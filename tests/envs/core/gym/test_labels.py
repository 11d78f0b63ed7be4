"""What is said of every number of an observation is so: counted, and tried by changing one thing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.observation import new_observations
from leafwise.envs.friday import layout
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_KNOWLEDGE
from leafwise.envs.starship.tables import PARTS_PLACED

VARIANTS = [(name, short) for name in leafwise.games() for short in leafwise.game(name).ids]


def names(game: leafwise.Game, key: str = "") -> list[str]:
    """Returns the names of all entries of an observation, or of one of its arrays."""
    assert game.observation.labels is not None
    return [name for group in game.observation.labels(game.options)[key] for name in group.names]


def seen(state: State, row: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Returns the observation of a state, or of a row of its game, as one array."""
    game = state.game
    obs = new_observations(game, 1)
    game.rules.observe((state.row if row is None else row)[None].copy(), u64(0), obs, 0, game.tables())
    return np.asarray(obs[0], dtype=np.float64)


def moved(state: State, other: NDArray[np.float64]) -> set[str]:
    """Returns the names of the entries in which the state differs from another observation."""
    differs = (seen(state) != other).reshape(len(other), -1).any(axis=1)
    return {name for name, changed in zip(names(state.game), differs, strict=True) if changed}


@pytest.mark.parametrize(("name", "short"), VARIANTS, ids=[short for _, short in VARIANTS])
def test_every_number_has_a_name(name: str, short: str) -> None:
    game = leafwise.game(name)
    variant = game.variant(**game.ids[short])
    space, labels = variant.observation_space(), variant.observation.labels
    assert labels is not None
    boxes: Any = dict(space.items()) if hasattr(space, "items") else {"": space}
    assert set(labels(variant.options)) == set(boxes)
    for key, box in boxes.items():
        found = names(variant, key)
        assert len(found) == len(set(found)) == box.shape[0]
        assert all(group.meaning for group in labels(variant.options)[key])


THREES = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (THREES.replace(" 6/", " 3/"), {"row 1, column 4"}),
        (THREES.replace("/2 0", "/0 2"), {"row 4, column 1", "row 4, column 2"}),
        (THREES.replace("next=1", "next=+"), {"tile shown"}),
        (THREES.replace("deck=0", "deck=1"), {"1s"}),
        (THREES.replace("0,2,1", "0,1,2"), {"2s", "3s"}),
    ],
)
def test_threes(text: str, names: set[str]) -> None:
    game = leafwise.game("threes")
    assert moved(game.parse(THREES), seen(game.parse(text))) == names


def test_trilobite() -> None:
    start = leafwise.game("trilobite").new(0).play("1")
    assert moved(start.play("2"), seen(start.play("3"))) == {"row 3, column 2", "row 3, column 3"}


def test_cassis() -> None:
    start = leafwise.game("cassis").new(0).play("0-1")
    assert moved(start.play("0-2"), seen(start.play("3-4"))) == {"edge 0-2", "edge 3-4"}


def test_trap() -> None:
    start = leafwise.game("trap").new(0)
    assert moved(start, seen(start.play("S"))) == {"own cell", "throw due"}
    thrown = start.play("S").play("3,3")
    landings = [outcome for _, outcome in thrown.outcomes()]
    assert moved(landings[0], seen(landings[1])) == {"traps"}


def test_friday() -> None:
    """Every field of a row, changed alone, moves the number that is called after it."""
    state = leafwise.game("friday").new(3)
    before, kinds = seen(state), [card.name for card in CARDS]

    def change(word: int, at: int) -> set[str]:
        row = state.row.copy()
        row[word] ^= u64(1) << u64(at)
        return moved(state, seen(state, row))

    assert moved(state, before) == set()
    for kind, name in enumerate(kinds):
        shift = layout.SHIFTS[kind]
        assert change(layout.STACK, shift) == {f"stack {name}"}
        assert change(layout.DISCARD, shift) == {f"discard {name}"}
        derived = {"total", "free cards", "hazard value"}
        for word, pile in ((layout.LEFT, "left"), (layout.RIGHT, "right"), (layout.LEFT_USED, "left used")):
            assert change(word, shift) - derived == {f"{pile} {name}"}
        if FIRST_KNOWLEDGE <= kind < FIRST_AGING:
            place = shift - int(layout.HAZARD_SHIFT)
            assert change(layout.HAZARDS, place) == {f"hazard stack {name}"}
            assert change(layout.HAZARDS, place + int(layout.AWAY_AT.shift)) == {f"hazard discard {name}"}
        elif kind >= FIRST_AGING:
            place = shift - int(layout.AGING_SHIFT) + int(layout.AGING_AT.shift)
            assert change(layout.STATUS, place) == {f"aging pile {name}"}
    for k in range(10):
        called = f"bottom {k + 1}" if k < 7 else f"top {k - 6}"
        assert change(layout.KNOWN, 6 * k) == {called}
    for k in range(6):
        assert change(layout.DOUBLED, 10 * k + 4) >= {f"doubled {k + 1}"}
    for field, name in (
        (layout.FREE_AT, "free draws made"),
        (layout.USES_AT, "abilities used"),
        (layout.POINTS_AT, "removal points"),
    ):
        assert name in change(int(field.word), int(field.shift))
    assert change(layout.STATUS, int(layout.LIFE_AT.shift)) == {"life"}
    assert "phase" in change(layout.STATUS, int(layout.PHASE_AT.shift))
    assert change(layout.STATUS, int(layout.HAZARD_AT.shift)) >= {"first hazard"}


def test_starship() -> None:
    env = GameEnv("starship")
    called = names(env.game, "vec")
    obs, info = env.reset(seed=5)
    over = False
    while not over:
        assert isinstance(obs, dict)
        vec = dict(zip(called, obs["vec"].tolist(), strict=True))
        part, _, facing = info["request"].partition(" ")
        wanted = [f"requested {part}"] + ([f"facing {facing}"] if facing else [])
        assert [name for name in called[:15] if vec[name]] == wanted
        assert vec["parts placed"] == pytest.approx(min(1.0, int(env.state.row[PARTS_PLACED]) / 60), abs=1e-6)
        assert vec["hull area"] == pytest.approx(obs["grid"][0].sum() / obs["grid"][0].size)
        assert vec["unused"] == 0
        after = [name.removeprefix("next ") for name in called[15:26] if vec[name]]
        obs, _, over, _, info = env.step(int(np.argmax(info["action_mask"])))
        if after and info["request"] and vec["stage"] == pytest.approx(float(obs["vec"][37])):
            assert info["request"].partition(" ")[0] in (
                *after,
                *(n.removeprefix("after next ") for n in called[26:37] if vec[n]),
            )
