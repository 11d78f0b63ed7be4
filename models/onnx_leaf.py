"""ONNX files as leaves: `leafwise.leaf(game, "net.onnx")`, `onnx:net.onnx` in a player's text (extra `onnx`).

A file of somebody else runs no code and reads no other file: it is taken from memory, with the operators of ONNX itself alone.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.gym.observation import Observation
from leafwise.envs.core.ranges import Range, need_in
from leafwise.models.sb3 import Kind, Model

PREFIX = "onnx"
"""How texts of players and leaves name a file: `onnx:FILE.onnx`, `onnx:FILE.onnx,threads=2`."""
VALUE, ACTION_VALUES = "value", "action_values"
"""Outputs that say what they are."""
TO_GO = "leafwise.to_go"
"""The entry of a file's metadata that says by 0 that its values stand for the return as a whole."""
VIEW = "leafwise.observation"
"""The entry that names the view of the game that a file takes, where that is not the usual one."""
LARGEST = 256 << 20
"""Bytes of a file."""
DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
"""Whose operators are known."""
MAX_THREADS = 256


def files_of(text: str) -> tuple[str, int]:
    """Returns the file and the threads that `onnx:FILE.onnx,threads=2` names; raises ValueError for other texts."""
    found = re.fullmatch(rf"{PREFIX}:(.+?)(?:,threads=([0-9]{{1,9}}))?", re.sub(r"""["']""", "", text))
    if found is None:
        raise UserError(f"expected {PREFIX}:FILE.onnx or {PREFIX}:FILE.onnx,threads=2, got {text!r}")
    return found[1], int(need_in(int(found[2] or 1), Range(1, MAX_THREADS), "threads", kind=int))


def model_of(game: Game, path: str | os.PathLike[str], threads: int = 1, view: str = "") -> Model:
    """Returns what is in a file that takes a view of the game ("": as it says); raises ValueError for one that does not fit.

    An output `value` has one number for each observation, `action_values` one for each action. Else there is one output.
    """
    path = Path(os.path.expanduser(path))
    try:
        written = path.stat()
    except OSError as problem:
        raise UserError(f"expected an ONNX file, got {str(path)!r}: {problem.strerror}") from None
    return _read(game, path, threads, view, written.st_mtime_ns, written.st_size)


class Numbers:
    """A file as a function from observations [n, ...] to numbers."""

    def __init__(
        self, made: tuple[Any, ...], session: Any, output: str, takes: dict[str, tuple[str, Any]], front: str
    ) -> None:
        self.made, self.session, self.output, self.takes, self.front = made, session, [output], takes, front
        self.last: Any = None
        self.bound: Any = None
        """Observations, their numbers, and what runs them in their place, for one in half the time of `session.run`."""
        self.is_free = threading.Lock()
        """Held by whoever asks for numbers in place."""

    def __call__(self, obs: Observation) -> Any:
        named = obs if isinstance(obs, dict) else {"": obs}
        given = {name: np.ascontiguousarray(named[part], dtype=kind) for name, (part, kind) in self.takes.items()}
        try:
            return self.session.run(self.output, given)[0]
        except Exception as problem:  # of classes of its own
            raise UserError(f"{self.front} a model that runs, got: {one_line(problem)}") from None

    def is_bound_to(self, obs: Observation) -> bool:
        """Whether these were the last that `of_same` was asked about."""
        return self.bound is not None and self.bound[0] is obs

    def of_same(self, obs: Observation) -> Any:
        """Returns the numbers of observations whose arrays, written anew, are asked about again and again, until the next are asked
        for; for whoever holds `is_free`.
        """
        if not self.is_bound_to(obs):
            found = self(obs)
            if self.last is not obs:
                self.last = obs
                return found
            import onnxruntime

            named = obs if isinstance(obs, dict) else {"": obs}
            binding, copied = self.session.io_binding(), []
            value = onnxruntime.OrtValue.ortvalue_from_numpy  # stays in the array's own memory
            for name, (part, kind) in self.takes.items():
                taken = named[part]
                if taken.dtype != kind:
                    copied.append((taken := np.array(taken, dtype=kind), named[part]))
                binding.bind_ortvalue_input(name, value(taken))
            binding.bind_ortvalue_output(self.output[0], value(found))
            self.bound = obs, found, binding, copied
            return found
        _, found, binding, copied = self.bound
        for array, part in copied:
            array[...] = part
        self.session.run_with_iobinding(binding)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return read_again, self.made


def read_again(game: Game, path: Path, threads: int, view: str) -> Callable[[Observation], Any]:
    """Returns a file as a function, in another process."""
    return model_of(game, path, threads, view).numbers


def one_line(problem: Exception) -> str:
    """Returns what ONNX Runtime says, in one line."""
    return short(" ".join(str(problem).split()), 200)


@functools.lru_cache(maxsize=4)
def _read(game: Game, path: Path, threads: int, view: str, written: int, size: int) -> Model:
    """Reads a file, or remembers it."""
    if find_spec("onnxruntime") is None:
        raise UserError("expected onnxruntime for an ONNX file, found none: pip install 'leafwise[onnx]'")
    front = f"ONNX file {str(path)!r}: expected"
    content = checked(path, size, front)
    try:
        session = opened(content, threads)
    except Exception as problem:  # of classes of its own, one for each kind of defect
        raise UserError(f"{front} a model that ONNX Runtime takes, got: {one_line(problem)}") from None
    told = session.get_modelmeta().custom_metadata_map
    view = view or told.get(VIEW, DEFAULT_VIEW)
    takes = inputs_of(game.observation_space(view), session.get_inputs(), front)
    outputs = [one.name for one in session.get_outputs()]
    output = next((name for name in (VALUE, ACTION_VALUES) if name in outputs), outputs[0])
    if len(outputs) > 1 and output not in (VALUE, ACTION_VALUES):
        raise UserError(f"{front} one output, or one called {VALUE!r}, got {', '.join(outputs)}")
    numbers = Numbers((game, path, threads, view), session, output, takes, front)
    kind: Kind = "q" if output == ACTION_VALUES else "value"
    return Model(f"{PREFIX}:{path}", numbers, kind, to_go=told.get(TO_GO) != "0", observation=view)


def opened(content: bytes, threads: int = 1) -> Any:
    """Returns a session of ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def checked(path: Path, size: int, front: str) -> bytes:
    """Returns what is in a file; raises ValueError for one that is too large, no model, or leads out of itself."""
    import onnx
    from google.protobuf.message import DecodeError

    if size > LARGEST:
        raise UserError(f"{front} at most {LARGEST:,} bytes, got {size:,}")
    content = path.read_bytes()
    try:
        model = onnx.load_model_from_string(content)
    except DecodeError:
        raise UserError(f"{front} an ONNX model, got none") from None
    domains = {one.domain for one in model.opset_import} | {node.domain for node in nodes_of(model)}
    for domain in sorted(domains - set(DOMAINS)):
        raise UserError(f"{front} operators of ONNX alone, got the domain {domain!r}")
    for tensor in tensors_of(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise UserError(f"{front} its weights in the file itself, got {tensor.name!r} in another one")
    return content


def nodes_of(model: Any) -> Iterator[Any]:
    """Yields every node of a model, in its functions and in graphs within graphs."""

    def of(nodes: Iterable[Any]) -> Iterator[Any]:
        for node in nodes:
            yield node
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    yield from of(graph.node)

    yield from of(model.graph.node)
    for function in model.functions:
        yield from of(function.node)


def tensors_of(model: Any) -> Iterator[Any]:
    """Yields every tensor that a model holds."""
    graphs = [model.graph]
    for node in nodes_of(model):
        for attribute in node.attribute:
            graphs += [attribute.g, *attribute.graphs]
            sparse = [attribute.sparse_tensor, *attribute.sparse_tensors]
            yield from (
                attribute.t,
                *attribute.tensors,
                *(part for one in sparse for part in (one.values, one.indices)),
            )
    for graph in graphs:
        yield from graph.initializer
        for one in graph.sparse_initializer:
            yield from (one.values, one.indices)


def inputs_of(space: Any, inputs: Iterable[Any], front: str) -> dict[str, tuple[str, Any]]:
    """Returns which part of an observation ("": all of it) each input of a model takes, and as which type.

    Raises ValueError for names, shapes and types that are not those of an observation space.
    """
    parts = dict(space.items()) if hasattr(space, "items") else {"": space}
    inputs = list(inputs)
    names = [one.name for one in inputs]
    if "" in parts and len(inputs) == 1:
        parts = {inputs[0].name: space}
    if sorted(names) != sorted(parts):
        raise UserError(f"{front} inputs {', '.join(filter(None, parts)) or 'of one name'}, got {', '.join(names)}")
    found = {}
    for one in inputs:
        box = parts[one.name]
        wanted = ["n", *map(str, box.shape)]
        fits = len(one.shape) == len(wanted) and not isinstance(one.shape[0], int)
        if not fits or any(isinstance(d, int) and d != own for d, own in zip(one.shape[1:], box.shape, strict=True)):
            got = ", ".join(str(d) if isinstance(d, int) else "n" for d in one.shape)
            raise UserError(f"{front} input {one.name!r} of shape [{', '.join(wanted)}], got [{got}]")
        kinds: dict[str, Array] = {"tensor(float)": np.float32, TYPES.get(str(box.dtype), ""): box.dtype}  # type: ignore[dict-item]
        if one.type not in kinds:
            raise UserError(f"{front} input {one.name!r} of type float or {box.dtype}, got {one.type}")
        found[one.name] = one.name if hasattr(space, "items") else "", kinds[one.type]
    return found


TYPES = {"float32": "tensor(float)", "float64": "tensor(double)"} | {
    f"{sign}int{bits}": f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""What ONNX calls the types of arrays."""
