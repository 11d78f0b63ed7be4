"""The whole of `check_game`: three builds, a twin, and one clear line for what cannot be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import leafwise
from games import coins, planted, solitaire
from leafwise.envs.core.check.checking import INSIDE, Checked, check_game
from leafwise.envs.core.check.door import arrays_of
from twins.solitaire import Twin


@pytest.mark.long
def test_a_sound_game_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = leafwise.check_game(coins.GAME, seconds=1, twin=coins.GAME, positions=["1 2 2 0"])
    assert found.positions > 30
    assert capsys.readouterr().out == f"{found}\n" == f"ok, {found.positions:,} positions\n"


class WrongTwin(Twin):
    """A solitaire in which a card that fits may not be discarded."""

    def legal(self, p: Any) -> list[str]:
        names = super().legal(p)
        return [name for name in names if name != "discard"] or names


def test_a_twin_that_says_otherwise() -> None:
    said = r"^solitaire: legal_actions: expected \[.*\] as the twin says, got \['discard', .*\], at 'deck="
    with pytest.raises(leafwise.ContractError, match=said):
        check_game(solitaire.GAME, seconds=1, twin=WrongTwin(solitaire.GAME.options))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seconds": 0}, "check_game: expected seconds of 0.1 to 1,000,000, got 0"),
        ({"seconds": float("nan")}, "check_game: expected seconds of 0.1 to 1,000,000, got nan"),
        ({"gigabytes": 0.1}, "check_game: expected gigabytes of 0.5 to 1,000,000, got 0.1"),
        ({"call_seconds": "1"}, "check_game: expected call_seconds of 0.1 to 1,000,000, got '1'"),
        ({"twin": 3}, "check_game: expected a twin, a Game or an object with read, got int"),
        (
            {"positions": ["none"]},
            "coins: parse: expected a position, got 'none': coins: expected four numbers, got 'none'",
        ),
    ],
)
def test_wrong_arguments_get_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace("(", r"\(")):
        check_game(coins.GAME, **wrong)
    with pytest.raises(ValueError, match=r"^check_game: expected a Game, got str"):
        check_game("coins")  # type: ignore[arg-type]


def test_a_process_that_checks_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "1")
    assert check_game(planted.GAMES["descending"]) == Checked(0)


def test_a_contract_error_is_a_value_error() -> None:
    assert issubclass(leafwise.ContractError, ValueError)
    with pytest.raises(ValueError, match="holds under a name"):
        check_game(replace(coins.GAME, title="another"))


class Nested(NamedTuple):
    pair: Any
    leaf: Any


def test_every_array_of_the_tables_is_looked_at() -> None:
    first, second, third = (np.zeros(n) for n in (1, 2, 3))
    found = list(arrays_of(Nested((first, second), Nested(third, 4))))
    assert [path for path, _ in found] == ["pair", "pair", "leaf.pair"]
    assert [array.size for _, array in found] == [1, 2, 3]
