"""An evaluator that says what cannot be is refused when it is made."""

from __future__ import annotations

from typing import Any

import pytest

from leafwise.authoring import Evaluator, Speed, jit


@jit
def value(S, i, T):
    return 0.0


@jit
def sibling_values(S, k, o, end, M, P, T):
    return 0


TOGETHER = Speed(sibling_values=sibling_values)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 0.0}, "expected both of low and high or none"),
        ({"value": None}, "expected a value, a batch or both, got none"),
        ({"speed": TOGETHER, "to_go": True}, "expected sibling_values beside a value that is not to_go"),
        (
            {"speed": TOGETHER, "value": None, "batch": lambda rows, T: rows[:, 0]},
            "expected sibling_values beside a value that is not to_go",
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^evaluator 'leaf': {message}$"):
        Evaluator("leaf", **{"value": value, **given})


def test_speed_is_optional() -> None:
    assert Evaluator("leaf", value).speed == Speed(None, None, False)
