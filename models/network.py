"""The interface of networks: they are written to files, read again, used as leaf evaluators, and trained.

A kind of network is one file with a class of networks and a `KIND`. `BUILT_IN` lists those of the package. Others are found by the
entry-point group `leafwise.networks` (the kind's name -> `module:KIND`), or passed to `register_network`.
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
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.ranges import need_among
from leafwise.envs.plugins import imported_module, is_module_class, module_name
from leafwise.envs.registry import as_game, named_modules

Tensors = Mapping[str, Array]
Metadata = Mapping[str, Any]
Says = Literal["value", "q", "policy"]
SAYS: tuple[Says, ...] = ("value", "q", "policy")
"""Outputs of a torch module: a value, one for each action, or a value and a logit for each action."""
ENTRY_POINTS = "leafwise.networks"
BUILT_IN = {
    "ntuple": "leafwise.models.ntuple:PLAIN",
    "ntuple-packed": "leafwise.models.ntuple:PACKED",
    "sparse": "leafwise.models.sparse:KIND",
    "grid": "leafwise.models.grid:KIND",
    "torch": "leafwise.models.modules:KIND",
}
NOT_ARGUMENTS = ("game", "network", "sees", "says", "scale", "seed")
"""Arguments of `torch_network` itself, not of the module."""
_registered: dict[str, NetworkKind] = {}
_classes: dict[str, type] = {}


class Network(Protocol):
    """One network for one game."""

    @property
    def game(self) -> Game:
        """The game, in the network's variant."""

    @property
    def kind(self) -> NetworkKind:
        """Its kind."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What a file stores besides tensors: JSON values by name, from which `kind.create` makes a network of the same shape."""

    @property
    def tensors(self) -> Tensors:
        """The arrays that a file stores, by name."""

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf evaluator."""


class Learned(Network, Protocol):
    """A network as training methods use it; its weights never change."""

    @property
    def head(self) -> str:
        """Its head: "value", "max" (a value for each action), "chance" (to win), "policy" (and a value) or "wdl"."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Number of outputs of its layers but the last."""

    @property
    def sees(self) -> str:
        """What it sees, by the names of `leafwise.models.seen`."""

    @property
    def unit(self) -> float:
        """The value of an output of 1."""

    def with_tensors(self, tensors: dict[str, Array]) -> Self:
        """Returns a network of the same shape with other weights; raises ValueError if they do not fit."""

    def describe(self, rows: Array, T: Any) -> tuple[Array, NDArray[np.int8], Floats32]:
        """Returns inputs of its module for rows [n, width]: [n, ...], legal actions [n, A] (A = 0 for one value), and signs [n].

        A sign times the output is a value for the player who acts. T is that of `evaluator`.
        """

    def batch(self, rows: Array, T: Any) -> Floats:
        """Returns the values of rows [n, width] for the players who act, [n]."""


class Module(Protocol):
    """A torch module with trainable weights, made of a network by `NetworkKind.torch_module`."""

    network: Any
    """A network of its shape."""

    def __call__(self, inputs: Any) -> Any:
        """Returns the outputs [n, outputs] for inputs of `Learned.describe`."""

    def parameters(self) -> Iterator[Any]:
        """Yields the trainable tensors."""

    def export(self) -> Any:
        """Returns the network as it is now, for searches and files."""

    def write_to(self, weights: Any) -> None:
        """Writes the network's weights as they are now into those of a `T.leaf`."""


def no_feature_tables(game: Game, metadata: Metadata) -> Mapping[str, FeatureTable]:
    """Stands in for `tables` of kinds without tables of features."""
    return {}


def version_one(game: Game, metadata: Metadata) -> int:
    """Stands in for `version` of kinds whose inputs have never changed."""
    return 1


@dataclass(frozen=True)
class NetworkKind:
    """How networks of one kind are made, read and trained."""

    name: str
    """Its name in files."""
    create: Callable[..., Network]
    """(game, metadata, tensors, tables) -> a network; raises ValueError for what does not fit.

    `tensors` None: an untrained network. `tables`: the tables of features of the tensors, by name, in the file's order; None: all
    that the game has now.
    """
    needs: Mapping[str, type | tuple[type, ...]]
    """Required entries of the metadata, and their types."""
    tables: Callable[[Game, Metadata], Mapping[str, FeatureTable]] = no_feature_tables
    """(game, metadata) -> all tables of features that the game has now for such networks."""
    used: Callable[[Any], Mapping[str, FeatureTable]] | None = None
    """network -> the tables of features that it was trained with (None: all that the game has)."""
    version: Callable[[Game, Metadata], int] = version_one
    """(game, metadata) -> version of the game's inputs besides tables."""
    create_to_play: Callable[..., Network] | None = None
    """Like `create` with tensors, for networks that only play: equal values, but faster or with less memory (None: `create`)."""
    module: str | Callable[[Any], Any] = ""
    """network -> a torch module with its weights. `export()` of the module returns a network again. The text
    `package.module:name` names this function, so that torch is imported only to train. "": torch does not train it."""

    def torch_module(self, network: Network) -> Any:
        """Returns a torch module with a network's weights; raises ValueError for a kind that torch does not train."""
        if not self.module:
            raise UserError(f"expected a kind of network that torch trains, got {self.name!r}")
        return (imported(self.module) if isinstance(self.module, str) else self.module)(network)


def check_tensors(
    front: str, tensors: Tensors, shapes: Mapping[str, tuple[int, ...]], halves: Collection[str] = ()
) -> None:
    """Raises ValueError unless tensors are finite, float32 (float16 those in `halves`) and of these shapes."""
    if set(tensors) != set(shapes):
        raise UserError(f"{front}: expected tensors {sorted(shapes)}, got {sorted(tensors)}")
    for name, shape in shapes.items():
        tensor, kind = tensors[name], np.float16 if name in halves else np.float32
        if tensor.shape != shape or tensor.dtype != kind or not np.isfinite(tensor).all():
            raise UserError(
                f"{front}: expected finite float32 {list(shape)} as {name!r}, got {tensor.dtype} {list(tensor.shape)}"
            )


def imported(text: str) -> Any:
    """Imports the object that `package.module:name` names."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


def register_network(kind: NetworkKind | type) -> None:
    """Registers a kind of network or a class of torch modules in this process, so that its files can be loaded.

    Raises ValueError if another kind has the same name, and for anything else.
    """
    is_class = isinstance(kind, type) and is_module_class(kind)
    if not (is_class or isinstance(kind, NetworkKind)):
        raise UserError(
            f"register_network: expected a NetworkKind or a class of torch modules, got {short(repr(kind))}"
        )
    if isinstance(kind, type):
        _classes[f"{kind.__module__}:{kind.__qualname__}"] = kind
        return
    taken = kind.name in BUILT_IN or kind.name in _installed() or _registered.get(kind.name, kind) != kind
    if taken:
        raise UserError(f"expected a new name for a kind of network, got {kind.name!r}, which is taken")
    _registered[kind.name] = kind


def class_of(text: str) -> type:
    """Returns the class of torch modules `MODULE:CLASS`, if it was registered or `--module` named its module.

    Raises ValueError for any other: a class is never imported because a file names it.
    """
    need_named(text)
    module, _, name = text.partition(":")
    source = named_modules().get(module)
    if text not in _classes and source is not None:
        named_class = getattr(imported_module(module_name(source)), name, None)
        if not (isinstance(named_class, type) and is_module_class(named_class)):
            raise UserError(f"expected a class of torch modules {name!r} in {source!r}, got {named_class!r:.60}")
        register_network(named_class)
    return _classes[text]


def need_named(text: object) -> None:
    """Raises ValueError for a `MODULE:CLASS` that is not registered, before anything is imported."""
    module, colon, name = str(text).partition(":")
    if colon and text not in _classes and module not in named_modules():
        named = f"--module with the file or package {module!r}, or leafwise.register_network({name}) in Python"
        if module == "__main__":  # of a script or a notebook
            named = f"leafwise.register_network({name}) in Python, or a class in a file that --module names"
        raise UserError(f"expected {named}, for a network of the class {text!r}")


def network_of(text: str) -> tuple[str, dict[str, Any]]:
    """Parses a text like `resnet,blocks=4` or `net:Net,width=8` into the name and arguments of `torch_network`.

    Values are JSON, several numbers as in `channels=32,32`, or else strings. Raises ValueError for other texts.
    """
    name, *words = re.split(r",(?=[^,=]+=|$)", text)
    arguments: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key.isidentifier() and equals) or key in NOT_ARGUMENTS:
            raise UserError(
                f"expected a network like mlp, resnet,blocks=4,channels=64 or net:Net,width=8, got {text!r}"
            )
        for text_value in (value, f"[{value}]", json.dumps(value)):
            with contextlib.suppress(json.JSONDecodeError):
                arguments[key] = json.loads(text_value)
                break
    return name, arguments


def text_of(network: str | type) -> str:
    """Returns a network's name; registers a class and names it MODULE:CLASS. Raises ValueError for other classes than modules."""
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
    """Makes a network of a torch module, to be trained as `.module`, and saved, loaded and searched like any other.

    `leafwise.save_network` writes it; `leafwise.load` and `search:FILE,depth=2` use it as a leaf. To load a network of your own
    class, name the class first, by `--module FILE` or `leafwise.register_network(CLASS)`.

    Args:
        network: `mlp` (`hidden`: outputs of its layers), `conv` (`channels` of its layers, `hidden`: outputs of the dense one),
            `resnet` (`blocks`, `channels`, `hidden`), or a class of torch modules. It is built by `network(space, outputs,
            **arguments)`; `arguments` are JSON values. `forward` takes float32 [n, *space.shape].
        sees: "planes", "onehot" or "observation", as for environments; or "features" or another set of the game's sparse features:
            a 1 for each active one, and a last entry that is 1 if they describe the position from the other player's side.
            Default: planes or onehot if the game has them.
        says: "value": one number for the player who acts (outputs = 1). "q": one for each action (outputs = number of actions).
            "policy": a value, then a logit for each action (outputs = 1 + number of actions).
        scale: the return that a number of 1 means, only in single-player games with a score. There the numbers are the return
            still to come. In two-player games the numbers must be from -1 to 1, in games that are won or lost from 0 to 1; the
            named networks do this.
        seed: seed of the initial weights.

    Raises ValueError in one line for arguments that do not fit, or without torch.
    """
    game = as_game(game)
    kind = network_kind("torch")  # raises ValueError without torch
    network = text_of(network)
    import torch

    view = DEFAULT_VIEW if sees == "observation" else sees
    view = view or next((name for name in ("planes", "onehot") if name in game.view_names), DEFAULT_VIEW)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        metadata = {"network": network, "arguments": arguments, "sees": view, "says": says, "scale": scale}
        return kind.create(game, metadata)


@cache
def _installed() -> dict[str, str]:
    """Returns the kinds of other packages, name -> `module:KIND`; imports none."""
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def network_kinds() -> tuple[str, ...]:
    """Returns the names of all kinds."""
    return tuple({**BUILT_IN, **_installed(), **_registered})


def network_kind(name: str) -> NetworkKind:
    """Returns the kind with a name; raises ValueError if there is none, or if its package cannot be imported."""
    if name in _registered:
        return _registered[name]
    need_among(name, network_kinds(), "a kind of network")
    source = BUILT_IN.get(name) or _installed()[name]
    try:
        kind: NetworkKind = imported(source)
    except (ImportError, AttributeError) as problem:
        raise UserError(f"expected a kind of network {name!r} in {source!r}, got {problem}") from None
    return kind
