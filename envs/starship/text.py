"""Writes positions of the building game as one line of text, and reads them back.

The line is `key=0x3f` while the hull's number is drawn. After that it is `hull=... parts=... targets=... phase=...` and, until
the game is over, `skips=... none=... next=...`. They are the hull's rows in run lengths (`_` space, `.` hull); the parts in the
order of placement, as letter, top-left cell and rotation; the targets drawn so far; the running stage; how many requests were
skipped; the requests known to have no place; the requests in sight. Armour and doors follow from these: the reader builds the
ship again, and refuses what cannot come about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from leafwise.envs.core.contract.state import FIRST
from leafwise.envs.core.contract.texts import need
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import rules
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import load_planes
from leafwise.envs.starship.catalogue import CORRIDOR, DIRECTIONS, PARTS, SPACE
from leafwise.envs.starship.generator import MOST_SKIPS, entry_usable, note_failure, phase_over, put_request, weight_of
from leafwise.envs.starship.hull import from_run_lengths, run_lengths
from leafwise.envs.starship.info import MOST_ENTRIES, REQUESTS
from leafwise.envs.starship.placing import has_place, is_place
from leafwise.envs.starship.rules import HULL_DIGITS, take
from leafwise.envs.starship.settings import STAGES
from leafwise.envs.starship.ship import PlacedPart, parts_of_row, ship_at
from leafwise.envs.starship.tables import GameTables, Rows, Tables

FIELD_OF_STAGE = {number: field for number, field, _ in STAGES}
LETTER_PARTS = {part.letter: number for number, part in enumerate(PARTS)}
STAGE_OF_LETTER = {PARTS[part].letter: stage for stage, parts in at.KINDS.items() for part in parts}
WORDS = ("hull", "parts", "targets", "phase")
OPEN_WORDS = ("skips", "none", "next")


def entry_name(stage: int, entry: int) -> str:
    """Returns a request as a part's letter, and its facing if it has one."""
    part = PARTS[at.KINDS[stage][entry // 4]]
    return part.letter + (DIRECTIONS[entry % 4] if part.directional else "")


def entries(T: Tables, stage: int) -> dict[str, int]:
    """Returns the requests that a stage can make, by name."""
    return {entry_name(stage, k): k for k in range(12) if weight_of(T, stage, k) > 0}


def placing_stages(T: Tables) -> list[int]:
    """Returns the stages that place parts, in order."""
    return [stage for stage in T.order.tolist() if stage in at.KINDS]


def to_text(row: Rows, tables: GameTables) -> str:
    """Returns a row as one line of text."""
    T = tables.ship
    if row[at.TURN] == rules.DRAW_HULL:
        count = int(row[at.DIGITS])  # a word holds four
        words = [f"{int(row[at.KEY + k]):04x}"[4 - min(4, count - 4 * k) :] for k in range((count + 3) // 4)]
        return "key=0x" + "".join(words)
    phase = int(row[at.PHASE])
    cells = row[at.HEADER : at.HEADER + T.grid**2].reshape(T.grid, T.grid) & at.VALUE
    hull = run_lengths(cells != SPACE)
    placed = (part_word(part) for part, _ in parts_of_row(row, T.grid))
    drawn = (stage for stage in placing_stages(T) if T.stages[stage, at.LOW] != T.stages[stage, at.HIGH])
    targets = (str(row[at.TARGET + stage]) for stage in drawn if row[at.TARGET + stage] > 0)
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


def parse_row(text: str, tables: GameTables) -> Rows:
    """Returns the row of a position; raises ValueError for any other text."""
    T = tables.ship
    S = np.zeros((1, len(T.placed)), np.uint16)
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
    form = re.fullmatch(" ".join(f"{word}=(?P<{word}>[^ =]+)" for word in known), text.removesuffix(" over"))
    if form is None:
        raise UserError(f"expected {' '.join(f'{word}=...' for word in known)}, got {text[:80]!r}")
    words = form.groupdict()
    S[0, at.HEADER : at.HEADER + T.grid**2] = np.where(from_run_lengths(words["hull"], T.grid), CORRIDOR, SPACE).ravel()
    load_planes(S, FIRST, T)
    phases = {FIELD_OF_STAGE[number]: number for number in placing_stages(T)}
    need(words["phase"] in phases, f"phase among {', '.join(phases)}", words["phase"])
    phase = phases[words["phase"]]
    _build(S, T, phase, words["parts"], words["targets"])
    if over:
        need(S[0, at.TARGET + phase], f"a target of {words['phase']} before the end", "-")
        note_failure(S, FIRST, T, phase)
        ended = S[0, at.REASONS] or rules.next_phase(S, FIRST, T, phase) == 0
        need(ended, "the end only after the last stage, or after one that fell short", words["phase"])
        rules.finish(S, FIRST)
    else:
        _read_requests(S, T, phase, words)
    return S[0]


def _build(S: Rows, T: Tables, last: int, parts: str, targets: str) -> None:
    """Runs the stages up to `last` with these parts and drawn targets; raises ValueError if they do not fit."""
    part = "[A-Za-z][0-9]{1,2},[0-9]{1,2}[NESW]"
    need(re.fullmatch(f"-|{part}(;{part}){{0,249}}", parts), "parts like C9,8N;R9,11N, or -", parts)
    need(re.fullmatch(r"-|[0-9]{1,4}(/[0-9]{1,4}){0,9}", targets), "targets like 9/4, or -", targets)
    to_place, drawn = parts.split(";") if parts != "-" else [], targets.split("/") if targets != "-" else []
    stage = 0
    while stage != last:
        stage = int(rules.next_phase(S, FIRST, T, stage))
        rules.open_phase(S, FIRST, T, stage)
        name, low, high = FIELD_OF_STAGE[stage], int(T.stages[stage, at.LOW]), int(T.stages[stage, at.HIGH])
        if low != high and drawn:
            target = drawn.pop(0)
            need(low <= int(target) <= high, f"a target of {name} in {low}..{high}", target)
            S[0, at.TARGET + stage] = int(target)
        while to_place and STAGE_OF_LETTER.get(to_place[0][0]) == stage:
            more = S[0, at.POINTS + stage] < S[0, at.TARGET + stage]
            need(more, f"parts of {name} up to a target", to_place[0])
            _place(S, T, stage, to_place)
        enough = S[0, at.TARGET + stage] and S[0, at.POINTS + stage] >= low
        need(enough or stage == last, f"a target of {name} and enough parts before {FIELD_OF_STAGE[last]}", parts)
    need(not to_place, f"parts in the order of the stages, up to {FIELD_OF_STAGE[last]}", ";".join(to_place))
    need(not drawn, "no target of a stage that has not begun", "/".join(drawn))


def _place(S: Rows, T: Tables, stage: int, to_place: list[str]) -> None:
    """Places the first of some parts, with its mirror image if the stage has placed that too.

    Removes both from the list; raises ValueError if the place is not legal.
    """
    word, placed = to_place[0], int(S[0, at.PARTS_PLACED])
    part, r = LETTER_PARTS[word[0]], DIRECTIONS.index(word[-1])
    x, y = map(int, word[1:-1].split(","))
    entry = 4 * at.KINDS[stage].index(part) + (r if PARTS[part].directional else 0)
    on_grid = x < T.grid and y < T.grid and r < PARTS[part].rotations
    place = (r * T.grid + y) * T.grid + x
    legal = on_grid and entry_usable(S, FIRST, T, stage, entry) and is_place(T, stage, entry, place)
    need(legal, "parts at legal places", word)
    put_request(S, FIRST, T, stage, entry, place)
    for one, _ in parts_of_row(S[0], T.grid)[placed:]:
        need(to_place and to_place.pop(0) == part_word(one), f"{part_word(one)}, the mirror image, after", word)


def _read_requests(S: Rows, T: Tables, stage: int, words: Mapping[str, str]) -> None:
    """Reads the requests of the running stage and whose turn it is; raises ValueError if they do not fit."""
    known = entries(T, stage)
    fits = re.fullmatch(r"[0-9]{1,2}", words["skips"]) and int(words["skips"]) < MOST_SKIPS
    need(fits, f"skips in 0..{MOST_SKIPS - 1}", words["skips"])
    S[0, at.SKIPS] = int(words["skips"])
    none, seen = ([] if words[key] == "-" else words[key].split(",") for key in ("none", "next"))
    for name in (*none, *seen):
        need(name in known, f"requests among {', '.join(known)}", name)
    for name in none:
        S[0, at.EXHAUSTED] |= 1 << known[name]
    need(len(seen) <= at.PREVIEW, f"at most {at.PREVIEW} requests in sight", words["next"])
    S[0, at.QUEUE : at.QUEUE + len(seen)] = [known[name] + 1 for name in seen]
    if S[0, at.TARGET + stage] == 0:
        begun = S[0, at.SKIPS] or none or seen or S[0, at.POINTS + stage]
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


def to_board(row: Rows, T: GameTables) -> str:
    """Returns the ship in letters with its columns and rows numbered, and below it the parts to be placed."""
    numbers = range(T.ship.grid)
    ruler = ["   " + "".join(str(x // 10) if x % 10 == 0 and x else " " for x in numbers)] * (T.ship.grid > 10)
    ruler.append("   " + "".join(str(x % 10) for x in numbers))
    cells = [f"{y:2} {line}".rstrip() for y, line in zip(numbers, ship_at(row, T).text.split("\n"), strict=True)]
    names = REQUESTS.reshape(-1, MOST_ENTRIES + 1)[row[at.PHASE]]
    seen = [names[word] for word in row[at.QUEUE : at.QUEUE + at.PREVIEW] if word]
    then = f"; then {', '.join(seen[1:])}" if seen[1:] else ""
    return "\n".join([*ruler, *cells, *([f"to be placed: {seen[0]}{then}"] if seen else [])])


def outcome_name(before: Rows, after: Rows, tables: GameTables) -> str:
    """Returns what chance drew: a digit, a target or a request; requests with the same outcome are named together."""
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
