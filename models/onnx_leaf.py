"""ONNX files as leaf evaluators: `leafwise.leaf(game, "net.onnx")`, or `onnx:net.onnx` in the text of a player (extra `onnx`).

A foreign file runs no code and reads no other file: it is loaded from memory, and only with operators of ONNX itself.
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
"""Prefix of a file in texts of players and leaves: `onnx:FILE.onnx`, `onnx:FILE.onnx,threads=2`."""
VALUE, ACTION_VALUES = "value", "action_values"
"""Names of outputs with a known meaning."""
TO_GO = "leafwise.to_go"
"""Key of a file's metadata; "0": its values are the return of the whole game."""
VIEW = "leafwise.observation"
"""Key of the view of the game that a file sees, if it is not the default one."""
MAX_BYTES = 256 << 20
"""Maximum number of bytes of a file."""
DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
"""Domains of the operators that a file may use."""
MAX_THREADS = 256


def files_of(text: str) -> tuple[str, int]:
    """Parses `onnx:FILE.onnx,threads=2` into file and number of threads; raises ValueError for other texts."""
    match = re.fullmatch(rf"{PREFIX}:(.+?)(?:,threads=([0-9]{{1,9}}))?", re.sub(r"""["']""", "", text))
    if match is None:
        raise UserError(f"expected {PREFIX}:FILE.onnx or {PREFIX}:FILE.onnx,threads=2, got {text!r}")
    return match[1], int(need_in(int(match[2] or 1), Range(1, MAX_THREADS), "threads", kind=int))


def model_of(game: Game, path: str | os.PathLike[str], threads: int = 1, view: str = "") -> Model:
    """Loads a file that sees `view` of the game ("": by its metadata); raises ValueError for one that does not fit.

    An output `value` has one number for each observation, `action_values` one for each action. Otherwise there must be one output.
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
        self, arguments: tuple[Any, ...], session: Any, output: str, takes: dict[str, tuple[str, Any]], front: str
    ) -> None:
        self.arguments, self.session, self.output, self.takes, self.front = arguments, session, [output], takes, front
        self.last: Any = None
        self.bound: Any = None
        """Observations, their numbers, and a binding to their memory: a run takes half the time of `session.run`."""
        self.is_free = threading.Lock()
        """Held by the caller of `of_same`."""

    def __call__(self, obs: Observation) -> Any:
        named = obs if isinstance(obs, dict) else {"": obs}
        given = {name: np.ascontiguousarray(named[part], dtype=kind) for name, (part, kind) in self.takes.items()}
        try:
            return self.session.run(self.output, given)[0]
        except Exception as problem:  # ONNX Runtime raises classes of its own
            raise UserError(f"{self.front} a model that runs, got: {one_line(problem)}") from None

    def is_bound_to(self, obs: Observation) -> bool:
        """Whether `of_same` was last called with these observations and has bound them."""
        return self.bound is not None and self.bound[0] is obs

    def of_same(self, obs: Observation) -> Any:
        """Returns the numbers of observations; a caller that writes to the same arrays and calls again gets them faster.

        The result is valid until the next call. The caller holds `is_free`.
        """
        if not self.is_bound_to(obs):
            numbers = self(obs)
            if self.last is not obs:
                self.last = obs
                return numbers
            import onnxruntime

            named = obs if isinstance(obs, dict) else {"": obs}
            binding, copied = self.session.io_binding(), []
            value = onnxruntime.OrtValue.ortvalue_from_numpy  # shares the array's memory
            for name, (part, kind) in self.takes.items():
                taken = named[part]
                if taken.dtype != kind:
                    copied.append((taken := np.array(taken, dtype=kind), named[part]))
                binding.bind_ortvalue_input(name, value(taken))
            binding.bind_ortvalue_output(self.output[0], value(numbers))
            self.bound = obs, numbers, binding, copied
            return numbers
        _, numbers, binding, copied = self.bound
        for array, part in copied:
            array[...] = part
        self.session.run_with_iobinding(binding)
        return numbers

    def __reduce__(self) -> tuple[Any, ...]:
        return read_again, self.arguments


def read_again(game: Game, path: Path, threads: int, view: str) -> Callable[[Observation], Any]:
    """Loads the file of a pickled `Numbers` in another process."""
    return model_of(game, path, threads, view).numbers


def one_line(problem: Exception) -> str:
    """Formats an error of ONNX Runtime on one line."""
    return short(" ".join(str(problem).split()), 200)


@functools.lru_cache(maxsize=4)
def _read(game: Game, path: Path, threads: int, view: str, written: int, size: int) -> Model:
    """Reads a file and caches the model."""
    if find_spec("onnxruntime") is None:
        raise UserError("expected onnxruntime for an ONNX file, found none: pip install 'leafwise[onnx]'")
    front = f"ONNX file {str(path)!r}: expected"
    content = checked_content(path, size, front)
    try:
        session = opened(content, threads)
    except Exception as problem:  # ONNX Runtime raises a class for each kind of defect
        raise UserError(f"{front} a model that ONNX Runtime takes, got: {one_line(problem)}") from None
    metadata = session.get_modelmeta().custom_metadata_map
    view = view or metadata.get(VIEW, DEFAULT_VIEW)
    takes = inputs_of(game.observation_space(view), session.get_inputs(), front)
    outputs = [one.name for one in session.get_outputs()]
    output = next((name for name in (VALUE, ACTION_VALUES) if name in outputs), outputs[0])
    if len(outputs) > 1 and output not in (VALUE, ACTION_VALUES):
        raise UserError(f"{front} one output, or one called {VALUE!r}, got {', '.join(outputs)}")
    numbers = Numbers((game, path, threads, view), session, output, takes, front)
    kind: Kind = "q" if output == ACTION_VALUES else "value"
    return Model(f"{PREFIX}:{path}", numbers, kind, to_go=metadata.get(TO_GO) != "0", observation=view)


def opened(content: bytes, threads: int = 1) -> Any:
    """Opens a session of ONNX Runtime on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def checked_content(path: Path, size: int, front: str) -> bytes:
    """Reads a file; raises ValueError if it is too large, not a model, or refers to other operators or files."""
    import onnx
    from google.protobuf.message import DecodeError

    if size > MAX_BYTES:
        raise UserError(f"{front} at most {MAX_BYTES:,} bytes, got {size:,}")
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
    """Yields every node of a model, also of its functions and subgraphs."""

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
    """Yields every tensor of a model."""
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
    """Returns the part of an observation ("": all of it) and the type of each input of a model, by the input's name.

    Raises ValueError for names, shapes and types that differ from the observation space.
    """
    parts = dict(space.items()) if hasattr(space, "items") else {"": space}
    inputs = list(inputs)
    names = [model_input.name for model_input in inputs]
    if "" in parts and len(inputs) == 1:
        parts = {inputs[0].name: space}
    if sorted(names) != sorted(parts):
        raise UserError(f"{front} inputs {', '.join(filter(None, parts)) or 'of one name'}, got {', '.join(names)}")
    takes = {}
    for model_input in inputs:
        box = parts[model_input.name]
        wanted = ["n", *map(str, box.shape)]
        fits = len(model_input.shape) == len(wanted) and not isinstance(model_input.shape[0], int)
        if not fits or any(
            isinstance(d, int) and d != size for d, size in zip(model_input.shape[1:], box.shape, strict=True)
        ):
            got = ", ".join(str(d) if isinstance(d, int) else "n" for d in model_input.shape)
            raise UserError(f"{front} input {model_input.name!r} of shape [{', '.join(wanted)}], got [{got}]")
        kinds: dict[str, Array] = {"tensor(float)": np.float32, TYPES.get(str(box.dtype), ""): box.dtype}  # type: ignore[dict-item]
        if model_input.type not in kinds:
            raise UserError(f"{front} input {model_input.name!r} of type float or {box.dtype}, got {model_input.type}")
        takes[model_input.name] = model_input.name if hasattr(space, "items") else "", kinds[model_input.type]
    return takes


TYPES = {"float32": "tensor(float)", "float64": "tensor(double)"} | {
    f"{sign}int{bits}": f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""ONNX's names of array types."""
