"""How fast ships are made, checked and drawn, on one core."""

from __future__ import annotations

import time
from collections.abc import Callable

from leafwise.envs.starship.check import check
from leafwise.envs.starship.draw import png
from leafwise.envs.starship.files import dump
from leafwise.envs.starship.generator import Generator
from leafwise.envs.starship.presets import PRESETS


def bench(ships: int = 200) -> dict[str, float]:
    """Returns rates by name, in ships a second of processor time: the best of three rounds over `ships` seeds.

    `ships_...` counts whole ships with retries, quality and figures; `first_attempt_...` the bare stages.
    """
    rates = {}
    for name in PRESETS:
        generator = Generator(name)
        rates[f"ships_{name}"] = _rate(generator.ship, ships)
        rates[f"first_attempt_{name}"] = _rate(generator.first_attempt_reasons, ships)
    some = [Generator("classic").ship(seed) for seed in range(max(1, ships // 10))]
    rates["json_classic"] = _rate(lambda k: dump(some[k]), len(some))
    rates["check_classic"] = _rate(lambda k: check(some[k]), len(some))
    rates["png_classic"] = _rate(lambda k: png(some[k]), len(some))
    return rates


def _rate(make: Callable[[int], object], count: int) -> float:
    make(0)
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for seed in range(count):
            make(seed)
        best = min(best, time.process_time() - started)
    return count / best
