"""Torch modules as networks: built by name or from your own class, trained, saved, loaded and searched with.

A module is built from its input space and its number of outputs: one value, or one for each action. An output of 1 is worth
`scale`. In two-player games outputs are from -1 to 1 for the player who acts, as shares of the most that a game is worth. In
single-player games that are won or lost they are from 0 to 1, in others the return still to come. `leafwise.models.leaves` makes
the evaluator and tries the module first.

Only this file of the folder imports torch, and it is imported only for such a network.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import parent_process
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from leafwise.envs.core.arrays import Array, Floats, Floats32
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.registry import named_modules
from leafwise.models.leaves import TOLERANCE, TRIAL_ROWS, leaf, module_numbers, trial_rows
from leafwise.models.multi_hot import observer_of, sets_of, space_of
from leafwise.models.network import SAYS, Metadata, NetworkKind, Says, Tensors, class_of, register_network
from leafwise.models.sb3 import Model
from leafwise.models.seen import OBSERVATION, features_of

ROUNDING = 1e-5
"""By how much a number may exceed its range because of rounding."""
OUTPUT_WORDS: dict[Says, str] = {
    "value": "values",
    "q": "action values",
    "policy": "a value and a logit for each action",
}
"""What a module returns, for messages."""
FILE_TYPES = (
    torch.float16, torch.float32, torch.float64, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool,
)  # fmt: skip
"""The types that files can store."""


class Mlp(nn.Sequential):
    """Dense layers with ReLU."""

    def __init__(self, space: Any, outputs: int, *, hidden: int | tuple[int, ...] = (128, 128)) -> None:
        sizes = [math.prod(space.shape), *([hidden] if isinstance(hidden, int) else hidden)]
        layers = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        super().__init__(nn.Flatten(), *layers, nn.Linear(sizes[-1], outputs))


class Conv(nn.Sequential):
    """Convolutions of 3 by 3 with ReLU, and a dense layer."""

    def __init__(
        self, space: Any, outputs: int, *, channels: int | tuple[int, ...] = (32, 32), hidden: int = 64
    ) -> None:
        planes, rows, columns = board_of(space)
        sizes = [planes, *([channels] if isinstance(channels, int) else channels)]
        pairs = itertools.pairwise(sizes)
        layers = [part for a, b in pairs for part in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())]
        super().__init__(*layers, *dense_head(sizes[-1] * rows * columns, hidden, outputs))


class FirstOnly(nn.Module):
    """Applies a function to the first of its inputs [n, outputs]."""

    def __init__(self, function: nn.Module) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.function(x[:, :1]), x[:, 1:]], dim=1)


class ResidualBlock(nn.Module):
    """A residual block: He et al., "Deep residual learning for image recognition" (2016), figure 2."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(*conv_and_norm(channels, channels), nn.ReLU(), *conv_and_norm(channels, channels))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.inner(x))


class Resnet(nn.Sequential):
    """Residual blocks and a dense layer."""

    def __init__(self, space: Any, outputs: int, *, blocks: int = 2, channels: int = 32, hidden: int = 64) -> None:
        planes, rows, columns = board_of(space)
        body = [*conv_and_norm(planes, channels), nn.ReLU(), *(ResidualBlock(channels) for _ in range(blocks))]
        super().__init__(*body, *dense_head(channels * rows * columns, hidden, outputs))


def conv_and_norm(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module]:
    """Returns a convolution and the batch normalisation after it."""
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)


def dense_head(inputs: int, hidden: int, outputs: int) -> tuple[nn.Module, ...]:
    """Returns the dense layers after those of a board."""
    return nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)


def board_of(space: Any) -> tuple[int, int, int]:
    """Returns channels, rows and columns of an input space; raises ValueError if it is not a board."""
    if len(space.shape) != 3:
        raise UserError(f"expected a board [channels, rows, columns] for convolutions, got {list(space.shape)}")
    planes, rows, columns = space.shape
    return planes, rows, columns


BUILT_IN: dict[str, type[nn.Module]] = {"mlp": Mlp, "conv": Conv, "resnet": Resnet}


@dataclass(frozen=True, eq=False)
class TorchNetwork:
    """A torch module, and the meaning of its outputs."""

    game: Game
    module: nn.Module
    """Observations [n, ...], float32 -> values [n] or [n, 1], action values [n, A], or values and logits of actions [n, 1 + A]."""
    name: str
    """`mlp`, `conv`, `resnet`, or a user's class as `MODULE:CLASS`."""
    arguments: Mapping[str, Any]
    """The module's arguments: JSON values by keyword."""
    sees: str
    """The view of the game that it sees, as an environment's `observation`."""
    says: Says
    scale: float
    device: str = "cpu"
    """The device of the module; inputs and outputs are on the CPU."""

    @property
    def kind(self) -> NetworkKind:
        return KIND

    def at(self, device: str) -> TorchNetwork:
        """Returns the network with its module moved to a device."""
        return replace(self, module=self.module.to(device), device=device)

    @property
    def metadata(self) -> dict[str, Any]:
        entries = {"network": self.name, "arguments": dict(self.arguments)}
        return entries | {"sees": self.sees, "says": self.says, "scale": self.scale}

    @property
    def tensors(self) -> Tensors:
        """Copies of its parameters and buffers."""
        return {name: np.array(part.detach().cpu().numpy()) for name, part in self.module.state_dict().items()}

    @property
    def head(self) -> str:
        """Its head, as training methods name it."""
        chance = self.game.players == 1 and bounds_of(self.game) != (None, None)
        return {"q": "max", "policy": "policy"}.get(self.says, "chance" if chance else "value")

    @property
    def hidden(self) -> tuple[int, ...]:
        """Empty: the module has its own layers."""
        return ()

    @property
    def outputs(self) -> int:
        """Number of outputs of the module for a position."""
        return outputs_of(self.game, self.says)

    @property
    def unit(self) -> float:
        """The value of an output of 1."""
        return self.scale * (self.game.stake if self.game.players == 2 else 1.0)

    def __reduce__(self) -> tuple[Any, ...]:
        known = ":" not in self.name or self.name.partition(":")[0] in named_modules()
        return unpickled, (None if known else type(self.module), self.game, self.metadata, self.tensors)

    def with_tensors(self, tensors: Tensors) -> TorchNetwork:
        """Returns a network of the same shape with other weights; raises ValueError if they do not fit."""
        return with_weights(replace(self, module=deepcopy(self.module)), tensors)

    @cached_property
    def _observer(self) -> Any:
        return observer_of(self.game, self.sees, masked=self.says != "value")

    def describe(self, rows: Array, T: Any) -> tuple[Floats32, NDArray[np.int8], Floats32]:
        """Returns observations [n, ...] of rows, legal actions [n, A] (A = 0 for one value) and signs [n], which are all 1.

        T is that of `evaluator`.
        """
        seen = self._observer(rows, T)
        if isinstance(seen.obs, dict):
            raise UserError(f"network {self.name!r}: expected an observation that is one array, got {sorted(seen.obs)}")
        return seen.obs.astype(np.float32), seen.mask, np.ones(len(rows), np.float32)

    def batch(self, rows: Array, T: Any) -> Floats:
        """Values rows [n, width] for the players who act; see `Evaluator.batch`."""
        values = self._leaf.batch
        assert values is not None
        numbers: Floats = values(rows, T)
        return numbers

    def action_values(self, rows: Array, T: Any) -> Floats32:
        """Returns the value of each action for the player who acts, [n, A], or its logit with `says="policy"`; -inf: illegal.

        T is that of `evaluator`. Raises ValueError for a module without outputs for actions.
        """
        if self.says == "value":
            raise UserError(f"network {self.name!r}: expected one with outputs for actions, got says='value'")
        inputs, legal, _ = self.describe(rows, T)
        module = deepcopy(self.module).eval() if self.module.training else self.module
        with torch.inference_mode():
            outputs = module(torch.from_numpy(inputs).to(self.device))[:, -legal.shape[1] :].cpu().numpy()
        return np.where(legal, outputs, np.float32(-np.inf))

    @cached_property
    def _leaf(self) -> Evaluator:
        return self.evaluator(self.name)

    def onnx(self, input_name: str, output_name: str, opset: int) -> bytes:
        """Returns the network as it is now as an ONNX file, with these names of input and output, both float32.

        Raises ValueError for a module whose operations depend on its inputs.
        """
        (low, high), module, policy = self.bounds, self.module, self.says == "policy"

        class Worth(nn.Module):
            """The values of the evaluator: one for each observation [n, 1], or for each action [n, A]; no policy."""

            def __init__(self) -> None:
                super().__init__()
                self.module = module

            def forward(self, x: Tensor) -> Tensor:
                numbers = self.module(x)
                numbers = (numbers[:, :1] if policy else numbers.reshape(-1, outputs)) * scale
                return numbers if low is None else numbers.clamp(low, high)

        if self.sees not in (DEFAULT_VIEW, *self.game.view_names) or not self.game.observation_space(self.sees).shape:
            raise UserError(f"network {self.name!r}: expected an observation that is one array, got {self.sees!r}")
        space: Any = self.game.observation_space(self.sees)
        outputs, scale, file = len(self.game.actions) if self.says == "q" else 1, self.unit, io.BytesIO()
        with warnings.catch_warnings():
            # The newer exporter needs two more packages and takes ten times as long
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("error", torch.jit.TracerWarning)
            try:
                torch.onnx.export(
                    Worth().train(module.training), (torch.zeros(2, *space.shape),), file,  # type: ignore[arg-type]
                    input_names=[input_name], output_names=[output_name],
                    opset_version=opset, dynamic_axes={input_name: {0: "n"}, output_name: {0: "n"}}, dynamo=False,
                )  # fmt: skip
            except (RuntimeError, torch.jit.TracerWarning) as problem:
                reason = short(" ".join(str(problem).split()), 120)
                raise UserError(
                    f"network {self.name!r}: expected a module that torch.onnx takes, got: {reason}"
                ) from None
        return file.getvalue()

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as it is now as a leaf evaluator; raises ValueError as `check_module` does."""
        check_module(self)
        (low, high), numbers = self.bounds, module_numbers(self.module)
        model = Model(self.name, numbers, "q" if self.says == "q" else "value", scale=self.unit, observation=self.sees)
        if self.says == "policy":
            model = replace(model, numbers=lambda obs: numbers(obs)[:, :1])
        evaluator = leaf(self.game, model, to_go=high is None)
        if self.says == "policy":
            evaluator = replace(evaluator, batch_policy=self.advice())
        assert evaluator.batch is not None
        if low is None or high is None:
            return replace(evaluator, name=name)
        return replace(
            evaluator, name=name, batch=bounded_batch(evaluator.batch, low, high, self.name), low=low, high=high
        )

    @property
    def bounds(self) -> tuple[float, float] | tuple[None, None]:
        """Bounds of its values, (None, None) if there are none."""
        low, high = bounds_of(self.game)
        return (None, None) if low is None or high is None else (low * self.unit, high * self.unit)

    def advice(self) -> Callable[[Array, Any], tuple[Floats, Floats]]:
        """Returns the network's `batch_policy`, of decisions; see `Evaluator`."""
        numbers, (low, high), outputs = module_numbers(self.module), self.bounds, self.outputs

        def advise(rows: Array, T: Any) -> tuple[Floats, Floats]:
            module_outputs = numbers(self.describe(rows, T)[0])
            if module_outputs.shape != (len(rows), outputs):
                wanted = f"{OUTPUT_WORDS[self.says]} [{len(rows)}, {outputs}]"
                raise UserError(f"network {self.name!r}: expected {wanted}, got {list(module_outputs.shape)}")
            logits = np.zeros((len(rows), self.game.max_actions))
            logits[:, : outputs - 1] = module_outputs[:, 1:]
            values = module_outputs[:, 0] * np.float64(self.unit)
            return values if low is None or high is None else in_range(values, low, high, self.name), logits

        return advise


def bounds_of(game: Game) -> tuple[float, float] | tuple[None, None]:
    """Returns the bounds of outputs in two-player games and in games that are won or lost, else (None, None)."""
    if game.players == 2:
        return -1.0, 1.0
    return (0.0, 1.0) if game.return_range == (0.0, 1.0) else (None, None)


def bounded_batch(batch: Callable[..., Floats], low: float, high: float, name: str) -> Callable[..., Floats]:
    """Returns `batch` with a check that raises ValueError for numbers out of range."""

    def values(rows: Array, T: Any) -> Floats:
        return in_range(batch(rows, T), low, high, name)

    return values


def in_range(values: Floats, low: float, high: float, name: str) -> Floats:
    """Clips values to their range; raises ValueError for those that exceed it by more than rounding."""
    if len(wrong := values[(values < low - ROUNDING) | (values > high + ROUNDING)]):
        whose = "for the player who acts" if low < 0 else "as a chance to win"
        raise UserError(f"network {name!r}: expected values from {low:g} to {high:g} {whose}, got {wrong[0]:g}")
    return values.clip(low, high)


def views_of(game: Game) -> str:
    """Formats the names of a game's views as values of `--sees`."""
    return " or ".join((*(view for view in game.view_names if view != DEFAULT_VIEW), OBSERVATION))


def outputs_of(game: Game, says: Says) -> int:
    """Returns the number of outputs of a module for a position."""
    return {"value": 1, "q": len(game.actions), "policy": 1 + len(game.actions)}[says]


def trial_inputs(network: TorchNetwork) -> Tensor:
    """Returns inputs of some positions for a trial of a module, [TRIAL_ROWS, ...], on the network's device."""
    game = network.game
    return torch.from_numpy(network.describe(trial_rows(game), game.tables())[0]).to(network.device)


def checked_outputs(network: TorchNetwork, module: nn.Module, inputs: Tensor) -> Tensor:
    """Calls a module with inputs [n, ...] and returns its outputs [n, outputs]; raises ValueError for other types and shapes."""
    front, n, outputs = f"network {network.name!r}", len(inputs), network.outputs
    mode = "train" if module.training else "eval"
    try:
        result = module(inputs)
    except Exception as problem:  # of a user's class
        wanted = f"a module that takes float32 {list(inputs.shape)} in {mode} mode"
        raise UserError(f"{front}: expected {wanted}, got {reason_of(problem)}") from problem
    if not isinstance(result, Tensor):
        raise UserError(f"{front}: expected one tensor in {mode} mode, got {type(result).__name__}")
    if result.dtype != torch.float32:
        raise UserError(f"{front}: expected numbers of torch.float32, got {result.dtype}")
    if result.shape != (n, outputs) and (network.says != "value" or result.shape != (n,)):
        raise UserError(f"{front}: expected {OUTPUT_WORDS[network.says]} [{n}, {outputs}], got {list(result.shape)}")
    return result.reshape(n, outputs)


def check_module(network: TorchNetwork) -> None:
    """Raises ValueError for a module that cannot be an evaluator.

    Its outputs must be finite and in the range of its game, must not depend on the batch, and a call must not change its weights.
    """
    module, inputs, front = network.module, trial_inputs(network), f"network {network.name!r}"
    before, mode = {name: part.clone() for name, part in module.state_dict().items()}, module.training
    module.eval()
    try:
        with torch.inference_mode():
            together = checked_outputs(network, module, inputs.clone())  # some modules write to their inputs
            changed = [name for name, part in module.state_dict().items() if not torch.equal(before[name], part)]
            alone = torch.cat([checked_outputs(network, module, inputs[k : k + 1].clone()) for k in range(TRIAL_ROWS)])
    finally:
        module.train(mode)
    one, other = alone.detach().cpu().numpy(), together.detach().cpu().numpy()
    if not np.isfinite([one, other]).all():
        raise UserError(f"{front}: expected finite numbers, got nan or infinity")
    if changed:
        raise UserError(
            f"{front}: expected forward to leave all parameters and buffers, got a change of {changed[0]!r}"
        )
    unlike = ~np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
    if unlike.any():
        difference = f"{one[unlike][0]:g} alone, {other[unlike][0]:g} among {TRIAL_ROWS}"
        raise UserError(f"{front}: expected the same numbers for a position in every batch, got {difference}")
    low, high = bounds_of(network.game)
    if low is not None and high is not None:
        in_range((one[:, :1] if network.says == "policy" else one).reshape(-1), low, high, network.name)


def reason_of(problem: Exception) -> str:
    """Formats an error of the user's code on one line."""
    name, message = type(problem).__name__, str(problem).partition("\n")[0]
    return short(message if isinstance(problem, UserError) else f"{name}: {message}" if message else name, 240)


def memory_of_machine() -> float:
    """Returns the machine's bytes of memory; infinity if the system does not tell."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def need_memory(name: str, size: int, times: int = 1) -> None:
    """Raises ValueError if parameters and buffers of `size` bytes do not fit into memory `times` times."""
    memory = memory_of_machine()
    if times * size > memory:
        more = f", {times} times that to learn" if times > 1 else ""
        wanted = f"parameters that fit into this machine's memory of {memory / 1e6:,.0f} MB"
        raise UserError(f"network {name!r}: expected {wanted}, got {size / 1e6:,.0f} MB{more}")


def size_of(module: nn.Module) -> int:
    """Returns the number of bytes of a module's parameters and buffers."""
    return sum(part.numel() * part.element_size() for part in (*module.parameters(), *module.buffers()))


def built(what: Callable[..., nn.Module], space: Any, outputs: int, arguments: Mapping[str, Any]) -> nn.Module:
    """Builds a module; if its layers find their sizes in the first call, it is called once."""
    module = what(space, outputs, **arguments)
    if any(isinstance(part, UninitializedParameter) for part in module.parameters()):
        with torch.no_grad():
            module.eval()(torch.zeros(1, *space.shape))
        module.train()
    return module


def make_network(
    game: Game, name: str, sees: str, says: Says, scale: float, arguments: Mapping[str, Any]
) -> TorchNetwork:
    """Builds a network with initial weights; named modules get a last layer that keeps to the range of the game's values."""
    need_among(says, SAYS, "says", "network")
    need_in(scale, Range(0, math.inf, above=True, below=True), "a finite scale", "network")
    if bounds_of(game)[1] is not None and scale != 1:
        raise UserError(
            f"network: expected a scale in a single-player game with a score, got {scale!r} in {game.name!r}"
        )
    if sees in sets_of(game) and says != "value" and features_of(game, sees).invariant:
        raise UserError(f"expected --sees {views_of(game)} to value actions: symmetric positions share {sees!r}")
    space, outputs = space_of(game, sees), outputs_of(game, says)
    own_class = class_of(name) if ":" in name else None
    if own_class is None:
        need_among(name, (*BUILT_IN, "MODULE:CLASS"), "a network")
        if not space.shape:
            raise UserError(f"network {name!r}: expected an observation that is one array, got {space}")
    what = own_class or BUILT_IN[name]
    size = 0
    with torch.device("meta"), contextlib.suppress(Exception):  # some classes cannot be built without data
        size = size_of(built(what, space, outputs, arguments))
    if torch.get_default_device().type != "meta":
        need_memory(name, size)
    try:
        json.dumps(dict(arguments))  # a file has to store them
        module = built(what, space, outputs, arguments)
    except Exception as problem:  # of a user's class
        given = short(repr(dict(arguments)), 60)
        raise UserError(
            f"network {name!r}: expected arguments that build it, got {given}: {reason_of(problem)}"
        ) from problem
    if own_class is None and bounds_of(game)[1] is not None:
        last = nn.Tanh() if game.players == 2 else nn.Sigmoid()
        module = nn.Sequential(module, FirstOnly(last) if says == "policy" else last)
    for part, tensor in module.state_dict().items():
        if tensor.dtype not in FILE_TYPES:
            raise UserError(f"network {name!r}: expected numbers of torch.float32 in {part!r}, got {tensor.dtype}")
    return TorchNetwork(game, module, name, dict(arguments), sees, says, float(scale))


def create(
    game: Game, metadata: Metadata, tensors: Tensors | None = None, tables: Mapping[str, Any] | None = None
) -> TorchNetwork:
    """Returns a network as `NetworkKind.create` does; the package's own modules are built without memory for initial weights."""
    if parent_process() is not None:
        torch.set_num_threads(1)  # several processes play at once
    built_in = metadata["network"] in BUILT_IN and tensors is not None
    with torch.device("meta" if built_in else "cpu"):
        network = make_network(
            game, metadata["network"], metadata["sees"], metadata["says"], metadata["scale"], metadata["arguments"]
        )
    return network if tensors is None else with_weights(network, tensors)


def with_weights(network: TorchNetwork, tensors: Tensors) -> TorchNetwork:
    """Loads weights into a network's module and returns the network; raises ValueError if they do not fit."""
    wanted = {name: list(part.shape) for name, part in network.module.state_dict().items()}
    given = {name: list(part.shape) for name, part in tensors.items()}
    for name in (*wanted, *given):
        if wanted.get(name) != given.get(name):
            raise UserError(
                f"network {network.name!r}: expected {name!r} {wanted.get(name)}, got {given.get(name) or 'none'}"
            )
    network.module.load_state_dict({name: torch.tensor(part) for name, part in tensors.items()}, assign=True)
    network.module.to(network.device).eval()
    return network


def unpickled(own_class: type | None, game: Game, metadata: Metadata, tensors: Tensors) -> TorchNetwork:
    """Rebuilds the network of another process; `own_class` is its class if `--module` does not name it."""
    if own_class is not None:
        register_network(own_class)
    return create(game, metadata, tensors)


KIND = NetworkKind(
    "torch",
    create,
    needs={"network": str, "arguments": dict, "sees": str, "says": str, "scale": (int, float)},
    module="leafwise.training.networks:TorchModule",
)
