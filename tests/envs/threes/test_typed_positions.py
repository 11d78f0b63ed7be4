"""Threes positions as a person types them: what is accepted, and the one-line message for anything else."""

from __future__ import annotations

import re

import pytest

import leafwise

THREES = leafwise.game("threes")
OPEN = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0"
FIELDS, THREE_1S = "fields among next, deck, move, lanes, start, slot, each once", "at most three 1s in the deck"
SMALL = "24 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0"


def test_what_is_left_out_is_a_full_deck_and_a_draw() -> None:
    assert str(THREES.parse(OPEN)) == f"{OPEN} deck=4,4,4"
    assert THREES.parse(OPEN).stage == "draw"
    assert str(THREES.parse(f" {OPEN.replace('/', ' / ')}  deck=1,2,3 next=+ ")) == f"{OPEN} next=+ deck=1,2,3"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected 4 rows separated by '/', got 1 in ''"),
        ("1 2 3/1 2 3", "expected 4 rows separated by '/', got 2 in '1 2 3/1 2 3'"),
        ("1 2 3/0 0 0 0/0 0 0 0/0 0 0 0", "expected 4 tiles in row 1, got 3 in '1 2 3'"),
        (OPEN.replace("48", "47"), "expected a tile 0, 1, 2, 3, 6, 12, ..., 12288, got '47'"),
        (OPEN.replace("48", "4"), "expected a tile 0, 1, 2, 3, 6, 12, ..., 12288, got '4'"),
        (OPEN.replace("48", "24576"), "expected a tile 0, 1, 2, 3, 6, 12, ..., 12288, got '24576'"),
        (OPEN.replace("48", "-3"), "expected a tile as a whole number, got '-3'"),
        (OPEN.replace("48", "x"), "expected a tile as a whole number, got 'x'"),
        (f"{OPEN} deck=5,4,4", "expected deck=n1,n2,n3 of 0 to 4 each and not all 0, got '5,4,4'"),
        (f"{OPEN} deck=0,0,0", "expected deck=n1,n2,n3 of 0 to 4 each and not all 0, got '0,0,0'"),
        (f"{OPEN} deck=1,2", "expected deck=n1,n2,n3 of 0 to 4 each and not all 0, got '1,2'"),
        (f"{OPEN} deck=a,b,c", "expected a deck count as a whole number, got 'a'"),
        (f"{OPEN} next=1 deck=4,1,1", f"expected {THREE_1S} (the one shown has left it), got deck=4,1,1"),
        (f"{OPEN} next=4", "expected next=1, 2, 3 or +, got '4'"),
        (f"{OPEN} next=6", "expected next=1, 2, 3 or +, got '6'"),
        (f"{OPEN} next=", "expected next=1, 2, 3 or +, got ''"),
        (f"{SMALL} next=+", "expected next=1, 2 or 3 (a bonus needs a 48 on the board), got '+'"),
        (f"{OPEN} next=1 next=1", f"expected {FIELDS}, got 'next=1'"),
        (f"{OPEN} colour=red", f"expected {FIELDS}, got 'colour=red'"),
        (f"{OPEN} start=5", "expected start=3, 6, 9 or 12, got '5'"),
        ("1 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0 start=3", "expected a start score of at most the board's, got start=3"),
        (f"{OPEN} slot=3", "expected slot=1 to 20, perhaps ',used', under slot21, got '3'"),
        (f"{OPEN} move=left lanes=0 next=1", "expected an empty cell for lane 0"),
        (f"{OPEN} move=west lanes=1 next=1", "expected move among up, down, left, right, got 'west'"),
        (f"{OPEN} move=up next=1", "expected lanes=, each of 0 to 3 at most once, got ''"),
        (f"{OPEN} move=up lanes=11 next=1", "expected lanes=, each of 0 to 3 at most once, got '11'"),
        (f"{OPEN} move=up lanes=1", "expected next= with move=, got none"),
        (f"{OPEN} move=left lanes=1 next=6|12", "expected next=1, 2, 3 or +, got '6|12'"),
        (f"{SMALL} move=left lanes=1 next=6", "expected next=1, 2 or 3 (a bonus needs a 48 on the board), got '6'"),
        (f"{OPEN} move=left lanes=1 next=3|6", "expected next=1, 2, 3 or +, got '3|6'"),
        (f"{OPEN} move=left lanes=1 next=1 deck=4,1,1", f"expected {THREE_1S}"),
        (f"{OPEN} setup", "expected with setup fewer than 9 start cards and the deck that they leave"),
        ("1 2 0 0/0 0 0 0/0 0 0 0/0 0 0 0 setup", "expected with setup fewer than 9 start cards"),
        ("3 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0 setup deck=4,4,3", "expected start=3 with setup, got '0'"),
    ],
)
def test_impossible_positions(text: str, reason: str) -> None:
    test_impossible_positions_of_variants({}, text, reason)


@pytest.mark.parametrize(
    ("options", "text", "reason"),
    [
        ({"hint": "exact"}, f"{OPEN} next=+", "expected a bonus as a whole number, got '+'"),
        ({"hint": "exact"}, f"{OPEN} next=12", "expected next=1, 2, 3 or 1 of 6..6 in a row"),
        ({"hint": "exact"}, f"{OPEN} next=6|12", "expected next=1, 2, 3 or 1 of 6..6 in a row"),
        ({"hint": "colour"}, f"{OPEN} next=3", "expected next=white"),
        ({"hint": "colour", "bonus_p": 0}, f"{OPEN} next=white", "expected next=1, 2 or 3 (there is no bonus"),
        ({"hint": "colour"}, f"{OPEN} next=+", "expected next=1, 2, 3 or white, got '+'"),
        ({"hint": "window3", "bonus_value": "window3"}, f"{OPEN} next=6|24", "expected bonus tiles in a row"),
        ({"bonus_schedule": "slot21"}, f"{OPEN} slot=21", "expected slot=1 to 20"),
        ({"bonus_schedule": "slot21"}, f"{OPEN} slot=2,twice", "expected slot=1 to 20"),
        ({"bonus_schedule": "slot21"}, f"{SMALL} slot=2", "expected no slot before a 48 is on the board"),
        ({"bonus_p": 0}, f"{OPEN} next=+", "expected next=1, 2 or 3 (there is no bonus with bonus_p=0), got '+'"),
        ({"top": "no_merge_6144"}, OPEN.replace("48", "12288"), "expected no 12288"),
    ],
    ids=repr,
)
def test_impossible_positions_of_variants(options: dict[str, object], text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^threes: {re.escape(reason)}[^\n]*$"):
        THREES.variant(**options).parse(text)
