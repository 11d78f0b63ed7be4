"""Exports networks as ONNX files whose input is the observation, so that programs in other languages need no features of a game.

A game's features are written a second time, as array operations on the observation (`Observed` of
`leafwise.envs.core.contract.features`). They are traced here; the same function runs on NumPy arrays.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.features import looked_up_in
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.models.ntuple import NTupleNetwork, features
from leafwise.models.onnx_leaf import ACTION_VALUES, MAX_BYTES, TO_GO, VALUE, VIEW
from leafwise.models.seen import OBSERVATION, cells_of, features_of
from leafwise.models.sparse import BOUND, SparseNetwork

OPSET, IR = 18, 10
"""Versions of the operators and of the file format that are written."""
OBSERVED = "observation"
"""The name of the input."""
OPERATORS: dict[Any, str] = {
    np.add: "Add", np.subtract: "Sub", np.multiply: "Mul", np.floor_divide: "Div", np.remainder: "Mod", np.minimum: "Min",
    np.maximum: "Max", np.equal: "Equal", np.greater: "Greater", np.greater_equal: "GreaterOrEqual", np.true_divide: "Div",
}  # fmt: skip
"""ONNX rounds a division of integers towards 0: use `//` only for integers of at least 0, and `/` only for floats."""
COMPARED = ("Equal", "Greater", "GreaterOrEqual")


class Traced(NDArrayOperatorsMixin):
    """An array that is computed in the file: it has operators, `sum`, `max`, columns, and look-ups in tables."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options or ufunc not in OPERATORS:
            return NotImplemented
        kind = OPERATORS[ufunc]
        result = self.graph.add(kind, *inputs)
        return self.graph.add("Cast", result, to=self.graph.INT64) if kind in COMPARED else result

    def __getitem__(self, place: Any) -> Traced:
        """Selects columns, `x[:, 3]`, `x[:, :16]`, `x[:, [1, 2]]`, or adds an axis, `x[:, None]`."""
        _, columns = place
        if columns is None:
            return self.graph.add("Unsqueeze", self, np.array([1]))
        if isinstance(columns, slice):
            assert columns.stop is not None
            columns = np.arange(columns.start or 0, columns.stop)
        return self.graph.add("Gather", self, np.asarray(columns, dtype=np.int64), axis=1)

    def __matmul__(self, matrix: Array) -> Traced:
        """Returns the product with a matrix of small integers."""
        exact = self.graph.add("MatMul", self.graph.cast(self, np.float32), matrix.astype(np.float32))
        return self.graph.cast(exact, np.int64)

    def sum(self, axis: int) -> Traced:
        """Returns the sums along an axis."""
        return self.graph.add("ReduceSum", self, np.array([axis]), keepdims=0)

    def max(self, axis: int) -> Traced:
        """Returns the maximum along an axis."""
        return self.graph.add("ReduceMax", self, np.array([axis]), keepdims=0)

    def astype(self, kind: Any) -> Traced:
        """Casts to another type; to integers it truncates."""
        return self.graph.cast(self, kind)

    def looked_up_in(self, table: Array) -> Traced:
        """Returns the entries of a table at these indices."""
        return self.graph.add("Gather", table, self, axis=0)

    def repeated(self, step: Callable[..., Sequence[Traced]], *others: Traced) -> list[Traced]:
        """Repeats a step on integers and returns the results; see `leafwise.envs.core.contract.features`."""
        graph, helper, begun = self.graph, self.graph.onnx.helper, (self, *others)

        def new(n: int) -> list[Traced]:
            return [Traced(graph, graph.name()) for _ in range(n)]

        def infos(kind: Any, shape: Any, *values: Traced) -> list[Any]:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            return [helper.make_tensor_value_info(value.name, kind, shape) for value in values]

        outside, graph.nodes = graph.nodes, []
        count, going, *before = new(2 + len(begun))
        goes_on, *after = step(*before)
        more = graph.cast(graph.add("ReduceSum", goes_on, keepdims=0), bool)
        inputs = [*infos(np.int64, [], count), *infos(bool, [], going), *infos(np.int64, None, *before)]
        body = helper.make_graph(graph.nodes, "step", inputs, [*infos(bool, [], more), *infos(np.int64, None, *after)])
        graph.nodes, results = outside, new(len(begun))
        loop_inputs = ["", graph.cast(np.array(1), bool).name, *(value.name for value in begun)]
        graph.nodes.append(helper.make_node("Loop", loop_inputs, [value.name for value in results], body=body))
        return results


class Graph:
    """The nodes and constants of a file."""

    def __init__(self) -> None:
        try:
            import onnx
        except ModuleNotFoundError:
            raise UserError("expected onnx to write an ONNX file, found none: pip install 'leafwise[onnx]'") from None
        self.onnx, self.INT64 = onnx, onnx.TensorProto.INT64
        self.nodes: list[Any] = []
        self.numbers: list[Any] = []
        self.names = map("x{}".format, itertools.count())

    def name(self) -> str:
        return next(self.names)

    def name_of(self, value: Any) -> str:
        """Returns the name of a value; adds it to the constants of the file unless the file computes it."""
        if isinstance(value, Traced):
            return value.name
        array = np.asarray(value)
        array = array.astype(np.int64) if array.dtype.kind in "bi" and array.dtype != np.int16 else array
        self.numbers.append(self.onnx.numpy_helper.from_array(np.array(array, order="C"), name := self.name()))
        return name

    def add(self, kind: str, *inputs: Any, **attributes: Any) -> Traced:
        """Adds a node and returns its result."""
        input_names = [self.name_of(one) for one in inputs]
        self.nodes.append(self.onnx.helper.make_node(kind, input_names, [name := self.name()], **attributes))
        return Traced(self, name)

    def cast(self, value: Any, kind: Any) -> Traced:
        return self.add("Cast", value, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def model(self, game: Game, outputs: dict[str, Traced]) -> Any:
        """Returns the ONNX model with the observation as input and `outputs` by name."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
        space: Any = game.observation_space()
        shown = helper.np_dtype_to_tensor_dtype(space.dtype)
        inputs = [helper.make_tensor_value_info(OBSERVED, shown, ["n", *space.shape])]
        widths = {name: 1 if name == VALUE else len(game.actions) for name in outputs}
        results = [helper.make_tensor_value_info(name, kind, ["n", width]) for name, width in widths.items()]
        graph = helper.make_graph(self.nodes, game.name, inputs, results, self.numbers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


def exported(network: Any) -> bytes:
    """Returns a network as an ONNX file; raises ValueError if it needs more than the observation, or the file is too large.

    Outputs: `value` [n, 1], the evaluator's value for the player who acts. A network with a policy also has `policy` [n, A]. One
    with action values has `action_values` [n, A] instead; the largest of a legal action is the value.
    """
    graph = Graph()
    game: Game = network.game
    space: Any = game.observation_space()
    metadata = {"leafwise.game": game.name, "leafwise.options": json.dumps(dict(game.given_options))}
    metadata[TO_GO] = str(int(network.evaluator("").to_go))
    if network.kind.name == "torch":
        metadata[VIEW] = network.sees
        content = network.onnx(OBSERVED, VALUE if network.says == "value" else ACTION_VALUES, OPSET)
        model = graph.onnx.load_model_from_string(content)
    elif isinstance(network, SparseNetwork):
        seen = graph.cast(graph.add("Reshape", Traced(graph, OBSERVED), np.array([0, -1])), np.int64)
        model = graph.model(game, sparse_outputs(graph, network, seen))
    elif isinstance(network, NTupleNetwork) and len(space.shape) == 1:
        model = graph.model(game, ntuple_outputs(graph, network, graph.cast(Traced(graph, OBSERVED), np.int64)))
    else:
        raise UserError(
            f"{game.name}: expected a network of features, of n-tuples or of torch, got one of kind {network.kind.name!r}"
        )
    if model.ByteSize() > MAX_BYTES:
        raise UserError(f"{game.name}: expected a file of at most {MAX_BYTES:,} bytes, got {model.ByteSize():,}")
    model.producer_name = "leafwise"
    graph.onnx.helper.set_model_props(model, metadata)
    graph.onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def sparse_outputs(graph: Graph, network: SparseNetwork, seen: Traced) -> dict[str, Traced]:
    """Returns the outputs of a network with a sparse first layer."""
    game, W, acts = network.game, network.weights, None
    features = features_of(game, network.sees)
    if network.sees == OBSERVATION:
        active = seen + cells_of(game)[0]
    elif features.observed is not None:
        *parts, acts = features.observed(seen, game.options) + [None] * (features.view == "acting")
        active = graph.add("Concat", *parts, axis=1)
    else:
        raise UserError(
            f"{game.name}: expected a network that sees only the observation, got one that sees {network.sees!r}"
        )
    x = graph.add("ReduceSum", looked_up_in(W.embedding, active), np.array([1]), keepdims=0) + W.bias
    for weights, bias in network.layers():
        x = graph.add("Gemm", graph.add("Relu", x), weights, bias)
    bound: Any = np.float32(BOUND * W.scale)  # with the sign of the player who acts
    if acts is not None and network.head != "max":
        bound = graph.cast(1 - 2 * acts, np.float32) * bound
    two, scale = game.players == 2, np.float32(W.scale)

    def worth(outputs: Traced) -> Traced:
        return graph.add("Tanh", outputs) * bound if two else outputs * scale

    if network.head == "max":
        return {ACTION_VALUES: worth(x)}
    first = x[:, [0]]
    if network.head == "chance":
        return {VALUE: graph.add("Sigmoid", first)}
    if network.head == "wdl":
        chances = graph.add("Softmax", x, axis=1)
        return {VALUE: (chances[:, [0]] - chances[:, [2]]) * bound}
    if network.head == "policy":
        return {VALUE: worth(first), "policy": x[:, np.arange(1, 1 + len(game.actions))]}
    return {VALUE: worth(first)}


def ntuple_outputs(graph: Graph, network: NTupleNetwork, seen: Traced) -> dict[str, Traced]:
    """Returns the output of an n-tuple network: the potential so far plus the learned value still to come."""
    game, shape, W, cells = network.game, network.shape, network.weights, features(network.game)
    if cells.observed is None or (shape.power and not cells.points):
        raise UserError(
            f"{game.name}: expected a network that sees the observation, got n-tuples that it does not show"
        )
    board, small = cells.observed(seen, game.options)
    for name in shape.small or ():
        if name not in small:
            raise UserError(f"{game.name}: expected small tables that the observation determines, got {name!r}")
    # The copy of the tables, by the highest cell
    stage: Any = None
    if shape.splits:
        highest = board.max(axis=1)
        stage = sum(highest >= split for split in shape.splits)
    # The copies of a table follow each other, so that one look-up serves all symmetries and stages
    total: Any = None
    sizes, whole = shape.sizes(game), W.table.reshape(shape.copies, -1)
    for k, (start, size) in enumerate(zip(W.offsets[:-1].astype(np.int64), sizes, strict=True)):
        table = np.ascontiguousarray(whole[:, start : start + size]).reshape(-1)
        if k < len(shape.tuples):
            index = None
            for place, cell in enumerate(shape.tuples[k]):
                part = board[:, [view[cell] for view in cells.views]] * (1 << cells.bits * place)
                index = part if index is None else index + part
        else:
            index = small[(shape.small or ())[k - len(shape.tuples)]][:, None]
        if stage is not None:
            index = index + stage[:, None] * size
        entries = graph.cast(looked_up_in(table, index), np.int32 if network.packed else np.float32)
        summand = graph.cast(graph.add("ReduceSum", entries, np.array([1]), keepdims=1), np.float32) * W.scales[k]
        total = summand if total is None else total + summand
    so_far = np.float32(shape.base)
    if shape.power:
        points = (np.array(cells.points) ** shape.power).astype(np.float32)
        so_far = so_far + graph.add("ReduceSum", looked_up_in(points, board), np.array([1]), keepdims=1)
    return {VALUE: total + so_far}


def write_onnx(network: Any, file: Path) -> None:
    """Writes a network as an ONNX file; raises ValueError as `exported` does."""
    from leafwise.envs.core.files import write_named

    write_named(file, exported(network))
