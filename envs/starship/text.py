"""Positions of the building game as one line of text, and back.

`key=0x3f` while the hull's number is drawn; from then on `hull=... parts=... targets=... phase=...` and, while the game
goes on, `skips=... none=... next=...`: the hull's rows in run lengths (`_` space, `.` hull), the parts in the order they
were placed, as letter, top-left cell and rotation, the targets drawn so far, the requests known to have no place, and the
requests in sight. Armour and doors follow from these: reading builds the ship again, and refuses what cannot come about.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.contract.texts import need
from leafwise.envs.starship import rules
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import load_planes
from leafwise.envs.starship.catalogue import CORRIDOR, DIRECTIONS, PARTS, SPACE
from leafwise.envs.starship.generator import MOST_SKIPS, entry_usable, note_failure, phase_over, put_request, weight_of
from leafwise.envs.starship.hull import from_run_lengths, run_lengths
from leafwise.envs.starship.placing import has_place, is_place
from leafwise.envs.starship.rules import HULL_DIGITS, take
from leafwise.envs.starship.settings import STAGES
from leafwise.envs.starship.ship import PlacedPart, parts_of_row, ship_at
from leafwise.envs.starship.tables import GameTables, Tables

Row = NDArray[Any]
FIELD_OF_STAGE = {number: field for number, field, _ in STAGES}
LETTER_PARTS = {part.letter: number for number, part in enumerate(PARTS)}
STAGE_OF_PART = {part: stage for stage, parts in at.KINDS.items() for part in parts}
WORDS = ("hull", "parts", "targets", "phase")
OPEN_WORDS = ("skips", "none", "next")


@functools.cache
def action_names(grid: int) -> tuple[str, ...]:
    """Returns the names of all places: x, y of the top-left cell and the rotation as where the front faces."""
    return tuple(f"{x},{y}{way}" for way in DIRECTIONS for y in range(grid) for x in range(grid))


def entry_name(stage: int, entry: int) -> str:
    """Returns a request as a part's letter, and the facing where the part has one."""
    part = PARTS[at.KINDS[stage][entry // 4]]
    return part.letter + (DIRECTIONS[entry % 4] if part.directional else "")


def entries(T: Tables, stage: int) -> dict[str, int]:
    """Returns the requests a stage can make, by name."""
    return {entry_name(stage, k): k for k in range(12) if weight_of(T, stage, k) > 0}


def placing_stages(T: Tables) -> list[int]:
    """Returns the stages that place parts, in order."""
    return [stage for stage in T.order.tolist() if stage in at.KINDS]


def drawn_targets(T: Tables) -> list[int]:
    """Returns the stages whose target chance draws, in order."""
    return [stage for stage in placing_stages(T) if T.stages[stage, at.LOW] != T.stages[stage, at.HIGH]]


def to_text(row: Row, tables: GameTables) -> str:
    """Returns a row as one line of text."""
    T = tables.ship
    if row[at.TURN] == rules.DRAW_HULL:
        return "key=0x" + hull_digits(row)
    phase = int(row[at.PHASE])
    cells = row[at.HEADER : at.HEADER + T.grid**2].reshape(T.grid, T.grid) & at.VALUE
    hull = run_lengths(cells != SPACE)
    placed = (part_word(part) for part, _ in parts_of_row(row, T.grid))
    targets = (str(row[at.TARGET + stage]) for stage in drawn_targets(T) if row[at.TARGET + stage] > 0)
    words = [f"hull={hull}", f"parts={';'.join(placed) or '-'}", f"targets={'/'.join(targets) or '-'}"]
    words.append(f"phase={FIELD_OF_STAGE[phase]}")
    if row[at.TURN] == rules.OVER:
        return " ".join([*words, "over"])
    none = [name for name, entry in entries(T, phase).items() if int(row[at.EXHAUSTED]) >> entry & 1]
    seen = [entry_name(phase, int(word) - 1) for word in row[at.QUEUE : at.QUEUE + at.PREVIEW] if word]
    words += [f"skips={row[at.SKIPS]}", f"none={','.join(none) or '-'}", f"next={','.join(seen) or '-'}"]
    return " ".join(words)


def part_word(part: PlacedPart) -> str:
    """Returns a part as letter, top-left cell and rotation: C9,8N."""
    return f"{PARTS[part.number].letter}{part.x},{part.y}{DIRECTIONS[part.r]}"


def hull_digits(row: Row) -> str:
    """Returns the digits drawn so far of the hull's number, in hexadecimal."""
    count = int(row[at.DIGITS])
    words = (f"{int(row[at.KEY + k]):04x}"[4 - min(4, count - 4 * k) :] for k in range((count + 3) // 4))
    return "".join(words)


def parse_row(text: str, tables: GameTables) -> Row:
    """Returns the row of a position; raises ValueError for what is none."""
    T = tables.ship
    S = np.zeros((1, len(T.placed)), dtype=np.uint16)
    if text.startswith("key="):
        need(not T.hull.any(), "hull=..., as the hull is given", text)
        hexadecimal = re.fullmatch(rf"key=0x[0-9a-f]{{0,{HULL_DIGITS - 1}}}", text)
        need(hexadecimal, f"key=0x and at most {HULL_DIGITS - 1} hexadecimal digits", text)
        digits = text.removeprefix("key=0x")
        S[0, at.DIGITS] = len(digits)
        for k in range(0, len(digits), 4):
            S[0, at.KEY + k // 4] = int(digits[k : k + 4], 16)
        return S[0]
    over = text.endswith(" over")
    known = WORDS if over else (*WORDS, *OPEN_WORDS)
    pairs = [word.split("=", 1) for word in text.removesuffix(" over").split(" ", len(known))]
    fits = [pair[0] for pair in pairs] == list(known) and all(len(pair) == 2 for pair in pairs)
    need(fits, " ".join(f"{word}=..." for word in known), text)
    words = {pair[0]: pair[1] for pair in pairs}
    _read_hull(S, T, words["hull"])
    targets = _read_targets(T, words["targets"])
    known_phases = {FIELD_OF_STAGE[number]: number for number in placing_stages(T)}
    need(words["phase"] in known_phases, f"phase among {', '.join(known_phases)}", words["phase"])
    phase = known_phases[words["phase"]]
    _build(S, T, words["parts"], phase, targets)
    if over:
        _end(S, T, phase)
    else:
        _read_requests(S, T, phase, words)
    need(not targets, "no target of a stage that has not begun", "/".join(map(str, targets.values())))
    return S[0]


def _read_hull(S: Row, T: Tables, text: str) -> None:
    mask = from_run_lengths(text, T.grid)
    S[0, at.HEADER : at.HEADER + T.grid**2][mask.ravel()] = CORRIDOR
    load_planes(S, FIRST, T)


def _read_targets(T: Tables, text: str) -> dict[int, int]:
    """Returns the targets of a text by stage; they are taken out as the stages begin."""
    need(re.fullmatch(r"-|[0-9]{1,4}(/[0-9]{1,4}){0,9}", text), "targets like 9/4, or -", text)
    stages, words = drawn_targets(T), [] if text == "-" else text.split("/")
    need(len(words) <= len(stages), "no target of a stage that has not begun", text)
    for stage, word in zip(stages, words, strict=False):
        low, high = int(T.stages[stage, at.LOW]), int(T.stages[stage, at.HIGH])
        need(low <= int(word) <= high, f"a target of {FIELD_OF_STAGE[stage]} in {low}..{high}", word)
    return dict(zip(stages, map(int, words), strict=False))


def _build(S: Row, T: Tables, text: str, last: int, targets: dict[int, int]) -> None:
    """Places the parts, with the armour that comes between them, up to stage `last`."""
    part = "[A-Za-z][0-9]{1,2},[0-9]{1,2}[NESW]"
    need(re.fullmatch(f"-|{part}(;{part}){{0,249}}", text), "parts like C9,8N;R9,11N, or -", text)
    order, stage = placing_stages(T), 0
    words = [] if text == "-" else text.split(";")
    while words:
        word = words.pop(0)
        number = LETTER_PARTS.get(word[0], -1)
        wanted = STAGE_OF_PART.get(number, 0)
        later = wanted in order and (not stage or order.index(wanted) >= order.index(stage))
        need(later, "parts in the order of the stages", word)
        stage = _go_on(S, T, stage, wanted, targets)
        more = S[0, at.POINTS + stage] < S[0, at.TARGET + stage]
        need(more, f"no more parts once the target of {FIELD_OF_STAGE[stage]} is met", word)
        placed = int(S[0, at.PARTS_PLACED])
        _place(S, T, stage, number, word)
        for image, _ in parts_of_row(S[0], T.grid)[placed + 1 :]:  # a mirrored stage has placed two
            need(words and words.pop(0) == part_word(image), "each part before its mirror image", word)
    later = not stage or order.index(last) >= order.index(stage)
    need(later, "a phase that is not over", FIELD_OF_STAGE[last])
    _go_on(S, T, stage, last, targets)


def _go_on(S: Row, T: Tables, stage: int, wanted: int, targets: dict[int, int]) -> int:
    """Leaves stages until `wanted` runs."""
    while stage != wanted:
        if stage:
            points, expected = S[0, at.POINTS + stage], f"enough parts of {FIELD_OF_STAGE[stage]}"
            need(points >= T.stages[stage, at.LOW], f"{expected} before {FIELD_OF_STAGE[wanted]}", str(points))
        stage = int(rules.next_phase(S, FIRST, T, stage))
        rules.open_phase(S, FIRST, T, stage)
        known = stage in targets or stage == wanted or stage not in drawn_targets(T)
        need(known, f"a target of {FIELD_OF_STAGE[stage]} before {FIELD_OF_STAGE[wanted]}", "-")
        if stage in targets:
            S[0, at.TARGET + stage] = targets.pop(stage)
    return stage


def _place(S: Row, T: Tables, stage: int, part: int, word: str) -> None:
    x, y = (int(number) for number in word[1:-1].split(","))
    r = DIRECTIONS.index(word[-1])
    need(S[0, at.TARGET + stage], f"a target of {FIELD_OF_STAGE[stage]} before its parts", word)
    entry = 4 * at.KINDS[stage].index(part) + (r if PARTS[part].directional else 0)
    on_grid = x < T.grid and y < T.grid and r < PARTS[part].rotations
    place = (r * T.grid + y) * T.grid + x
    legal = on_grid and entry_usable(S, FIRST, T, stage, entry) and is_place(T, stage, entry, place)
    need(legal, "parts at legal places", word)
    put_request(S, FIRST, T, stage, entry, place)


def _end(S: Row, T: Tables, stage: int) -> None:
    """Ends the game after a stage: the last one, or one that fell short."""
    need(S[0, at.TARGET + stage], f"a target of {FIELD_OF_STAGE[stage]} before the end", "-")
    note_failure(S, FIRST, T, stage)
    ended = S[0, at.REASONS] or rules.next_phase(S, FIRST, T, stage) == 0
    need(ended, "the end only after the last stage, or after one that fell short", FIELD_OF_STAGE[stage])
    rules.finish(S, FIRST)


def _read_requests(S: Row, T: Tables, stage: int, words: Mapping[str, str]) -> None:
    """Reads what is known of the running stage's requests, and whose turn it is."""
    known = entries(T, stage)
    fits = re.fullmatch(r"[0-9]{1,2}", words["skips"]) and int(words["skips"]) < MOST_SKIPS
    need(fits, f"skips in 0..{MOST_SKIPS - 1}", words["skips"])
    S[0, at.SKIPS] = int(words["skips"])
    for name in _names(known, words["none"]):
        S[0, at.EXHAUSTED] |= 1 << known[name]
    seen = _names(known, words["next"])
    need(len(seen) <= at.PREVIEW, f"at most {at.PREVIEW} requests in sight", words["next"])
    for k, name in enumerate(seen):
        S[0, at.QUEUE + k] = known[name] + 1
    begun = bool(S[0, at.SKIPS] or S[0, at.EXHAUSTED] or seen or S[0, at.POINTS + stage])
    if S[0, at.TARGET + stage] == 0:
        need(not begun, f"a target of {FIELD_OF_STAGE[stage]} before its requests", words["next"])
        S[0, at.TURN] = rules.DRAW_TARGET
        return
    need(not phase_over(S, FIRST, T, stage), "a phase that is not over", FIELD_OF_STAGE[stage])
    S[0, at.TURN] = rules.DECISION if len(seen) == at.PREVIEW else rules.DRAW_REQUEST
    full = not rules.fill_preview(S, FIRST, T, stage) or len(seen) == at.PREVIEW
    need(full, f"{at.PREVIEW} requests in sight", words["next"])
    for name in seen[:1]:
        placed = entry_usable(S, FIRST, T, stage, known[name]) and has_place(T, stage, known[name])
        need(placed, "a first request that can be placed", name)


def _names(known: Mapping[str, int], text: str) -> list[str]:
    names = [] if text == "-" else text.split(",", 12)
    for name in names:
        need(name in known, f"requests among {', '.join(known)}", name)
    return names


def to_board(row: Row, T: GameTables) -> str:
    """Returns the ship in letters, one row of the grid a line."""
    return ship_at(row, T).text


def outcome_name(before: Row, after: Row, tables: GameTables) -> str:
    """Returns what chance drew: a digit, a target or a request; requests that are skipped alike are named together."""
    T, phase = tables.ship, int(before[at.PHASE])
    if before[at.TURN] == rules.DRAW_TARGET:
        return str(after[at.TARGET + phase])
    rows = np.empty((1, len(before)), dtype=before.dtype)
    names = []
    hull = before[at.TURN] == rules.DRAW_HULL
    draws = {f"{digit:x}": digit for digit in range(16)} if hull else entries(T, phase)
    for name, draw in draws.items():
        rows[0] = before
        take(rows, FIRST, T, draw)
        if np.array_equal(rows[0], after):
            names.append(name)
    return "+".join(names)
