"""What a kind of network is: anything that can be written to a file, read again, put at the leaves of a search, and trained.

A kind is one file with a class of networks and a `KIND`. Those of the package are listed in `BUILT_IN`; others are found by the
entry-point group `leafwise.networks` (the kind's name -> `module:KIND`), or given to `register_network`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Floats32
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import FeatureTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.plugins import imported_module, is_module_class, module_name
from leafwise.envs.registry import as_game, named_modules

Tensors = Mapping[str, Array]
Told = Mapping[str, Any]
Says = Literal["value", "q", "policy"]
SAYS: tuple[Says, ...] = ("value", "q", "policy")
"""What a torch module says: a value, one for each action, or a value and the logarithm of how probable each action is."""
GROUP = "leafwise.networks"
BUILT_IN = {
    "ntuple": "leafwise.models.ntuple:PLAIN",
    "ntuple-packed": "leafwise.models.ntuple:PACKED",
    "sparse": "leafwise.models.sparse:KIND",
    "grid": "leafwise.models.grid:KIND",
    "torch": "leafwise.models.modules:KIND",
}
NOT_ARGUMENTS = ("game", "network", "sees", "says", "scale", "seed")
"""What `torch_network` takes itself."""
_registered: dict[str, NetworkKind] = {}
_classes: dict[str, type] = {}


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
        """What an output of 1 is worth."""

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


def register_network(kind: NetworkKind | type) -> None:
    """Adds a kind of your own for this process, or a class of torch modules, whose files can be loaded from then on.

    Raises ValueError if a kind's name is taken by another.
    """
    if isinstance(kind, type):
        _classes[f"{kind.__module__}:{kind.__qualname__}"] = kind
        return
    taken = kind.name in BUILT_IN or kind.name in _installed() or _registered.get(kind.name, kind) != kind
    if taken:
        raise UserError(f"expected a new name for a kind of network, {kind.name!r} is taken")
    _registered[kind.name] = kind


def class_of(text: str) -> type:
    """Returns the class of torch modules `MODULE:CLASS`, if it was registered or `--module` named its module.

    Raises ValueError for any other: what a file names is never imported for the file's sake.
    """
    need_named(text)
    module, _, name = text.partition(":")
    place = named_modules().get(module)
    if text not in _classes and place is not None:
        found = getattr(imported_module(module_name(place)), name, None)
        if not (isinstance(found, type) and is_module_class(found)):
            raise UserError(f"expected a class of torch modules {name!r} in {place!r}, got {found!r:.60}")
        register_network(found)
    return _classes[text]


def need_named(text: object) -> None:
    """Raises ValueError for `MODULE:CLASS` that nobody has named, before anything is imported."""
    module, own, name = str(text).partition(":")
    if own and text not in _classes and module not in named_modules():
        named = f"--module with the file or package {module!r}, or leafwise.register_network({name}) in Python"
        if module == "__main__":  # of a script or a notebook
            named = f"leafwise.register_network({name}) in Python, or a class in a file that --module names"
        raise UserError(f"expected {named}, for a network of the class {text!r}")


def network_of(text: str) -> tuple[str, dict[str, Any]]:
    """Returns name and arguments of a network as `torch_network` takes them, of a text like `resnet,blocks=4` or `net:Net,width=8`.

    Values are those of JSON, several numbers as `channels=32,32`, and else texts. Raises ValueError for what is written otherwise.
    """
    name, *words = re.split(r",(?=[^,=]+=|$)", text)
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.isidentifier() and equals) or key in NOT_ARGUMENTS:
            raise UserError(
                f"expected a network like mlp, resnet,blocks=4,channels=64 or net:Net,width=8, got {text!r}"
            )
        for written in (value, f"[{value}]", json.dumps(value)):
            with contextlib.suppress(json.JSONDecodeError):
                arguments[key] = json.loads(written)
                break
    return name, arguments


def text_of(network: str | type) -> str:
    """Returns a network's name; a class is registered and named MODULE:CLASS. Raises ValueError for one of no torch modules."""
    if not isinstance(network, type):
        return network
    if not is_module_class(network):
        raise UserError(f"expected a class of torch modules, got {network!r}")
    register_network(network)
    return f"{network.__module__}:{network.__qualname__}"


def torch_network(
    game: str | Game,
    network: str | type = "mlp",
    *,
    sees: str = "",
    says: Says = "value",
    scale: float = 1.0,
    seed: int = 0,
    **arguments: Any,
) -> Network:
    """Returns a network of your own: a torch module, `.module` to be trained, that is saved, loaded and searched as any other.

    `leafwise.save_network` writes it; `leafwise.load` and `search:FILE,depth=2` have it value leaves. Where its file is loaded
    elsewhere, `--module FILE` or `leafwise.register_network(CLASS)` names a class of your own first.

    Args:
        network: `mlp` (`hidden`: outputs of its layers), `conv` (`channels` of its layers, `hidden`: outputs of the dense one),
            `resnet` (`blocks`, `channels`, `hidden`), or a class of torch modules. It is built by `network(space, outputs,
            **arguments)`; `arguments` are values that JSON has. `forward` takes float32 [n, *space.shape].
        sees: "planes", "onehot" or "observation", as the environments show them; "features" or another set of the game's sparse
            features, a 1 for each that is there and a last 1 where they take the other player's side. Default: planes or onehot
            where the game has them.
        says: "value", one number for who acts (outputs = 1), "q", one for each action (outputs = the number of actions), or
            "policy", a value and behind it a logit for each action (outputs = 1 + the number of actions).
        scale: the return that a number of 1 stands for, in single-player games with a score, where numbers are the return to
            come. In two-player games they are from -1 to 1, in games that are won or lost from 0 to 1; the named networks keep to
            that.
        seed: of the weights that it begins with.

    Raises ValueError in one line for what does not fit, or without torch.
    """
    game = as_game(game)
    kind = network_kind("torch")  # raises ValueError without torch
    network = text_of(network)
    import torch

    view = DEFAULT_VIEW if sees == "observation" else sees
    view = view or next((name for name in ("planes", "onehot") if name in game.view_names), DEFAULT_VIEW)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        told = {"network": network, "arguments": arguments, "sees": view, "says": says, "scale": scale}
        return kind.create(game, told)


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
