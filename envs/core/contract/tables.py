"""What model files say of features: named tables with versions, so that a room may add some and old models go on loading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FeatureTable:
    """A group of features that a network learns weights for. Rooms add tables; one that changes gets a new version."""

    size: int
    """How many features there are in it."""
    version: int = 1
    """Raised whenever a feature in it changes its meaning."""
    grows: bool = False
    """Whether features may be added at its end: files then have fewer of them."""

    def told(self) -> dict[str, int]:
        """Returns what a model file says of it."""
        return {"size": self.size, "version": self.version}


def check_tables(known: Mapping[str, FeatureTable], told: Any) -> dict[str, FeatureTable]:
    """Returns the tables that a file names, in its order; `known` are those that the room has now.

    Raises ValueError in one line for what is no list of tables, and for a table that the room lacks or that has changed.
    """
    if not isinstance(told, Mapping):
        raise ValueError(f"expected tables by name, got {told!r}")
    found = {}
    for name, table in told.items():
        if not isinstance(table, Mapping) or not all(type(table.get(key)) is int for key in ("size", "version")):
            raise ValueError(f"expected table {name!r} with a size and a version, got {table!r}")
        if name not in known:
            raise ValueError(f"expected tables among {', '.join(known) or 'none'}, got {name!r}")
        now, then = known[name], FeatureTable(table["size"], table["version"])
        fits = then.size <= now.size if now.grows else then.size == now.size
        if not fits or now.version != then.version or then.size < 1:
            expected = f"table {name!r} of version {now.version} and size {now.size}"
            raise ValueError(f"expected {expected}, got version {then.version} and size {then.size}")
        found[name] = then
    return found
