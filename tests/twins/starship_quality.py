"""The quality of a ship in plain Python, term by term from the rules."""

from __future__ import annotations

from typing import Any

MASS = {"C": 4, "R": 4, "t": 1.3, "T": 2.45, "H": 4.99, "c": 4.44, "L": 12.29, "A": 4, "P": 4, "Q": 4, "b": 2}
THRUST = {"t": 400, "T": 1200, "H": 3200}
FIREPOWER = {"c": 1, "L": 2}
WAYS = ((0, -1), (1, 0), (0, 1), (-1, 0))


def quality(p: Any, full: int) -> float:
    """Returns the weighted sum of the terms of a ship as it stands, missing terms 0."""
    if not p.parts:
        return 0.0
    terms = (thrust(p), cockpit(p), supply(p), crew(p), fire(p, full), skin(p))
    return sum(weight * term for weight, term in zip((0.2, 0.2, 0.2, 0.15, 0.15, 0.1), terms, strict=True))


def cells(p: Any, k: int) -> set[tuple[int, int]]:
    return {c for c, number in p.room.items() if number == k}


def cells_of(p: Any, letters: str) -> set[tuple[int, int]]:
    return {c for c, number in p.room.items() if p.parts[number][0] in letters}


def middle(p: Any, k: int) -> tuple[float, float]:
    own = cells(p, k)
    return sum(x + 0.5 for x, _ in own) / len(own), sum(y + 0.5 for _, y in own) / len(own)


def thrust(p: Any) -> float:
    masses = [(3.0 if c in p.armour else 1.0, c[0] + 0.5, c[1] + 0.5) for c in p.hull if c not in p.room]
    masses += [(MASS[part[0]], *middle(p, k)) for k, part in enumerate(p.parts)]
    total = sum(m for m, _, _ in masses)
    centre = [sum(m * xy[axis] for m, *xy in masses) / total for axis in (0, 1)]
    term = 0.0
    for facing, weight in enumerate((1 / 8, 1 / 8, 5 / 8, 1 / 8)):
        own = [k for k, (letter, r, _, _) in enumerate(p.parts) if letter in THRUST and r == facing]
        if own:
            axis = facing % 2
            force = [THRUST[p.parts[k][0]] for k in own]
            c = sum(f * middle(p, k)[axis] for f, k in zip(force, own, strict=True)) / sum(force)
            across = [cell[axis] for cell in p.hull]
            half = (max(across) - min(across) + 1) / 2
            term += weight * max(0.0, 1 - 2 * abs(c - centre[axis]) / half)
    return term


def cockpit(p: Any) -> float:
    own = cells_of(p, "C")
    sides = []
    for x, y in own:
        for dx, dy in WAYS:
            if (x + dx, y + dy) not in own:
                line = [(x + n * dx, y + n * dy) for n in range(1, 64)]
                worth = [1.0 if c in p.armour else 0.5 if c in p.room else 0.25 for c in line if c in p.hull]
                sides.append(min(1.0, sum(worth) / 6))
    return sum(sides) / len(sides) if sides else 0.0


def share(p: Any, supplies: str, consumers: str) -> float:
    near = p.steps(cells_of(p, supplies), 12)
    wanted = [k for k, part in enumerate(p.parts) if part[0] in consumers]
    return sum(any(c in near for c in cells(p, k)) for k in wanted) / len(wanted) if wanted else 0.0


def supply(p: Any) -> float:
    return 0.5 * share(p, "A", "cL") + 0.5 * share(p, "RP", "tTHA")


def crew(p: Any) -> float:
    rooms = cells_of(p, "Qb")
    posts = [k for k, part in enumerate(p.parts) if part[0] in "CcL"]
    if not rooms or not posts:
        return 0.0
    steps = p.steps(rooms, 24)
    return 1 - sum(min(steps.get(c, 24) for c in cells(p, k)) / 24 for k in posts) / len(posts)


def fire(p: Any, full: int) -> float:
    power = [sum(FIREPOWER.get(letter, 0) for letter, r, _, _ in p.parts if r == facing) for facing in range(4)]
    total = sum(power)
    if not total:
        return 0.0
    far = sum(abs(f / total - wanted) for f, wanted in zip(power, (0.4, 0.2, 0.2, 0.2), strict=True)) / 2
    return min(1, total / full) * (1 - far)


def skin(p: Any) -> float:
    border = [(x, y) for x, y in p.hull if any((x + dx, y + dy) not in p.hull for dx, dy in WAYS)]
    hard = p.armour | cells_of(p, "tTHcL")
    return sum(c in hard for c in border) / len(border) if border else 0.0
