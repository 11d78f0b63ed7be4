"""Which rows and texts are positions of Friday."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.arrays import Words
from leafwise.envs.core.check.walk import altered_row
from leafwise.envs.core.contract.state import reads_back
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.friday import GAME, valid
from leafwise.envs.friday.text import parse_row, to_text

ROW = np.uint64(0)
FIGHT = (
    "turn=fight phase=green life=20 pirates=P3,P7 stack=S1*2,S2*7,S3*3,S4,S5 discard=G1 hazards=W1,W3*2 away=W1 "
    "aging=G2*2,D1 active=N1 left=S2,S1*2,W8 free=3"
)
SORTS = "ability=sort acting=left:F4 left=F4!"
PIRATE = "phase=pirates active= hazards=none fought=P3"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("life=23", "LIFE"),
        ("stack=S1*2 bottom=S2,S2,S2,S2,S2,S2 left=W7,W10,E5,E8", "KNOWABLE"),
        ("left=S1!", "USED"),
        ("left=S1^E7,S2^E7,E7!", "SOURCES"),
        ("left=S1^E7", "AT_WORK"),
        ("pirates=P3", "TWO_PIRATES"),
        ("phase=pirates fought=P3 beaten=P3", "APART"),
        ("fought=P3", "IN_PIRATES"),
        ("debt=1", "DEBT"),
        ("lowered=W9", "LOWERED"),
        ("ability=draw", "TOGETHER"),
        ("points=2", "REMOVING"),
        ("ability=copy acting=left:W7", "ACTING"),
        ("ability=draw acting=left:W8 left=W8!", "ABLE"),
        ("look=W10", "LOOKS"),
        ("turn=choose", "NO_FIGHT"),
        ("turn=hazard phase=pirates left= free=", "TO_COME"),
        ("turn=hazard active=W5,N1 left= free=", "REVEALED"),
        ("turn=pirate pirates= active= left= free= aging=none", "AT_START"),
        ("turn=choose left= free=", "TO_CHOOSE"),
        ("turn=won left= free=", "BEATEN"),
        ("turn=remove", "LEFT_ALONE"),
        ("active=", "FOUGHT"),
        (PIRATE.replace("none", "W1"), "NONE_TO_COME"),
        ("turn=target", "NEEDS_ABILITY"),
        ("ability=destroy acting=left:W8 left=W8!", "NO_ABILITY"),
        ("steps=1", "NO_STEPS"),
        ("turn=target ability=destroy acting=left:W8 left=S2,W8! steps=1", "STEPS"),
        ("turn=offer ability=draw steps=1 acting=left:W3 left=W3! hazards=W1 stack=none aging=none", "TO_DRAW"),
        (f"turn=arrange {SORTS}", "LOOKED"),
        (f"turn=order {SORTS} look=G5,G5", "IN_ORDER"),
        ("turn=card to=setup left= free= active=", "GOES_TO"),
        ("turn=aging to=left", "EMPTY"),
        ("turn=card to=left stack=none", "TO_PICK"),
        (f"{PIRATE} life=0 free=7 left=S2", "TO_DO"),
    ],
)
def test_what_is_wrong_with_a_text_is_told(words: str, name: str) -> None:
    changed = dict(word.split("=") for word in f"{FIGHT} {words}".split())
    expected, _ = valid.FAULTS[getattr(valid, name) - 1]
    message = re.escape(f"friday: expected {expected.format(life=22)}, got '")
    with pytest.raises(ValueError, match=f"^{message}"):
        GAME.parse(" ".join(f"{name}={value}" for name, value in changed.items() if value))


def test_nothing_lies_face_down_where_cards_leave_at_once() -> None:
    with pytest.raises(ValueError, match="expected no cards face-down with destroy='immediate', got 'down=G5'"):
        GAME.variant(destroy="immediate").parse(f"{FIGHT} down=G5")


@pytest.mark.parametrize(
    "options",
    [{}, {"level": 3, "destroy": "immediate"}, {"level": 4, "double_needs_source": False}],
)
def test_a_row_is_a_position_if_its_text_reads_back_as_that_row(
    options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    seed = request.config.getoption("--campaign-seed")
    game, rng, stream = GAME.variant(**options), Random(seed), new_stream(seed)
    T, reads = game.tables(), reads_back(to_text, parse_row)
    rows: list[Words] = []
    while len(rows) < 1000:
        state = game.start()
        while not state.is_terminal:
            rows.append(state.row)
            state = state.sample(stream) if state.is_chance else state.play(rng.choice(state.legal_names))
        rows.append(state.row)
    assert all(valid.is_valid(row[None], ROW, T) for row in rows)
    known, taken = [row.tobytes() for row in rows], 0
    for _ in range(500):
        row = altered_row(rng.choice(rows), known, rng)
        is_position = bool(valid.is_valid(row[None], ROW, T))
        assert is_position == reads(row[None], ROW, T), to_text(row, T)
        taken += is_position
    assert taken > 10
