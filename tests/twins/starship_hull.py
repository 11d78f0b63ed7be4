"""Hulls of Starship in plain Python: the random stream, modules joined at random, gaps filled."""

from __future__ import annotations

Cell = tuple[int, int]
MASK, GOLDEN = (1 << 64) - 1, 0x9E3779B97F4A7C15
WAYS = ((0, -1), (1, 0), (0, 1), (-1, 0))


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Stream:
    """A stage's sub-stream at attempt 0: kind 0 says what is asked for, kind 1 where things go."""

    def __init__(self, seed: int, stage: int, kind: int) -> None:
        key = mix(mix((seed + GOLDEN) & MASK))
        self.key, self.counter = mix((key + (2 * stage + kind + 1) * GOLDEN) & MASK), 0

    def below(self, n: int) -> int:
        self.counter += 1
        u = mix((self.key + self.counter * GOLDEN) & MASK)
        return int(n * ((u >> 11) * 2.0**-53))

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)


def hull(seed: int, grid: int, modules: int, radius: tuple[int, int], side: tuple[int, int]) -> frozenset[Cell]:
    """Stages 1 and 2."""
    asked, place = Stream(seed, 1, 0), Stream(seed, 1, 1)
    cells: set[Cell] = set()
    for k in range(asked.between(modules, modules)):
        if asked.below(2) == 0:
            r = asked.between(*radius)
            disc = range(2 * r + 1)
            module = [(x, y) for y in disc for x in disc if (x - r) ** 2 + (y - r) ** 2 <= r * r + r]
            w = h = 2 * r + 1
        else:
            w, h = asked.between(*side), asked.between(*side)
            module = [(x, y) for y in range(h) for x in range(w)]
        if k == 0:
            cells = {(x + (grid - w) // 2, y + (grid - h) // 2) for x, y in module}
            continue
        ordered = sorted(cells, key=lambda c: (c[1], c[0]))
        for _ in range(50):
            hx, hy = ordered[place.below(len(ordered))]
            mx, my = module[place.below(len(module))]
            x0, y0 = hx - mx, hy - my
            if x0 >= 1 and y0 >= 1 and x0 + w <= grid - 1 and y0 + h <= grid - 1:
                cells |= {(x + x0, y + y0) for x, y in module}
                break
    filled = set(cells)
    for _ in range(2):
        filled |= {
            (x, y)
            for y in range(1, grid - 1)
            for x in range(1, grid - 1)
            if (x, y) not in filled
            and sum(any((x + n * dx, y + n * dy) in filled for n in (1, 2)) for dx, dy in WAYS) >= 2
        }
    return frozenset(piece(filled, min(cells)))


def piece(cells: set[Cell], start: Cell) -> set[Cell]:
    """Returns the 4-connected piece that holds a cell."""
    found, todo = {start}, [start]
    while todo:
        x, y = todo.pop()
        near = [(x + dx, y + dy) for dx, dy in WAYS if (x + dx, y + dy) in cells and (x + dx, y + dy) not in found]
        found.update(near)
        todo += near
    return found
