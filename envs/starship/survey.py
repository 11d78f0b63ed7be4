"""Figures over many seeds: validity, quality and its terms, diversity, whether requests are met, speed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from leafwise.envs.starship.catalogue import PARTS
from leafwise.envs.starship.check import check
from leafwise.envs.starship.diversity import pairwise_distances, set_score
from leafwise.envs.starship.generator import Generator
from leafwise.envs.starship.presets import Parameters
from leafwise.envs.starship.quality import FIGURES, TERMS
from leafwise.envs.starship.ship import Ship

COMPARED = 300
"""Ships that are compared pair by pair; more tell little and take long."""
SPLIT_TOLERANCE = 0.25
"""Total variation distance up to which the firepower's facings count as those asked for."""


def survey(parameters: Parameters, seeds: Sequence[int], *, checked: bool = False) -> dict[str, Any]:
    """Makes the ship of every seed and returns the figures by name.

    Shares from 0 to 1; `ships_per_second` counts generation with retries and figures, on one core, after warm-up.
    With `checked`, every ship is also checked against the rules, and `broken` counts the broken rules by name.
    """
    if not seeds:
        raise ValueError("seeds should be at least one, got none")
    generator = Generator(parameters)
    generator.ship(seeds[0])
    started = time.perf_counter()
    ships = [generator.ship(seed) for seed in seeds]
    seconds = time.perf_counter() - started
    reasons: Counter[str] = Counter()
    for ship in ships:
        reasons.update(ship.reasons if ship.attempt == 0 else generator.attempt(ship.seed, 0).reasons)
    figures: dict[str, Any] = {
        "preset": parameters.preset,
        "seeds": [int(min(seeds)), int(max(seeds)) + 1],
        "ships": len(ships),
        "first_attempt_valid": _share(ship.valid and ship.attempt == 0 for ship in ships),
        "valid": _share(ship.valid for ship in ships),
        "attempts_most": max(ship.attempt for ship in ships) + 1,
        "first_attempt_reasons": dict(sorted(reasons.items())),
        "ships_per_second": round(len(ships) / seconds, 1),
    }
    for name in ("quality", *TERMS, *FIGURES, "forward_acceleration", "seats_per_operator", "price_per_firepower"):
        values = [ship.stats[name] for ship in ships if ship.valid]
        figures[name] = {"mean": _mean(values), "sd": round(float(np.std(values)), 4) if values else 0.0}
    figures["parts"] = _mean([len(ship.parts) for ship in ships])
    figures["diversity"] = _diversity(ships)
    figures["controllability"] = {
        "thrust": _share(ship.stats["thrust_score"] >= ship.stats["thrust_target"] for ship in ships),
        "fire": _share(_fire_as_asked(ship) for ship in ships),
        "seats": _share(ship.stats["seats"] >= parameters.crew.min_seats for ship in ships),
    }
    if checked:
        broken: Counter[str] = Counter()
        for ship in ships:
            broken.update(fault.rule for fault in check(ship) if ship.valid)
        figures["broken"] = dict(sorted(broken.items()))
    return figures


def _diversity(ships: Sequence[Ship]) -> dict[str, float]:
    distances = pairwise_distances(ships[:COMPARED])
    n = len(distances)
    mean = float(distances.sum() / (n * (n - 1))) if n > 1 else 0.0
    return {"ships": n, "set_score": round(set_score(distances), 4), "mean_distance": round(mean, 4)}


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


def _share(flags: Any) -> float:
    return _mean([float(flag) for flag in flags])


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if len(values) else 0.0
