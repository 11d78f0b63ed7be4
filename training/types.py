"""Common types of training, and functions on tensors whose names share a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leafwise.envs.core.arrays import Array

Tensors = dict[str, Array]
"""Arrays by name, as a checkpoint and a model file hold them."""
Json = dict[str, Any]
"""What JSON can hold, by name."""
Logged = dict[str, float]
"""Figures of a run, by the tags of TensorBoard."""


def prefixed(prefix: str, tensors: Mapping[str, Array]) -> Tensors:
    """Adds a prefix to the names of tensors."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def named(tensors: Mapping[str, Array], prefix: str) -> Tensors:
    """Returns the tensors whose names have a prefix, without the prefix."""
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}
