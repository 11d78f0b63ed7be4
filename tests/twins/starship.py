"""Starship's building game in plain Python, written from the rules alone: sets of cells, searches by hand."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from twins.starship_hull import WAYS, Cell, hull
from twins.starship_quality import quality

# letter: width, height at rotation 0, rotations, points, lane (0: no facing), stage
PARTS = {
    "C": (2, 2, 4, 1, 0, "cockpit"),
    "R": (2, 2, 1, 1, 0, "reactor"),
    "t": (1, 1, 4, 1, 3, "thrusters"),
    "T": (1, 2, 4, 2, 5, "thrusters"),
    "H": (2, 2, 4, 4, 7, "thrusters"),
    "c": (2, 1, 4, 1, 99, "weapons"),
    "L": (3, 2, 4, 2, 99, "weapons"),
    "A": (2, 2, 1, 1, 0, "ammo_supplies"),
    "P": (2, 2, 1, 1, 0, "power_storage"),
    "Q": (2, 2, 1, 6, 0, "crew"),
    "b": (2, 1, 2, 2, 0, "crew"),
}
NAMES = "cockpit reactor thruster_small thruster_med thruster_large cannon_med cannon_large ammo_supply power_storage quarters bunk"
LETTERS = dict(zip(NAMES.split(), PARTS, strict=True))
PHASES = ("cockpit", "reactor", "thrusters", "weapons", "ammo_supplies", "power_storage", "crew")
# request: weight
REQUESTS: dict[str, dict[str, int]] = {
    "cockpit": {"C": 1},
    "reactor": {"R": 1},
    "thrusters": {
        k + d: w * v for k, w in zip("tTH", (1, 2, 3), strict=True) for d, v in zip("NESW", (1, 1, 5, 1), strict=True)
    },
    "weapons": {
        k + d: w * v for k, w in zip("cL", (2, 1), strict=True) for d, v in zip("NESW", (2, 1, 1, 1), strict=True)
    },
    "ammo_supplies": {"A": 1},
    "power_storage": {"P": 1},
    "crew": {"Q": 1, "b": 1},
}
PRESETS: dict[str, dict[str, Any]] = {
    "scout": {
        "grid": 24, "modules": 5, "radius": (3, 4), "side": (5, 9), "layers": 1, "full": 4,
        "range": {"thrusters": (8, 12), "weapons": (3, 5), "ammo_supplies": (1, 1), "power_storage": (1, 1), "crew": (8, 8)},
    },
    "classic": {
        "grid": 48, "modules": 8, "radius": (3, 6), "side": (5, 12), "layers": 2, "full": 10,
        "range": {"thrusters": (35, 45), "weapons": (8, 12), "ammo_supplies": (2, 3), "power_storage": (1, 2), "crew": (24, 24)},
    },
}  # fmt: skip


def footprint(letter: str, r: int, x: int, y: int) -> list[Cell]:
    w, h = PARTS[letter][:2] if r % 2 == 0 else PARTS[letter][1::-1]
    return [(a, b) for b in range(y, y + h) for a in range(x, x + w)]


def slots(letter: str, r: int) -> list[tuple[int, int, int]]:
    """Allowed door slots, back first: S left to right, W and E bottom to top, N left to right; then turned."""
    w, h, _, _, lane, _ = PARTS[letter]
    south, north = [(x, h - 1, 2) for x in range(w)], [(x, 0, 0) for x in range(w)]
    west, east = ([(x, y, d) for y in reversed(range(h))] for x, d in ((0, 3), (w - 1, 1)))
    found = south + list(west) + list(east) + ([] if lane else north)
    if letter == "C":
        found = [(x, y, d) for x, y, d in found if d == 2 or (d != 0 and y >= 1)]
    for _ in range(r):
        found = [(h - 1 - y, x, (d + 1) % 4) for x, y, d in found]
        w, h = h, w
    return found


class Position:
    """A ship that is being built."""

    def __init__(self, grid: int) -> None:
        self.grid = grid
        self.key: str | None = ""
        self.hull: frozenset[Cell] = frozenset()
        self.parts: list[tuple[str, int, int, int]] = []
        self.room: dict[Cell, int] = {}
        self.armour: set[Cell] = set()
        self.doors: set[frozenset[Cell]] = set()
        self.targets: dict[str, int] = {}
        self.phase = ""
        self.skips = 0
        self.none: set[str] = set()
        self.next: list[str] = []
        self.over = self.failed = False
        self.end = ""

    def copy(self) -> Position:
        other = copy.copy(self)
        for name in ("parts", "room", "armour", "doors", "targets", "none", "next"):
            setattr(other, name, copy.copy(getattr(self, name)))
        return other

    def is_floor(self, c: Cell) -> bool:
        return c in self.hull and c not in self.room and c not in self.armour

    def passable(self, a: Cell, b: Cell) -> bool:
        if not all(c in self.hull and c not in self.armour for c in (a, b)):
            return False
        return self.room.get(a) == self.room.get(b) or frozenset((a, b)) in self.doors

    def neighbours(self, c: Cell) -> list[Cell]:
        return [n for dx, dy in WAYS if self.passable(c, n := (c[0] + dx, c[1] + dy))]

    def steps(self, start: set[Cell], most: int, closed: set[Cell] | None = None) -> dict[Cell, int]:
        """Returns the crew steps from the nearest of some cells, up to a limit."""
        found = dict.fromkeys(start, 0)
        front = list(start)
        for step in range(1, most + 1):
            ahead = []
            for c in front:
                for n in self.neighbours(c):
                    if n not in found and not (closed and n in closed):
                        found[n] = step
                        ahead.append(n)
            front = ahead
        return found

    def contiguous(self, cells: list[Cell], limit: int) -> bool:
        block = set(cells)
        opened: list[Cell] = []
        for c in cells:
            opened += [n for n in self.neighbours(c) if n not in block and n not in opened]
        if len(opened) <= 1:
            return not any(n in self.room for n in opened)  # a room's only door must stay open
        w, h = len({x for x, _ in cells}), len({y for _, y in cells})
        reached = self.steps({opened[0]}, limit + w + h - 2, block)
        return all(n in reached for n in opened)

    def close(self, c: Cell) -> None:
        if self.is_floor(c) and self.contiguous([c], 5):
            self.armour.add(c)

    def door(self, letter: str, r: int, x: int, y: int) -> frozenset[Cell] | None:
        for dx, dy, d in slots(letter, r):
            inside, outside = (x + dx, y + dy), (x + dx + WAYS[d][0], y + dy + WAYS[d][1])
            if self.is_floor(outside):
                return frozenset((inside, outside))
        return None

    def lane_clear(self, cells: list[Cell], r: int, length: int) -> bool:
        dx, dy = WAYS[r]
        front = [c for c in cells if (c[0] + dx, c[1] + dy) not in cells]
        return not any((x + n * dx, y + n * dy) in self.hull for x, y in front for n in range(1, min(length, 64) + 1))

    def is_legal(self, letter: str, r: int, x: int, y: int) -> bool:
        cells, lane = footprint(letter, r, x, y), PARTS[letter][4]
        if not all(self.is_floor(c) for c in cells) or (lane and not self.lane_clear(cells, r, lane)):
            return False
        return self.door(letter, r, x, y) is not None and self.contiguous(cells, 5)

    def put(self, letter: str, r: int, x: int, y: int) -> None:
        door = self.door(letter, r, x, y)
        assert door is not None
        self.doors.add(door)
        self.room.update(dict.fromkeys(footprint(letter, r, x, y), len(self.parts)))
        self.parts.append((letter, r, x, y))

    def points(self, phase: str) -> int:
        return sum(PARTS[letter][3] for letter, *_ in self.parts if PARTS[letter][5] == phase)

    def ring(self, letter: str, layers: int) -> None:
        for kind, r, x0, y0 in self.parts:
            if kind == letter:
                (x1, y1) = footprint(kind, r, x0, y0)[-1]
                for n in range(1, layers + 1):
                    for y in range(y0 - n, y1 + n + 1):
                        for x in range(x0 - n, x1 + n + 1):
                            if max(x0 - x, x - x1, y0 - y, y - y1) == n:
                                self.close((x, y))

    def raster(self) -> list[Cell]:
        return sorted(self.hull, key=lambda c: (c[1], c[0]))

    def armour_skin(self) -> None:
        for x, y in self.raster():
            if any((x + a, y + b) not in self.hull for a in (-1, 0, 1) for b in (-1, 0, 1)):
                self.close((x, y))

    def may_have_door(self, c: Cell, d: int) -> bool:
        if c not in self.room:
            return True
        letter, r, x, y = self.parts[self.room[c]]
        return (c[0] - x, c[1] - y, d) in slots(letter, r)

    def finish(self) -> None:
        """Stages 13 and 14."""
        for c in self.raster():
            self.close(c)
        for c in self.raster():
            for d, (dx, dy) in ((1, (1, 0)), (2, (0, 1))):
                n = (c[0] + dx, c[1] + dy)
                if any(k not in self.hull or k in self.armour for k in (c, n)) or self.passable(c, n):
                    continue
                allowed = self.may_have_door(c, d) and self.may_have_door(n, (d + 2) % 4)
                if allowed and n not in self.steps({c}, 10):
                    self.doors.add(frozenset((c, n)))


def position_of(ship: Any) -> Position:
    """Returns a ship of the generator as a position; trusts it."""
    p = Position(ship.grid)
    p.hull, p.armour = frozenset(ship.hull_cells), set(ship.armour)
    p.parts = [(LETTERS[part.id], part.r, part.x, part.y) for part in ship.parts]
    p.room = {c: k for k, part in enumerate(p.parts) for c in footprint(*part)}
    p.doors = {frozenset(((d.x, d.y), (d.x + (d.side == "E"), d.y + (d.side == "S")))) for d in ship.doors}
    return p


class Twin:
    """The rules of one variant."""

    def __init__(self, options: Any) -> None:
        self.preset = PRESETS[options.preset]

    def span(self, phase: str) -> tuple[int, int]:
        low, high = self.preset["range"].get(phase, (1, 1))
        return low, high

    def player(self, p: Position) -> str:
        if p.over:
            return "nobody"
        return "first" if len(p.next) == 3 else "chance"

    def returns(self, p: Position) -> float:
        return 0.0 if p.failed else quality(p, self.preset["full"])

    def places(self, p: Position, request: str) -> list[str]:
        letter = request[0]
        ways = ["NESW".index(request[1])] if len(request) > 1 else range(PARTS[letter][2])
        return [
            f"{x},{y}{'NESW'[r]}"
            for r in ways
            for y in range(p.grid)
            for x in range(p.grid)
            if (x, y) in p.hull and p.is_legal(letter, r, x, y)
        ]

    def legal(self, p: Position) -> list[str]:
        return self.places(p, p.next[0])

    def has_place(self, p: Position, request: str) -> bool:
        letter = request[0]
        ways = ["NESW".index(request[1])] if len(request) > 1 else range(PARTS[letter][2])
        return any(p.is_legal(letter, r, x, y) for x, y in p.hull for r in ways)

    def play(self, p: Position, name: str) -> Position:
        p = p.copy()
        x, y = map(int, name[:-1].split(","))
        p.put(p.next.pop(0)[0], "NESW".index(name[-1]), x, y)
        p.skips = 0
        return self.go_on(p)

    def usable(self, p: Position, request: str) -> bool:
        fits = p.phase == "crew" or p.points(p.phase) + PARTS[request[0]][3] <= self.span(p.phase)[1]
        return fits and request not in p.none

    def go_on(self, p: Position) -> Position:
        """Carries a position on to the next decision, draw or end."""
        while p.phase in p.targets:
            known = REQUESTS[p.phase]
            if p.points(p.phase) >= p.targets[p.phase] or p.skips >= 64 or not any(self.usable(p, k) for k in known):
                self.leave(p)
                continue
            if len(known) == 1:
                p.next = list(known) * 3
            if not p.next:
                break
            if self.usable(p, p.next[0]):
                if self.has_place(p, p.next[0]):
                    break
                p.none.add(p.next[0])
            p.skips += 1
            p.next.pop(0)
        return p

    def leave(self, p: Position) -> None:
        """Ends the running phase and begins the next, after the armour between them."""
        p.skips, p.none, p.next = 0, set(), []
        p.failed = bool(p.phase) and p.points(p.phase) < self.span(p.phase)[0]
        if p.failed or p.phase == "crew":
            if not p.failed:
                p.finish()
            p.over = True
            p.end, p.phase = p.phase, ""
            return
        if p.phase == "reactor":
            p.ring("C", self.preset["layers"])
            p.ring("R", 1)
        if p.phase == "weapons":
            p.armour_skin()
        p.phase = PHASES[PHASES.index(p.phase) + 1] if p.phase else "cockpit"
        low, high = self.span(p.phase)
        if low == high:
            p.targets[p.phase] = low

    def outcomes(self, p: Position) -> list[tuple[float, Position]]:
        found = []
        if p.key is not None:
            for digit in "0123456789abcdef":
                q = p.copy()
                q.key = p.key + digit
                found.append((1 / 16, self.hulled(q) if len(q.key) == 16 else q))
        elif p.phase not in p.targets:
            low, high = self.span(p.phase)
            for target in range(low, high + 1):
                q = p.copy()
                q.targets[p.phase] = target
                found.append((1 / (high - low + 1), self.go_on(q)))
        else:
            weights = REQUESTS[p.phase]
            for request, weight in weights.items():
                q = p.copy()
                q.next.append(request)
                found.append((weight / sum(weights.values()), q if p.next else self.go_on(q)))
        return found

    def hulled(self, p: Position) -> Position:
        s = self.preset
        p.hull = hull(int(p.key or "", 16), s["grid"], s["modules"], s["radius"], s["side"])
        p.key = None
        self.leave(p)
        return self.go_on(p)

    def write(self, p: Position) -> str:
        if p.key is not None:
            return f"key=0x{p.key}"
        lines = ["".join("." if (x, y) in p.hull else "_" for x in range(p.grid)) for y in range(p.grid)]
        runs = "/".join(re.sub(r"(.)\1*", lambda run: f"{len(run[0])}{run[1]}", line) for line in lines)
        parts = ";".join(f"{letter}{x},{y}{'NESW'[r]}" for letter, r, x, y in p.parts)
        targets = "/".join(str(n) for k, n in p.targets.items() if self.span(k)[0] != self.span(k)[1])
        text = f"hull={runs} parts={parts or '-'} targets={targets or '-'} phase={p.end if p.over else p.phase}"
        if p.over:
            return text + " over"
        none = ",".join(request for request in REQUESTS[p.phase] if request in p.none)
        return f"{text} skips={p.skips} none={none or '-'} next={','.join(p.next) or '-'}"

    def read(self, text: str) -> Position:
        """Reads what `write` writes; trusts it."""
        p = Position(self.preset["grid"])
        if text.startswith("key=0x"):
            p.key = text.removeprefix("key=0x")
            return p
        words = dict(word.split("=") for word in text.removesuffix(" over").split())
        p.key = None
        lines = [re.sub(r"(\d+)(.)", lambda run: int(run[1]) * run[2], row) for row in words["hull"].split("/")]
        p.hull = frozenset((x, y) for y, line in enumerate(lines) for x, c in enumerate(line) if c == ".")
        targets = [] if words["targets"] == "-" else [int(n) for n in words["targets"].split("/")]
        parts = [] if words["parts"] == "-" else words["parts"].split(";")
        while p.phase != words["phase"]:
            self.leave(p)
            if p.phase not in p.targets and targets:
                p.targets[p.phase] = targets.pop(0)
            while parts and PARTS[parts[0][0]][5] == p.phase:
                x, y = parts[0][1:-1].split(",")
                p.put(parts[0][0], "NESW".index(parts[0][-1]), int(x), int(y))
                parts.pop(0)
        if text.endswith(" over"):
            self.leave(p)
            return p
        p.skips = int(words["skips"])
        p.none = set() if words["none"] == "-" else set(words["none"].split(","))
        p.next = [] if words["next"] == "-" else words["next"].split(",")
        return p

    def unusual(self, rng: Random) -> Iterator[str]:
        """Yields stages that are nearly given up, and a hull too small for all thrusters."""
        rows = ["24_"] * 8 + ["8_8.8_"] * 7 + ["24_"] * 9
        if self.preset["grid"] == 48:
            rows = ["48_"] * 16 + ["10_28.10_"] * 16 + ["48_"] * 16
            yield f"hull={'/'.join(rows)} parts=C20,20N;R26,26N targets=45 phase=thrusters skips=63 none=TE,HE next=tN,tS,TS"
            return
        core = f"hull={'/'.join(rows)} parts=C11,11N;R11,8N"
        yield f"{core} targets=12 phase=thrusters skips=63 none=TS,HS next=tN,HS,tS"
        yield f"{core} targets=12 phase=thrusters skips=63 none=- next=-"
        yield f"{core} targets=12 phase=thrusters skips=10 none=- next=tS"
        yield f"{core} targets=- phase=thrusters skips=0 none=- next=-"
