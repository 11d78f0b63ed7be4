"""What a kind of network is: anything that can be written to a file, read again, put at the leaves of a search, and trained.

A kind is one file with a class of networks and a `KIND`. Those of the package are listed in `BUILT_IN`; others are found by the
entry-point group `leafwise.networks` (the kind's name -> `module:KIND`), or given to `register_network`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Floats32
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import FeatureTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among

Tensors = Mapping[str, Array]
Told = Mapping[str, Any]
GROUP = "leafwise.networks"
BUILT_IN = {
    "ntuple": "leafwise.models.ntuple:PLAIN",
    "ntuple-packed": "leafwise.models.ntuple:PACKED",
    "sparse": "leafwise.models.sparse:KIND",
    "grid": "leafwise.models.grid:KIND",
}
_registered: dict[str, NetworkKind] = {}


class Network(Protocol):
    """One network for one game."""

    @property
    def game(self) -> Game:
        """The game, in the variant that the network is for."""

    @property
    def kind(self) -> NetworkKind:
        """Its kind."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file says of it besides its tensors: JSON-able values by name, from which `kind.create` makes its like."""

    @property
    def tensors(self) -> Tensors:
        """What a file holds: arrays by name."""

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""


class Learned(Network, Protocol):
    """A network of values as methods of learning take it: as searches ask it, its weights never change."""

    @property
    def head(self) -> str:
        """What it says: "value", "max" (of every action), "chance" (to win), "policy" (with a value) or "wdl"."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Outputs of its layers but the last."""

    @property
    def sees(self) -> str:
        """What it sees, as `leafwise.models.seen` names it."""

    @property
    def unit(self) -> float:
        """What an output of 1 is worth in a game for one."""

    def with_tensors(self, tensors: dict[str, Array]) -> Self:
        """Returns a network of the same shape with other weights; raises ValueError if they do not fit."""

    def describe(self, rows: Array, T: Any) -> tuple[Array, NDArray[np.int8], Floats32]:
        """Returns what it sees of rows [n, width]: inputs of its module [n, ...], legal actions [n, A] (A = 0 for one value), and
        the signs [n] that turn its output into a value for the player who acts. T is as of `evaluator`."""

    def batch(self, rows: Array, T: Any) -> Floats:
        """Returns the values of rows [n, width] for the players who act, [n]."""


class Module(Protocol):
    """A torch module with trainable weights, as `NetworkKind.torch_module` makes it of a network."""

    network: Any
    """A network of its shape."""

    def __call__(self, inputs: Any) -> Any:
        """Returns the outputs [n, outputs] for what `Learned.describe` says of rows."""

    def parameters(self) -> Iterator[Any]:
        """Yields the tensors that are learned."""

    def export(self) -> Any:
        """Returns the network as it is now, for searches and files."""

    def write_to(self, weights: Any) -> None:
        """Writes the network as it is now over the weights in some `T.leaf`."""


def no_tables(game: Game, told: Told) -> Mapping[str, FeatureTable]:
    """Answers for networks that have no tables of features."""
    return {}


def first_version(game: Game, told: Told) -> int:
    """Answers for networks whose inputs have never changed."""
    return 1


@dataclass(frozen=True)
class NetworkKind:
    """How networks of one kind are made, read and trained."""

    name: str
    """What files call it."""
    create: Callable[..., Network]
    """(game, metadata, tensors, tables) -> a network; raises ValueError for what does not fit.

    `tensors` None: a network that has learned nothing yet. `tables`: those that the tensors are of, by name, in the file's order;
    None: all that the room has now.
    """
    needs: Mapping[str, type | tuple[type, ...]]
    """Entries of the metadata that must be there, and their types."""
    tables: Callable[[Game, Told], Mapping[str, FeatureTable]] = no_tables
    """(game, metadata) -> all tables of features that the room has now for such networks."""
    used: Callable[[Any], Mapping[str, FeatureTable]] | None = None
    """network -> the tables that it was trained with (None: all that the room has)."""
    version: Callable[[Game, Told], int] = first_version
    """(game, metadata) -> version of what the room shows beside tables."""
    create_to_play: Callable[..., Network] | None = None
    """As `create` of tensors, where the network is only searched with: one of equal values that is faster to search with, or takes
    less memory (None: `create`)."""
    module: str | Callable[[Any], Any] = ""
    """network -> a torch module with its weights, whose `export()` is a network again; as text, `package.module:name`, so that
    torch is imported only to train. "": not trained by torch."""

    def torch_module(self, network: Network) -> Any:
        """Returns a torch module with a network's weights; raises ValueError for a kind that torch does not train."""
        if not self.module:
            raise UserError(f"expected a kind of network that torch trains, got {self.name!r}")
        return (resolved(self.module) if isinstance(self.module, str) else self.module)(network)


def check_tensors(
    what: str, tensors: Tensors, shapes: Mapping[str, tuple[int, ...]], halves: Collection[str] = ()
) -> None:
    """Raises ValueError for tensors that are not finite, of float32 (of float16, those of `halves`) and of these shapes."""
    if set(tensors) != set(shapes):
        raise UserError(f"{what}: expected tensors {sorted(shapes)}, got {sorted(tensors)}")
    for name, shape in shapes.items():
        got, kind = tensors[name], np.float16 if name in halves else np.float32
        if got.shape != shape or got.dtype != kind or not np.isfinite(got).all():
            raise UserError(
                f"{what}: expected finite float32 {list(shape)} as {name!r}, got {got.dtype} {list(got.shape)}"
            )


def resolved(text: str) -> Any:
    """Returns what `package.module:name` names."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


def register_network(kind: NetworkKind) -> None:
    """Adds a kind of your own for this process; raises ValueError if its name is taken by another."""
    taken = kind.name in BUILT_IN or kind.name in _installed() or _registered.get(kind.name, kind) != kind
    if taken:
        raise UserError(f"expected a new name for a kind of network, {kind.name!r} is taken")
    _registered[kind.name] = kind


@cache
def _installed() -> dict[str, str]:
    """Returns the kinds that other packages bring; imports none."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def network_kinds() -> tuple[str, ...]:
    """Returns the names of all kinds."""
    return tuple({**BUILT_IN, **_installed(), **_registered})


def network_kind(name: str) -> NetworkKind:
    """Returns the kind of a name; raises ValueError if there is none, or if the package that brings it cannot be imported."""
    if name in _registered:
        return _registered[name]
    need_among(name, network_kinds(), "a kind of network")
    where = BUILT_IN.get(name) or _installed()[name]
    try:
        found: NetworkKind = resolved(where)
    except (ImportError, AttributeError) as problem:
        raise UserError(f"expected a kind of network {name!r} in {where!r}, got {problem}") from None
    return found
