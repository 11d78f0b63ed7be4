"""The compiled legality against a twin in plain Python, written from the rules, on boards of every stage."""

from collections import deque

import numpy as np
import pytest

from leafwise.envs.starship import Generator, Ship, tables
from leafwise.envs.starship.board import contiguous, load_planes
from leafwise.envs.starship.ship import fill_row

ROW = np.uint64(0)
STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))

# name: size at rotation 0, rotations, clear lane (None for no facing)
PARTS = {
    "cockpit": (2, 2, 4, None),
    "reactor": (2, 2, 1, None),
    "thruster_small": (1, 1, 4, 3),
    "thruster_med": (1, 2, 4, 5),
    "thruster_large": (2, 2, 4, 7),
    "cannon_med": (2, 1, 4, 99),
    "cannon_large": (3, 2, 4, 99),
    "ammo_supply": (2, 2, 1, None),
    "power_storage": (2, 2, 1, None),
    "quarters": (2, 2, 1, None),
    "bunk": (2, 1, 2, None),
}


class Twin:
    """A board as dictionaries, and the rules on it."""

    def __init__(self, ship: Ship) -> None:
        self.kind = {(x, y): "." for y, line in enumerate(ship.hull) for x, c in enumerate(line) if c == "."}
        self.kind.update(dict.fromkeys(ship.armour, "#"))
        for k, part in enumerate(ship.parts):
            w, h = PARTS[part.id][:2]
            if part.r % 2:
                w, h = h, w
            self.kind.update({(part.x + i, part.y + j): str(k) for i in range(w) for j in range(h)})
        self.doors = {(door.x, door.y, door.side) for door in ship.doors}

    def passable(self, a, b):
        ka, kb = self.kind.get(a, "#"), self.kind.get(b, "#")
        if "#" in (ka, kb):
            return False
        (x, y), side = min(a, b), "E" if a[1] == b[1] else "S"
        return ka == kb or (x, y, side) in self.doors

    def contiguous(self, x, y, w, h, limit):
        block = [(i, j) for j in range(y, y + h) for i in range(x, x + w)]
        members = []
        for i, j in block:
            for dx, dy in STEPS:
                n = (i + dx, j + dy)
                if n not in block and n not in members and self.passable((i, j), n):
                    members.append(n)
        if len(members) <= 1:
            return all(self.kind[n] == "." for n in members)
        steps, queue = {members[0]: 0}, deque(members[:1])
        while queue:
            here = queue.popleft()
            for dx, dy in STEPS:
                n = (here[0] + dx, here[1] + dy)
                if n not in steps and n not in block and self.passable(here, n):
                    steps[n] = steps[here] + 1
                    queue.append(n)
        return all(steps.get(n, 999) <= limit + w + h - 2 for n in members)

    def has_door(self, name, r, x, y):
        """Any allowed side with corridor behind it; sides are named at rotation 0 and turned with the part."""
        w, h, _, clear = PARTS[name]
        for i in range(w):
            for j in range(h):
                for d, (dx, dy) in enumerate(STEPS):
                    if 0 <= i + dx < w and 0 <= j + dy < h:
                        continue
                    if d == 0 and (clear or name == "cockpit"):
                        continue
                    if name == "cockpit" and j == 0 and d in (1, 3):
                        continue
                    inside, (tw, th), turned = (i, j), (w, h), d
                    for _ in range(r):
                        inside, (tw, th), turned = (th - 1 - inside[1], inside[0]), (th, tw), (turned + 1) % 4
                    out = (x + inside[0] + STEPS[turned][0], y + inside[1] + STEPS[turned][1])
                    if self.kind.get(out) == ".":
                        return True
        return False

    def legal(self, name, r, x, y, limit):
        w, h, _, clear = PARTS[name]
        if r % 2:
            w, h = h, w
        block = [(i, j) for i in range(x, x + w) for j in range(y, y + h)]
        if any(self.kind.get(cell) != "." for cell in block):
            return False
        if clear:
            dx, dy = STEPS[r]
            front = [(i, j) for i, j in block if (i + dx, j + dy) not in block]
            lane = [(i + dx * k, j + dy * k) for i, j in front for k in range(1, clear + 1)]
            if any(cell in self.kind for cell in lane):
                return False
        return self.has_door(name, r, x, y) and self.contiguous(x, y, w, h, limit)


@pytest.mark.parametrize("seed", range(3))
def test_every_placement_agrees_with_the_twin(seed, board):
    generator = Generator("scout")
    told = generator.stages(seed)
    T, S = tables.new_tables(generator.parameters), tables.new_rows(generator.parameters, 1)
    counted = 0
    for name, ship in told[1:-1:2]:
        twin = Twin(ship)
        fill_row(S[0], ship)
        load_planes(S, ROW, T)
        for number, (part, (_, _, rotations, _)) in enumerate(PARTS.items()):
            for r in range(rotations):
                found = board.legal_places(T, number, r, 5)
                expected = {(x, y) for x in range(24) for y in range(24) if twin.legal(part, r, x, y, 5)}
                assert sorted(found) == sorted(expected), (name, part, r)
                counted += len(found)
    assert counted > 500


def test_detours_agree_with_the_twin_at_every_limit():
    generator = Generator("scout")
    T, S = tables.new_tables(generator.parameters), tables.new_rows(generator.parameters, 1)
    verdicts = set()
    for seed in range(4):
        for _, ship in generator.stages(seed)[5:]:
            twin = Twin(ship)
            fill_row(S[0], ship)
            load_planes(S, ROW, T)
            floor = [cell for cell, kind in twin.kind.items() if kind == "."]
            for limit in (0, 3, 7, 20):
                for x, y in floor[:: 3 + limit % 3]:
                    verdict = bool(contiguous(T.planes, 24, x, y, 1, 1, limit))
                    assert verdict == twin.contiguous(x, y, 1, 1, limit), (seed, x, y, limit)
                    verdicts.add((limit, verdict))
    assert len(verdicts) == 8


def test_the_only_door_of_a_lone_room_stays_open(board):
    hull = board("...", "...")
    hull.put("reactor", 0, 0, 0)
    hull.run(tables.STAGE_ARMOUR)
    assert hull.doors() == {(1, 1, "E")}
    assert [line[:3] for line in hull.letters()[:2]] == ["RR#", "RR."]
