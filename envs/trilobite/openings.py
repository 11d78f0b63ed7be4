"""Exact scores of the first plies of Connect Four (7x6, k = 4), so that the solver answers there at once.

`openings.safetensors` holds every unfinished position of so many plies, up to the mirror image;
`python -m leafwise.experiments.trilobite.openings` computes it with the solver itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.trilobite.alphabeta import BITS, SCATTER, remember

FILE = Path(__file__).with_name("openings.safetensors")
BOARD = {"board": "7x6", "k": 4}


class Openings(NamedTuple):
    """Scores of positions of the first plies, the later plies first."""

    keys: NDArray[np.uint64]
    """`alphabeta.key_of` of each position [n]."""
    left: NDArray[np.uint8]
    """Empty cells [n]."""
    scores: NDArray[np.int8]
    """For the player to move [n]."""
    about: dict[str, Any]
    """How the table was made."""


def read_openings(path: Path = FILE) -> Openings:
    """Reads a table; raises ValueError if it is not of this board."""
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["leafwise"])
        keys, left, scores = (file.get_tensor(name) for name in ("keys", "left", "scores"))
    if {name: about.get(name) for name in BOARD} != BOARD:
        raise UserError(f"openings {str(path)!r}: expected a table of {BOARD}, got {about}")
    return Openings(keys, left, scores, about)


@jit
def remember_all(keys, left, scores, M):
    """Stores exact scores in the solver's table, in the order given: of two that share a place the later stays longer."""
    bits = u64(M.size[BITS])
    for i in range(keys.shape[0]):
        score = np.int64(scores[i])
        remember(keys[i] * SCATTER, bits, score, score, np.int64(left[i]), M)
