"""Threes positions as one line of text.

`1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2 next=1 deck=4,4,4`: rows of tile values (0 empty), the tile shown, and the counts of 1s, 2s and
3s not yet drawn (default: a full deck). `next` is 1, 2 or 3; `+` a bonus; `6|12|24` a bonus that may be any of these; `white` a
3 or a bonus. Without `next` the tile is about to be drawn.

Further fields describe what a player never types: `move=left lanes=013` (a tile is about to enter), `setup` (start cards are
being dealt), `start=6` (score of the start, subtracted from the return), `slot=5` or `slot=5,used` (slot21 schedule).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Words
from leafwise.envs.core.contract.bits import sum_of_rows
from leafwise.envs.core.contract.texts import EMPTY, before_fields, need, typed_cells, whole_number, words_by_name
from leafwise.envs.core.errors import UserError
from leafwise.envs.threes import rules as r
from leafwise.envs.threes.rules import (
    DECK,
    DIRECTION,
    END_AT_12288,
    FULL_DECK,
    HIGH,
    HINT_COLOUR,
    HINT_EXACT,
    HINT_PLUS,
    IID,
    LANES,
    LOW,
    NO_MERGE_6144,
    PHASE,
    PLUS,
    SHOWN,
    SLOT,
    SLOT21,
    SLOT_USED,
    START,
    WHITE,
    Tables,
    WordField,
    entry_shift,
    get,
    is_dead,
)

ACTIONS = ("up", "down", "left", "right")
ENTER, DRAW, SETUP = int(r.ENTER), int(r.DRAW), int(r.SETUP)
SIGNS: dict[int, tuple[str, Any]] = {HINT_PLUS: ("+", PLUS), HINT_COLOUR: ("white", WHITE)}
"""Text and code of a bonus, for hints that do not show its candidates."""
COLOURS = {"blue": "1", "red": "2"}
FIELDS = ("next", "deck", "move", "lanes", "start", "slot")


def tile_value(rank: int) -> int:
    """Returns the value of a tile of a rank; 0 for an empty cell."""
    return rank if rank < 3 else 3 << (rank - 3)


RANKS = {tile_value(rank): rank for rank in range(16)}


SYMBOLS = {**{str(value): rank for value, rank in RANKS.items()}, **dict.fromkeys(EMPTY, 0), "blue": 1, "red": 2}
"""Texts for a tile -> its rank."""


def ranks(row: Array) -> list[int]:
    """Returns the sixteen ranks of a row's board, row by row."""
    board = int(row[0])
    return [board >> (4 * cell) & 15 for cell in range(16)]


def field(row: Array, where: WordField) -> int:
    """Returns a field of word 1."""
    return int(get(row[1], where))


def deck(row: Array) -> tuple[int, int, int]:
    """Returns the numbers of 1s, 2s and 3s not yet drawn."""
    word = field(row, DECK)
    return word & 7, word >> 3 & 7, word >> 6


def deck_text(row: Array) -> str:
    """Returns these numbers as text."""
    return ",".join(map(str, deck(row)))


def shown(row: Array, T: Tables) -> str:
    """Returns the text of the tile shown; "" if there is none."""
    code, low, high = field(row, SHOWN), field(row, LOW), field(row, HIGH)
    if code < int(PLUS):
        return str(code) if code else ""
    candidates = "|".join(str(tile_value(rank)) for rank in range(low, high + 1))
    if (
        field(row, PHASE) == ENTER
    ):  # the slide may have made a new highest tile, so the board no longer defines the candidates
        return "3|" + candidates if code == int(WHITE) else candidates
    if code == int(WHITE):
        return "white"
    return "+" if T.hint == HINT_PLUS else candidates


def to_text(row: Array, T: Tables) -> str:
    """Returns the line of text for a row."""
    cells = [str(tile_value(rank)) for rank in ranks(row)]
    words = ["/".join(" ".join(cells[k : k + 4]) for k in range(0, 16, 4))]
    phase = field(row, PHASE)
    if phase == SETUP:
        words.append("setup")
    if tile := shown(row, T):
        words.append(f"next={tile}")
    words.append(f"deck={deck_text(row)}")
    if phase == ENTER:
        lanes = field(row, LANES)
        words.append(f"move={ACTIONS[field(row, DIRECTION)]}")
        words.append("lanes=" + "".join(str(k) for k in range(4) if lanes >> k & 1))
    if start := field(row, START):
        words.append(f"start={3 * start}")
    if slot := field(row, SLOT):
        words.append(f"slot={slot}" + (",used" if field(row, SLOT_USED) else ""))
    return " ".join(words)


def parse_row(text: str, T: Tables) -> Words:
    """Returns the row that a line of text describes; raises ValueError in the game's terms."""
    typed, words = before_fields(text, ("setup",))
    setup = words.count("setup") == 1
    given = words_by_name((word for word in words if word != "setup" or not setup), FIELDS)
    board = parse_board(typed)
    highest = max(board >> 4 * cell & 15 for cell in range(16))
    need(highest < 15 or T.top != NO_MERGE_6144, "no 12288 with top='no_merge_6144'", text)
    need(board or setup, "a tile on the board", text)
    word = (parse_deck(given["deck"]) if "deck" in given else int(FULL_DECK)) << int(DECK.shift)
    word |= parse_start(given, board, T) | parse_slot(given, highest, T)
    row = np.array([board, word], dtype=np.uint64)
    if setup:
        return parse_setup(row, given)
    over = bool(is_dead(row[0], T.ways)) or (T.top == END_AT_12288 and highest == 15)
    tile = 0
    if entering := "move" in given or "lanes" in given:
        tile = parse_entering(board, highest, given, T)
    elif "next" in given:
        tile = parse_next(given["next"], highest, T)
    card = tile >> int(SHOWN.shift) & 7
    if 0 < card <= 3 and deck(row) != (4, 4, 4) and deck(row)[card - 1] == 4:
        raise UserError(
            f"expected at most three {card}s in the deck (the one shown has left it), got deck={deck_text(row)}"
        )
    row[1] |= np.uint64(tile if entering or (tile and not over) else DRAW)
    return row


def parse_board(text: str) -> int:
    """Returns the board of `a b c d/e f g h/...`, or of another shape that `typed_cells` reads; raises ValueError for others."""
    text = text.strip()
    lines = text.split("/")
    tiles = text.replace("/", " ").split()
    cells = None
    if [len(line.split()) for line in lines] != [4] * 4 or not {*tiles} <= {*SYMBOLS}:
        cells = typed_cells(text, [4] * 4, (SYMBOLS,))
    if cells is None:
        need(len(lines) == 4, "4 rows separated by '/'", len(lines), text)
        for y, line in enumerate(lines, 1):
            need(len(line.split()) == 4, f"4 tiles in row {y}", len(line.split()), line.strip())
        for tile in tiles:
            known = tile in SYMBOLS or whole_number(tile, "a tile") in RANKS
            need(known, "a tile 0, 1, 2, 3, 6, 12, ..., 12288", tile)
        cells = [SYMBOLS[tile] if tile in SYMBOLS else RANKS[int(tile)] for tile in tiles]
    return sum(rank << 4 * cell for cell, rank in enumerate(cells))


def parse_deck(text: str) -> int:
    """Returns the deck field of `n1,n2,n3`; raises ValueError for an impossible deck."""
    counts = [whole_number(word.strip(), "a deck count") for word in text.split(",")]
    sound = len(counts) == 3 and max(counts) <= 4 and any(counts)
    need(sound, "deck=n1,n2,n3 of 0 to 4 each and not all 0", text)
    return counts[0] | counts[1] << 3 | counts[2] << 6


def points(row: Array, T: Tables) -> float:
    """Returns the score of the board, with that of the start."""
    return float(sum_of_rows(np.uint64(row[0]), T.points))


def parse_start(given: dict[str, str], board: int, T: Tables) -> int:
    """Returns the field of the start score, 0 by default."""
    text = given.get("start", "0")
    start = whole_number(text, "a start score")
    need("start" not in given or start in (3, 6, 9, 12), "start=3, 6, 9 or 12", text)
    if start > sum_of_rows(np.uint64(board), T.points):
        raise UserError(f"expected a start score of at most the board's, got start={text}")
    return start // 3 << int(START.shift)


def parse_slot(given: dict[str, str], highest: int, T: Tables) -> int:
    """Returns the fields of the slot21 cycle, 0 by default."""
    if "slot" not in given:
        return 0
    position, comma, used = given["slot"].partition(",")
    slot = whole_number(position, "a slot")
    sound = T.bonus_schedule == SLOT21 and 0 < slot < 21 and used == ("used" if comma else "")
    need(sound, "slot=1 to 20, perhaps ',used', under slot21", given["slot"])
    need(highest >= 7, "no slot before a 48 is on the board", given["slot"])
    return slot << int(SLOT.shift) | bool(used) << int(SLOT_USED.shift)


def parse_next(text: str, highest: int, T: Tables) -> int:
    """Returns the fields of the tile shown; raises ValueError if it cannot be next on this board."""
    text = shown_name(text.lower(), highest, T)
    if text in ("1", "2", "3"):
        alike = text == "3" and T.hint == HINT_COLOUR and highest >= 7 and T.bonus_p > 0
        need(not alike, "next=white, a 3 and a bonus look alike with hint='colour'", text)
        return int(text) << int(SHOWN.shift)
    none = T.bonus_schedule == IID and T.bonus_p == 0
    need(not none, "next=1, 2 or 3 (there is no bonus with bonus_p=0)", text)
    low, high = 4, highest - 3
    need(low <= high, "next=1, 2 or 3 (a bonus needs a 48 on the board)", text)
    if T.hint in SIGNS:
        sign, code = SIGNS[T.hint]
        need(text == sign, f"next=1, 2, 3 or {sign}", text)
    else:
        size = 1 if T.hint == HINT_EXACT else min(3, high - low + 1)
        code, (first, last) = PLUS, parse_candidates(text)
        limits = f"next=1, 2, 3 or {size} of {tile_value(low)}..{tile_value(high)} in a row, joined by '|'"
        need(last - first + 1 == size and low <= first and last <= high, limits, text)
        low, high = first, last
    return int(code) << int(SHOWN.shift) | low << int(LOW.shift) | high << int(HIGH.shift)


def shown_name(text: str, highest: int, T: Tables) -> str:
    """Returns the name of the tile shown.

    The name is `1` for `blue`, `2` for `red`; `white` is a 3 if no bonus is possible, and `3+` the sign of a bonus. Raises
    ValueError for `white` if it may be either.
    """
    if text in COLOURS:
        return COLOURS[text]
    sign = SIGNS[T.hint][0] if T.hint in SIGNS else ""
    if text == sign or text not in ("white", "3+"):
        return text
    if highest < 7 or (T.bonus_schedule == IID and T.bonus_p == 0):
        return "3"
    need(sign and text == "3+", "next=3 or the bonus that is shown, which do not look alike here", text)
    return sign


def parse_candidates(text: str) -> tuple[int, int]:
    """Returns the lowest and highest rank of a bonus written as its candidates, `6|12|24`."""
    values = [whole_number(word, "a bonus") for word in text.split("|")]
    low = RANKS.get(values[0], 0)
    high = low + len(values) - 1
    sound = low >= 4 and high <= 12 and values == [tile_value(rank) for rank in range(low, high + 1)]
    need(sound, "bonus tiles in a row among 6|12|...|1536", text)
    return low, high


def parse_entering(board: int, highest: int, given: dict[str, str], T: Tables) -> int:
    """Returns the fields of a tile that is about to enter after a slide."""
    direction, lanes = given.get("move", ""), given.get("lanes", "")
    need(direction in ACTIONS, f"move among {', '.join(ACTIONS)}", direction)
    sound = lanes and set(lanes) <= set("0123") and len(set(lanes)) == len(lanes)
    need(sound, "lanes=, each of 0 to 3 at most once", lanes)
    a = ACTIONS.index(direction)
    for k in map(int, lanes):
        free = not board >> int(entry_shift(np.uint64(k), np.uint64(a))) & 15
        need(free, f"an empty cell for lane {k} after move={direction}", "a tile")
    need(given.get("next"), "next= with move=")
    fields = parse_entering_tile(given["next"], highest, T)
    return fields | ENTER | sum(1 << int(k) for k in lanes) << int(LANES.shift) | a << int(DIRECTION.shift)


def parse_entering_tile(text: str, highest: int, T: Tables) -> int:
    """Returns the fields of a tile about to enter; the slide may have made the highest tile of the board."""
    sign = SIGNS[T.hint][0] if T.hint in SIGNS else ""
    first = [3] if T.hint == HINT_COLOUR else []
    refused = ""
    for before in (highest, highest - 1):
        candidates = [*first, *(tile_value(rank) for rank in range(4, before - 2))]
        hidden = sign and before >= 7 and text == "|".join(map(str, candidates))
        try:
            return parse_next(sign if hidden else text, before, T)
        except UserError as problem:
            refused = refused or str(problem)
    raise UserError(refused)


def parse_setup(row: Words, given: dict[str, str]) -> Words:
    """Returns a row in the setup; the deck must match the cards on the board."""
    cards = ranks(row)
    left = tuple(4 - cards.count(card) for card in (1, 2, 3))
    start_cards = max(cards) <= 3 and min(left) >= 0 and sum(left) > 3 and left == deck(row)
    sound = start_cards and set(given) <= {"deck", "start"}
    need(sound, "with setup fewer than 9 start cards and the deck that they leave", deck_text(row))
    threes = cards.count(3)
    need(field(row, START) == threes, f"start={3 * threes} with setup", given.get("start", "0"))
    row[1] |= np.uint64(SETUP)
    return row


def outcome_name(before: Array, after: Array, T: Tables) -> str:
    """Returns the name of an outcome: `3@2,1` for a tile that entered at row 2, column 1 (from 0), or the tile drawn."""
    if field(before, PHASE) == DRAW:
        return shown(after, T)
    for cell, (old, new) in enumerate(zip(ranks(before), ranks(after), strict=True)):
        if old != new:
            return f"{tile_value(new)}@{cell // 4},{cell % 4}"
    return ""
