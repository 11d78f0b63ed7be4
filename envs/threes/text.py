"""Threes positions as one line of text.

`1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2 next=1 deck=4,4,4`: rows of tile values (0 empty), the tile shown, and the counts of 1s, 2s
and 3s not yet drawn (a full deck if left out). `next` is 1, 2 or 3; `+` a bonus; `6|12|24` a bonus that may be any of
these; `white` a 3 or a bonus. Without `next` the tile is about to be drawn. More fields describe what a player never
types: `move=left lanes=013` (a tile is about to enter), `setup` (start cards are being laid), `start=6` (score of the
start, taken off the return), `slot=5` or `slot=5,used` (slot21 schedule).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.threes import row as r
from leafwise.envs.threes.row import Tables

ACTIONS = ("up", "down", "left", "right")
DECISION, ENTER, DRAW, SETUP = (int(p) for p in (r.DECISION, r.ENTER, r.DRAW, r.SETUP))
FIELDS = ("next", "deck", "move", "lanes", "start", "slot")


def tile_value(rank: int) -> int:
    """Returns what a tile of a rank shows; 0 for an empty cell."""
    return rank if rank < 3 else 3 << (rank - 3)


RANKS = {tile_value(rank): rank for rank in range(16)}


def ranks(row: NDArray[Any]) -> list[int]:
    """Returns the sixteen ranks of a row's board, row by row."""
    board = int(row[0])
    return [board >> (4 * cell) & 15 for cell in range(16)]


def field(row: NDArray[Any], first: Any, bits: int) -> int:
    """Returns a field of word 1."""
    return int(row[1]) >> int(first) & ((1 << bits) - 1)


def deck(row: NDArray[Any]) -> tuple[int, int, int]:
    """Returns how many 1s, 2s and 3s are not yet drawn."""
    word = field(row, r.DECK, 9)
    return word & 7, word >> 3 & 7, word >> 6


def shown(row: NDArray[Any], T: Tables) -> str:
    """Returns the text of the tile shown, "" if none is."""
    code, low, high = field(row, r.SHOWN, 3), field(row, r.LOW, 4), field(row, r.HIGH, 4)
    if code < int(r.PLUS):
        return str(code) if code else ""
    candidates = "|".join(str(tile_value(rank)) for rank in range(low, high + 1))
    if field(row, 0, 2) == ENTER:  # the slide may have made a new highest tile, so the board no longer tells
        return "3|" + candidates if code == int(r.WHITE) else candidates
    if code == int(r.WHITE):
        return "white"
    return "+" if T.hint == r.HINT_PLUS else candidates


def to_text(row: NDArray[Any], T: Tables) -> str:
    """Returns the line of text for a row."""
    cells = [str(tile_value(rank)) for rank in ranks(row)]
    words = ["/".join(" ".join(cells[k : k + 4]) for k in range(0, 16, 4))]
    phase = field(row, 0, 2)
    if phase == SETUP:
        words.append("setup")
    if tile := shown(row, T):
        words.append(f"next={tile}")
    words.append("deck=" + ",".join(str(n) for n in deck(row)))
    if phase == ENTER:
        lanes = field(row, r.LANES, 4)
        words.append(f"move={ACTIONS[field(row, r.DIRECTION, 2)]}")
        words.append("lanes=" + "".join(str(k) for k in range(4) if lanes >> k & 1))
    if start := field(row, r.START, 4):
        words.append(f"start={3 * start}")
    if slot := field(row, r.SLOT, 5):
        words.append(f"slot={slot}" + (",used" if field(row, r.SLOT_USED, 1) else ""))
    return " ".join(words)


def parse_board(text: str) -> int:
    """Returns the board of `a b c d/e f g h/...`; raises ValueError if it is none."""
    lines = text.split("/")
    if len(lines) != 4:
        raise ValueError(f"threes: expected 4 rows separated by '/', got {len(lines)} in {text!r}")
    board = 0
    for y, line in enumerate(lines):
        words = line.split()
        if len(words) != 4:
            raise ValueError(f"threes: expected 4 tiles in row {y + 1}, got {len(words)} in {line.strip()!r}")
        for x, word in enumerate(words):
            value = number(word, "a tile")
            if value not in RANKS:
                raise ValueError(f"threes: expected a tile 0, 1, 2, 3, 6, 12, ..., 12288, got {word!r}")
            board |= RANKS[value] << 4 * (4 * y + x)
    return board


def number(word: str, what: str) -> int:
    """Returns a small non-negative integer; raises ValueError for anything else."""
    if not (word.isascii() and word.isdigit()) or len(word) > 6:
        raise ValueError(f"threes: expected {what} as a whole number, got {word!r}")
    return int(word)


def parse_deck(text: str) -> int:
    """Returns the deck field of `n1,n2,n3`; raises ValueError if no deck can be so."""
    counts = [number(word.strip(), "a deck count") for word in text.split(",")]
    if len(counts) != 3 or max(counts) > 4 or sum(counts) == 0:
        raise ValueError(f"threes: expected deck=n1,n2,n3 of 0 to 4 each and not all 0, got {text!r}")
    return counts[0] | counts[1] << 3 | counts[2] << 6


def parse_next(text: str, highest: int, T: Tables) -> int:
    """Returns the fields of the tile shown; raises ValueError if it cannot be next on such a board."""
    if text in ("1", "2", "3"):
        if text == "3" and T.hint == r.HINT_COLOUR and highest >= 7 and T.bonus_p > 0:
            raise ValueError("threes: expected next=white, a 3 and a bonus look alike with hint='colour', got '3'")
        return int(text) << int(r.SHOWN)
    if T.bonus_schedule == r.IID and T.bonus_p == 0:
        raise ValueError(f"threes: expected next=1, 2 or 3 (there is no bonus with bonus_p=0), got {text!r}")
    low, high = 4, highest - 3
    if high < low:
        raise ValueError(f"threes: expected next=1, 2 or 3 (a bonus needs a 48 on the board), got {text!r}")
    if text == "white" and T.hint == r.HINT_COLOUR:
        return bonus_fields(r.WHITE, low, high)
    if text == "+" and T.hint == r.HINT_PLUS:
        return bonus_fields(r.PLUS, low, high)
    if T.hint in (r.HINT_EXACT, r.HINT_WINDOW3):
        size = 1 if T.hint == r.HINT_EXACT else min(3, high - low + 1)
        first, last = parse_candidates(text)
        if last - first + 1 == size and low <= first and last <= high:
            return bonus_fields(r.PLUS, first, last)
        limits = f"{size} of {tile_value(low)}..{tile_value(high)} in a row, joined by '|'"
        raise ValueError(f"threes: expected next=1, 2, 3 or {limits}, got {text!r}")
    bonus = "white" if T.hint == r.HINT_COLOUR else "+"
    raise ValueError(f"threes: expected next=1, 2, 3 or {bonus}, got {text!r}")


def bonus_fields(code: Any, low: int, high: int) -> int:
    """Returns the fields of a bonus whose rank lies in low..high."""
    return int(code) << int(r.SHOWN) | low << int(r.LOW) | high << int(r.HIGH)


def parse_candidates(text: str) -> tuple[int, int]:
    """Returns the lowest and highest rank of a bonus written as its candidates, `6|12|24`."""
    values = [number(word, "a bonus") for word in text.split("|")]
    low = RANKS.get(values[0], 0)
    high = low + len(values) - 1
    if low < 4 or high > 12 or values != [tile_value(rank) for rank in range(low, high + 1)]:
        raise ValueError(f"threes: expected bonus tiles in a row among 6|12|...|1536, got {text!r}")
    return low, high


def parse_fields(text: str) -> tuple[str, dict[str, str], bool]:
    """Splits a line into the board, the fields and whether it says setup."""
    words = text.split()
    at = next((k for k, word in enumerate(words) if "=" in word or word == "setup"), len(words))
    given: dict[str, str] = {}
    setup = False
    for word in words[at:]:
        name, equals, value = word.partition("=")
        if word == "setup" and not setup:
            setup = True
        elif equals and name in FIELDS and name not in given:
            given[name] = value
        else:
            raise ValueError(f"threes: expected fields among {', '.join(FIELDS)}, each once, got {word[:40]!r}")
    return " ".join(words[:at]), given, setup


def parse_row(text: str, T: Tables) -> NDArray[np.uint64]:
    """Returns the row that a line of text describes; raises ValueError in the game's words."""
    board_text, given, setup = parse_fields(text)
    board = parse_board(board_text)
    word = (parse_deck(given["deck"]) if "deck" in given else int(r.FULL_DECK)) << int(r.DECK)
    highest = max(board >> 4 * cell & 15 for cell in range(16))
    if highest == 15 and T.top == r.NO_MERGE_6144:
        raise ValueError("threes: expected no 12288 with top='no_merge_6144'")
    word |= parse_extras(given, highest, T)
    if (word >> int(r.START) & 15) * 3 > r.board_score(np.uint64(board), T):
        raise ValueError(f"threes: expected a start score of at most the board's, got start={given['start']}")
    row = np.array([board, word], dtype=np.uint64)
    if setup:
        return parse_setup(row, given)
    if "move" in given or "lanes" in given:
        tile = parse_entering(board, given, T)
        check_deck(tile, deck(row))
        row[1] |= np.uint64(tile)
        return row
    over = bool(r.is_dead(row[0], T)) or (T.top == r.END_AT_12288 and highest == 15)
    if "next" in given:
        tile = parse_next(given["next"], highest, T)
        check_deck(tile, deck(row))
        if not over:
            row[1] |= np.uint64(tile)
            return row
    row[1] |= np.uint64(DRAW)
    return row


def check_deck(tile: int, counts: tuple[int, int, int]) -> None:
    """Raises ValueError if a base card is shown that has not left the deck."""
    card = tile >> int(r.SHOWN) & 7
    if card <= 3 and counts != (4, 4, 4) and counts[card - 1] == 4:
        raise ValueError(
            f"threes: expected at most three {card}s in the deck (the one shown has left it), "
            f"got deck={','.join(str(n) for n in counts)}"
        )


def parse_extras(given: dict[str, str], highest: int, T: Tables) -> int:
    """Returns the fields for the start score and the slot21 cycle."""
    word = 0
    if "start" in given:
        start = number(given["start"], "a start score")
        if start % 3 or not 0 < start <= 12:
            raise ValueError(f"threes: expected start=3, 6, 9 or 12, got {given['start']!r}")
        word |= start // 3 << int(r.START)
    if "slot" in given:
        position, comma, used = given["slot"].partition(",")
        slot = number(position, "a slot")
        if T.bonus_schedule != r.SLOT21 or not 0 < slot < 21 or (comma and used != "used"):
            raise ValueError(f"threes: expected slot=1 to 20, perhaps ',used', under slot21, got {given['slot']!r}")
        if highest < 7:
            raise ValueError(f"threes: expected no slot before a 48 is on the board, got {given['slot']!r}")
        word |= slot << int(r.SLOT) | bool(used) << int(r.SLOT_USED)
    return word


def parse_entering(board: int, given: dict[str, str], T: Tables) -> int:
    """Returns the fields for a tile that is about to enter after a slide."""
    direction, lanes, tile = given.get("move", ""), given.get("lanes", ""), given.get("next", "")
    if direction not in ACTIONS:
        raise ValueError(f"threes: expected move among {', '.join(ACTIONS)}, got {direction!r}")
    if not lanes or any(k not in "0123" for k in lanes) or len(set(lanes)) != len(lanes):
        raise ValueError(f"threes: expected lanes=, each of 0 to 3 at most once, got {lanes!r}")
    a = ACTIONS.index(direction)
    for k in lanes:
        if board >> int(r.entry_shift(np.uint64(int(k)), np.uint64(a))) & 15:
            raise ValueError(f"threes: expected an empty cell for lane {k} after move={direction}, got a tile")
    if not tile:
        raise ValueError("threes: expected next= with move=, got none")
    fields = parse_entering_tile(tile, max(board >> 4 * cell & 15 for cell in range(16)), T)
    return fields | ENTER | sum(1 << int(k) for k in lanes) << int(r.LANES) | a << int(r.DIRECTION)


def parse_entering_tile(text: str, highest: int, T: Tables) -> int:
    """Returns the fields of a tile about to enter; the slide may have made the highest tile of the board."""
    sign, first = {r.HINT_PLUS: ("+", []), r.HINT_COLOUR: ("white", [3])}.get(T.hint, ("", []))
    refused = ""
    for before in (highest, highest - 1):
        candidates = [*first, *(tile_value(rank) for rank in range(4, before - 2))]
        hidden = sign and before >= 7 and text == "|".join(map(str, candidates))
        try:
            return parse_next(sign if hidden else text, before, T)
        except ValueError as problem:
            refused = refused or str(problem)
    raise ValueError(refused)


def parse_setup(row: NDArray[np.uint64], given: dict[str, str]) -> NDArray[np.uint64]:
    """Returns a row in which start cards are being laid; the deck must fit the cards that lie."""
    cards = ranks(row)
    left = tuple(4 - cards.count(card) for card in (1, 2, 3))
    if max(cards) > 3 or min(left) < 0 or sum(left) <= 3 or left != deck(row) or set(given) - {"deck", "start"}:
        raise ValueError("threes: expected with setup fewer than 9 start cards and the deck that they leave")
    if field(row, r.START, 4) != cards.count(3):
        raise ValueError(f"threes: expected start={3 * cards.count(3)} with setup, got {given.get('start', '0')!r}")
    row[1] |= np.uint64(SETUP)
    return row


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    """Returns what chance did: `3@2,1` for a tile that entered at row 2, column 1 (from 0), or the tile drawn."""
    if field(before, 0, 2) == DRAW:
        return shown(after, T)
    for cell, (old, new) in enumerate(zip(ranks(before), ranks(after), strict=True)):
        if old != new:
            return f"{tile_value(new)}@{cell // 4},{cell % 4}"
    return ""
