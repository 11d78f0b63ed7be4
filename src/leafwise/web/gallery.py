"""A gallery of generated ships for pages without a server: pictures, and what makes each again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafwise.envs.starship.draw import hull_box
from leafwise.envs.starship.generator import Generator
from leafwise.web.ships import picture

SHIPS = {"scout": 67, "classic": 67, "cruiser": 66}
"""How many valid ships of each preset are shown, from seed 0 on."""
MARGIN = 2
"""Cells round the hull that a picture shows."""


def ships() -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yields each ship of the gallery: its preset, seed and quality, and its picture as SVG."""
    for preset, wanted in SHIPS.items():
        generator, seed = Generator(preset), 0
        while wanted:
            ship = generator.ship(seed)
            if ship.valid:
                told = {"preset": preset, "seed": seed, "quality": ship.stats["quality"]}
                yield told, picture(ship, hull_box(ship, MARGIN)).encode()
                wanted -= 1
            seed += 1
