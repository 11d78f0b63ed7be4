"""Figures over many ships: validity, quality and its terms, whether requests are met, speed, and how different ships are.

Source of the set score: the PCG Benchmark (Khalifa, Gallotta, Barthet, Liapis, Togelius, Yannakakis, 2025): members
that are too much like others are dropped, the one with the most likenesses first, and what is left is counted."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.catalogue import ARMOUR, CORRIDOR, LETTERS, PARTS, SPACE
from leafwise.envs.starship.check import check
from leafwise.envs.starship.draw import hull_box
from leafwise.envs.starship.generator import Generator
from leafwise.envs.starship.quality import FIGURES, TERMS
from leafwise.envs.starship.settings import Parameters
from leafwise.envs.starship.ship import RATIOS, PlacedPart, Ship
from leafwise.envs.starship.targets import asked_errors

DIFFERENT = 0.4
"""Two ships are different if at least this share of their occupied cells differs."""
LAYERS = {LETTERS[SPACE]: 0, **{part.letter: k for k, part in enumerate(PARTS, 1)}}
LAYERS |= {LETTERS[CORRIDOR]: len(PARTS) + 1, LETTERS[ARMOUR]: len(PARTS) + 2}


def part_map(ship: Ship) -> NDArray[np.uint8]:
    """Returns what each cell holds, the hull's bounding box in the middle; shape [grid, grid].

    0 is space, 1 to 11 the parts of the catalogue, 12 corridor, 13 armour.
    """
    cells = np.array([[LAYERS[letter] for letter in line] for line in ship.text.split("\n")], dtype=np.uint8)
    box = hull_box(ship, 0)
    hull = cells[box.top : box.bottom, box.left : box.right]
    aligned = np.zeros_like(cells)
    top, left = (ship.grid - hull.shape[0]) // 2, (ship.grid - hull.shape[1]) // 2
    aligned[top : top + hull.shape[0], left : left + hull.shape[1]] = hull
    return aligned


def share_that_differs(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """Returns the share of the cells occupied in either of two maps of parts that differ."""
    return float((one != other).sum() / max(1, ((one != 0) | (other != 0)).sum()))


def pairwise_distances(ships: Sequence[Ship]) -> NDArray[np.float64]:
    """Returns the share of cells occupied in either ship that differ, for every pair; shape [n, n]."""
    maps = [part_map(ship) for ship in ships]
    distances = np.zeros((len(ships), len(ships)))
    for a, b in itertools.combinations(range(len(ships)), 2):
        distances[a, b] = distances[b, a] = share_that_differs(maps[a], maps[b])
    return distances


def core_layout(parts: Sequence[PlacedPart]) -> tuple[int, int, int] | None:
    """Returns the cockpit's rotation and how many columns and rows the reactor stands off it; None unless both stand."""
    cockpit, reactor = (next((part for part in parts if part.id == name), None) for name in ("cockpit", "reactor"))
    return (cockpit.r, reactor.x - cockpit.x, reactor.y - cockpit.y) if cockpit and reactor else None


def core_entropy(ships: Sequence[Ship]) -> float:
    """Returns the entropy, in bits, of how the core is laid out: the cockpit's rotation, and where the reactor is from it.

    A builder that always puts the same core in the same way has 0, however much the ships differ elsewhere; ships without
    either part are left out.
    """
    return entropy(filter(None, (core_layout(ship.parts) for ship in ships)))


def set_score(distances: NDArray[np.float64], different: float = DIFFERENT) -> float:
    """Returns the share of ships that is left when the ones too much like others are dropped."""
    alike = distances < different
    np.fill_diagonal(alike, False)
    left = np.ones(len(alike), dtype=bool)
    while (counts := (alike & left).sum(axis=1) * left).any():
        left[int(counts.argmax())] = False
    return float(left.mean())


def entropy(things: Iterable[Hashable]) -> float:
    """Returns the entropy of how often each of some things occurs, in bits; 0 for none."""
    counts = np.array(list(Counter(things).values()), dtype=float)
    shares = counts / max(1.0, counts.sum())
    return float(-(shares * np.log2(shares)).sum()) + 0.0


COMPARED = 300
"""Ships that are compared pair by pair; more tell little and take long."""
MEASURED = (
    *("quality", *TERMS, *FIGURES),
    *(name for name, _, _ in RATIOS),
    "parts",
)
"""Figures of which mean and standard deviation over the valid ships are given."""
SPLIT_TOLERANCE = 0.25
"""Total variation distance up to which the firepower's facings count as those asked for."""
PIECE = COMPARED
"""Ships that are made as one piece of work; those of the first are compared."""


class Part(NamedTuple):
    """What comes of a piece of the seeds."""

    tallies: list[dict[str, Any]]
    """What is needed of each ship."""
    kept: list[Ship]
    """Those that are compared."""
    seconds: float


def survey(
    parameters: Parameters,
    seeds: Sequence[int],
    *,
    checked: bool = False,
    targets: Mapping[str, Any] | None = None,
    each: Callable[[Callable[[Sequence[int]], Part], Sequence[Sequence[int]]], Iterable[Part]] = map,
) -> dict[str, Any]:
    """Makes the ship of every seed and returns the figures by name.

    Shares from 0 to 1; `ships_per_second` counts generation with retries and figures, in processor time,
    after warm-up.
    `targets` are those that `parameters` were given (`with_targets`): `controllability` is then the share of ships, valid or
    not, that have each of them, and `target_error` how far off they are on average. Without targets nothing was asked for but
    where the weapons face, by their weights.
    With `checked`, every ship is also checked against the rules, and `broken` counts the broken rules by name.
    `each` yields what comes of pieces of the seeds in their order, wherever they are worked on.
    """
    if not seeds:
        raise UserError("seeds should be at least one, got none")
    pieces = [seeds[k : k + PIECE] for k in range(0, len(seeds), PIECE)]
    parts = list(each(partial(_survey, parameters, targets or {}, seeds[0], checked), pieces))
    tallies = [tally for part in parts for tally in part.tallies]

    def column(name: str) -> NDArray[np.float64]:
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
        "ships_per_second": round(len(seeds) / sum(part.seconds for part in parts), 1),
    }
    for name in MEASURED:
        figures[name] = {"mean": _mean(column(name)[valid]), "sd": _spread(column(name)[valid])}
    figures["diversity"] = _diversity(parts[0].kept)
    if targets:
        told = [tally["errors"] for tally in tallies]
        errors = {name: np.array([errors[name] for errors in told]) for name in told[0]}
        figures["controllability"] = {name: _mean(array == 0) for name, array in errors.items()}
        figures["target_error"] = {name: _mean(array) for name, array in errors.items()}
    else:
        figures["controllability"] = {"fire": _mean(column("fire_as_asked"))}
    if checked:
        figures["broken"] = count("broken")
    return figures


def _survey(
    parameters: Parameters, targets: Mapping[str, Any], first: int, checked: bool, seeds: Sequence[int]
) -> Part:
    """Makes the ships of a piece of the seeds; `first` is the first seed of all."""
    generator = Generator(parameters)
    generator.ship(seeds[0])  # loads the machine code
    tallies, ships, seconds = [], [], 0.0
    for seed in seeds:
        started = time.process_time()
        ship = generator.ship(seed)
        seconds += time.process_time() - started
        ships.append(ship)
        tallies.append(
            {
                **ship.stats,
                "errors": asked_errors(ship, targets),
                "parts": len(ship.parts),
                "valid": ship.valid,
                "attempt": ship.attempt,
                "fire_as_asked": _fire_as_asked(ship),
                "first_reasons": (ship if ship.attempt == 0 else generator.attempt(seed, 0)).reasons,
                "broken": [fault.rule for fault in check(ship)] if checked and ship.valid else [],
            }
        )
    return Part(tallies, ships if seeds[0] == first else [], seconds)


def _diversity(ships: Sequence[Ship]) -> dict[str, float]:
    distances = pairwise_distances(ships)
    n = len(distances)
    mean = float(distances.sum() / (n * (n - 1))) if n > 1 else 0.0
    core = {"core_entropy": round(core_entropy(ships), 4)}
    return {"ships": n, "set_score": round(set_score(distances), 4), "mean_distance": round(mean, 4), **core}


def _fire_as_asked(ship: Ship) -> bool:
    """Returns whether the firepower's facings are near the weights that the weapons stage was given."""
    stage = ship.parameters.weapons
    asked = np.array([stage.weight_north, stage.weight_east, stage.weight_south, stage.weight_west], dtype=float)
    fire = np.zeros(4)
    for part in ship.parts:
        fire[part.r] += PARTS[part.number].firepower
    if not fire.any():
        return False
    return bool(0.5 * np.abs(fire / fire.sum() - asked / asked.sum()).sum() <= SPLIT_TOLERANCE)


def _mean(values: NDArray[Any]) -> float:
    return round(float(values.mean()), 4) if values.size else 0.0


def _spread(values: NDArray[Any]) -> float:
    return round(float(values.std()), 4) if values.size else 0.0
