"""Somebody's model, as a leaf is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from leafwise.envs.core.gym.observation import Observation

Kind = Literal["value", "q"]
KINDS: tuple[Kind, ...] = ("value", "q")


@dataclass(frozen=True)
class Model:
    """Somebody's model, and what is known of its numbers."""

    name: str
    numbers: Callable[[Observation], Any]
    """Observations [n, ...] -> values [n] or [n, 1], or one for each action [n, A]."""
    kind: Kind = "value"
    discount: float = 1.0
    scale: float = 1.0
