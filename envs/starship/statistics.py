"""Figures over many ships: validity, quality and its terms, whether targets are met, speed, and how different the ships are.

Source of the set score: the PCG Benchmark (Khalifa, Gallotta, Barthet, Liapis, Togelius, Yannakakis, 2025). Members that are
too similar to others are dropped, the one that is similar to most first, and the rest is counted.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Bytes, Floats
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, LETTERS, PARTS, SPACE
from leafwise.envs.starship.check import check
from leafwise.envs.starship.draw import hull_box
from leafwise.envs.starship.generator import Generator
from leafwise.envs.starship.quality import FIGURES, TERMS
from leafwise.envs.starship.settings import FACINGS, Parameters
from leafwise.envs.starship.ship import RATIOS, PlacedPart, Ship
from leafwise.envs.starship.targets import FIRE, asked_errors, reached_by

DIFFERENT = 0.4
"""Two ships are different if at least this share of their occupied cells differs."""
LAYERS = {LETTERS[SPACE]: 0, **{part.letter: k for k, part in enumerate(PARTS, 1)}}
LAYERS |= {LETTERS[CORRIDOR]: len(PARTS) + 1, LETTERS[ARMOUR]: len(PARTS) + 2}


def part_map(ship: Ship) -> Bytes:
    """Returns what each cell holds, with the hull's bounding box in the middle; shape [grid, grid].

    0 is space, 1 to 11 are the parts of the catalogue, 12 is corridor, 13 armour.
    """
    cells = np.array([[LAYERS[letter] for letter in line] for line in ship.text.split("\n")], np.uint8)
    box = hull_box(ship, 0)
    hull = cells[box.top : box.bottom, box.left : box.right]
    aligned = np.zeros_like(cells)
    top, left = (ship.grid - hull.shape[0]) // 2, (ship.grid - hull.shape[1]) // 2
    aligned[top : top + hull.shape[0], left : left + hull.shape[1]] = hull
    return aligned


def share_that_differs(one: Bytes, other: Bytes) -> float:
    """Returns the share of cells that differ, among those that are occupied in either of two maps of parts."""
    return float((one != other).sum() / max(1, ((one != 0) | (other != 0)).sum()))


def pairwise_distances(ships: Sequence[Ship]) -> Floats:
    """Returns for every pair of ships the share of their occupied cells that differ; shape [n, n]."""
    maps = [part_map(ship) for ship in ships]
    distances = np.zeros((len(ships), len(ships)))
    for a, b in itertools.combinations(range(len(ships)), 2):
        distances[a, b] = distances[b, a] = share_that_differs(maps[a], maps[b])
    return distances


def core_layout(parts: Sequence[PlacedPart]) -> tuple[int, int, int] | None:
    """Returns the cockpit's rotation and the reactor's offset from it in columns and rows.

    None unless the ship has both.
    """
    cockpit, reactor = (next((part for part in parts if part.id == name), None) for name in ("cockpit", "reactor"))
    return (cockpit.r, reactor.x - cockpit.x, reactor.y - cockpit.y) if cockpit and reactor else None


def core_entropy(ships: Sequence[Ship]) -> float:
    """Returns the entropy, in bits, of the layout of the core: the cockpit's rotation and the reactor's place relative to it.

    A builder that always lays out the core in the same way has 0, even if its ships differ elsewhere. Ships without a cockpit
    or a reactor are left out.
    """
    return entropy(filter(None, (core_layout(ship.parts) for ship in ships)))


def set_score(distances: Floats) -> float:
    """Returns the share of ships that is left after those too similar to others are dropped."""
    alike = distances < DIFFERENT
    np.fill_diagonal(alike, False)
    left = np.ones(len(alike), dtype=bool)
    while (counts := (alike & left).sum(axis=1) * left).any():
        left[int(counts.argmax())] = False
    return float(left.mean())


def entropy(things: Iterable[Hashable]) -> float:
    """Returns the entropy of the frequencies of equal things, in bits; 0 for none."""
    counts = np.array(list(Counter(things).values()), dtype=float)
    shares = counts / max(1.0, counts.sum())
    return float(-(shares * np.log2(shares)).sum()) + 0.0


MEASURED = (
    *("quality", *TERMS, *FIGURES),
    *(name for name, _, _ in RATIOS),
    "parts",
)
"""Figures that are given as mean and standard deviation over the valid ships."""
SPLIT_TOLERANCE = 0.25
"""The largest total variation distance at which the firepower's facings count as the requested ones."""
PIECE = 300
"""Ships made as one piece of work. Those of the first piece are compared pair by pair: more would take long and change little."""
Tallies = list[dict[str, Any]]
"""The figures of each ship of a piece."""


def survey(
    parameters: Parameters,
    seeds: Sequence[int],
    *,
    checked: bool = False,
    targets: Mapping[str, Any] | None = None,
    each: Callable[[Callable[[Sequence[int]], Tallies], Sequence[Sequence[int]]], Iterable[Tallies]] = map,
) -> dict[str, Any]:
    """Makes the ship of every seed and returns the figures by name.

    Shares are from 0 to 1. `ships_per_second` counts generation with retries and figures, in processor time, after warm-up.

    `targets` are those that `parameters` were given (`with_targets`). Then `controllability` is the share of ships, valid or
    not, that meet each target, and `target_error` the mean error. Without targets, only the facings of the weapons are compared
    with their weights.

    With `checked`, every ship is also checked against the rules, and `broken` counts the broken rules by name. `each` yields
    the results of pieces of the seeds in order, wherever the pieces are worked on.
    """
    if not seeds:
        raise UserError("expected at least one seed, got none")
    pieces = [seeds[k : k + PIECE] for k in range(0, len(seeds), PIECE)]
    work = partial(_survey, parameters, targets or {}, seeds[0], checked)
    tallies = [tally for part in each(work, pieces) for tally in part]

    def column(name: str) -> Floats:
        return np.array([tally[name] for tally in tallies], dtype=float)

    def count(name: str) -> dict[str, int]:
        return dict(sorted(Counter(word for tally in tallies for word in tally[name]).items()))

    valid, attempts = column("valid") == 1, column("attempt")
    figures: dict[str, Any] = {
        "preset": parameters.preset,
        "seeds": [int(min(seeds)), int(max(seeds)) + 1],
        "ships": len(seeds),
        "first_attempt_valid": _mean(valid & (attempts == 0)),
        "valid": _mean(valid),
        "attempts_most": int(attempts.max()) + 1,
        "first_attempt_reasons": count("first_reasons"),
        "ships_per_second": round(len(seeds) / column("seconds").sum(), 1),
    }
    for name in MEASURED:
        values = column(name)[valid]
        figures[name] = {"mean": _mean(values), "sd": round(float(values.std()), 4) if values.size else 0.0}
    ships = [tally["ship"] for tally in tallies[:PIECE]]
    figures["diversity"] = {"ships": len(ships), **diversity(ships), "core_entropy": round(core_entropy(ships), 4)}
    if targets:
        errors_by_ship = [tally["errors"] for tally in tallies]
        errors = {name: np.array([errors[name] for errors in errors_by_ship]) for name in errors_by_ship[0]}
        figures["controllability"] = {name: _mean(array == 0) for name, array in errors.items()}
        figures["target_error"] = {name: _mean(array) for name, array in errors.items()}
    else:
        figures["controllability"] = {"fire": _mean(column("fire_as_asked"))}
    if checked:
        figures["broken"] = count("broken")
    return figures


def _survey(
    parameters: Parameters, targets: Mapping[str, Any], first: int, checked: bool, seeds: Sequence[int]
) -> Tallies:
    """Makes the ships of a piece of the seeds and returns their figures; `first` is the first seed of all pieces."""
    generator = Generator(parameters)
    generator.ship(seeds[0])  # loads the machine code
    tallies = []
    for seed in seeds:
        started = time.process_time()
        ship = generator.ship(seed)
        tallies.append(
            {
                **ship.stats,
                "seconds": time.process_time() - started,
                "ship": ship if seeds[0] == first else None,
                "errors": asked_errors(ship, targets),
                "parts": len(ship.parts),
                "valid": ship.valid,
                "attempt": ship.attempt,
                "fire_as_asked": _fire_as_asked(ship),
                "first_reasons": (ship if ship.attempt == 0 else generator.attempt(seed, 0)).reasons,
                "broken": [fault.rule for fault in check(ship)] if checked and ship.valid else [],
            }
        )
    return tallies


def diversity(ships: Sequence[Ship]) -> dict[str, float]:
    """Returns how different ships are: `set_score`, and the mean of `pairwise_distances`."""
    distances, pairs = pairwise_distances(ships), len(ships) * (len(ships) - 1)
    mean = distances.sum() / pairs if pairs else 0.0
    return {"set_score": round(set_score(distances), 4), "mean_distance": round(float(mean), 4)}


def _fire_as_asked(ship: Ship) -> bool:
    """Returns whether the firepower's facings are near the weights of the weapons stage."""
    stage = ship.parameters.weapons
    asked = np.array([getattr(stage, name) for name in FACINGS], dtype=float)
    fire = np.array(list(reached_by(ship).values())[FIRE:])
    return bool(fire.any() and 0.5 * np.abs(fire / fire.sum() - asked / asked.sum()).sum() <= SPLIT_TOLERANCE)


def _mean(values: Array) -> float:
    return round(float(values.mean()), 4) if values.size else 0.0
