"""Reads the measurements in a model file, in all forms that publishers have written."""

from __future__ import annotations

from typing import Any

COUNTS = ("games", "positions", "seeds")
"""Entries of a measurement that count the games, positions or seeds of its mean."""


def measured(measurement: dict[str, Any], units: dict[str, Any] | None) -> dict[str, Any]:
    """Returns a measurement in the current form."""
    count = next(name for name in COUNTS if name in measurement)
    unit = units and units["name"]
    if count == "positions":
        unit = "share of best moves"
    elif measurement.get("players") == 2:
        unit = "mean result, a win 1, a loss -1"
    learned, by_hand = measurement.get("learned", measurement), measurement.get("hand_made") or measurement.get("hand")
    return {
        "variant": measurement.get("variant", ""),
        "depth": measurement["depth"],
        "count": measurement[count],
        "of": count,
        "unit": unit,
        **{name: learned[name] for name in ("mean", "ci_low", "ci_high")},
        "hand_made": by_hand and by_hand["mean"],
    }
