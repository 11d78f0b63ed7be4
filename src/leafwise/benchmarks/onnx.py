"""Compares a leaf of an ONNX file with ONNX Runtime itself, on the same observations."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.registry import game as find_game
from leafwise.models.leaves import leaf
from leafwise.models.onnx_export import OBSERVED, Graph, Traced
from leafwise.models.onnx_leaf import VALUE, opened

LAYERS = (42, 128, 32, 1)
ROUNDS = 20


def onnx_ratios() -> dict[str, float]:
    """Returns the processor time of ONNX Runtime called by hand over that of `onnx:`, for Connect Four, in batches and row by row.

    Called by hand it gets finished observations. Both are timed in turns, and the minimum of each counts.
    """
    game, rng, graph = find_game("trilobite").variant(board="7x6", k=4), np.random.default_rng(1), Graph()
    value = Traced(graph, OBSERVED)
    for inputs, outputs in pairwise(LAYERS):
        value = value if inputs == LAYERS[0] else graph.add("Relu", value)
        weights = rng.normal(0, 0.2, (inputs, outputs)).astype(np.float32)
        value = graph.add("Gemm", value, weights, np.zeros(outputs, dtype=np.float32))
    rows: list[Any] = []
    while len(rows) < 2048:
        state = game.new(len(rows))
        while not state.is_terminal:
            rows.append(state.row)
            state = state.play(int(rng.choice(state.legal_actions)))
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder, "net.onnx")).write_bytes(graph.model(game, {VALUE: value}).SerializeToString())
        session, ours = opened(file.read_bytes()), leaf(game, file).batch
    assert ours is not None
    ratios = {}
    for count in (2048, 1):
        some, T = np.array(rows[:count]), game.tables()
        named = {OBSERVED: Observer(game)(some).obs}
        ways = (lambda some=some, T=T: ours(some, T), lambda named=named: session.run(None, named))
        ratios[f"rows={count}"] = ratio_of(*ways, 20 if count > 1 else 1000)
    return ratios


def ratio_of(ours: Callable[[], Any], other: Callable[[], Any], times: int) -> float:
    """Returns the processor time of `other` over that of `ours`, each the minimum of rounds with `times` calls."""
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        for k, way in enumerate((ours, other)):
            start = process_time()
            for _ in range(times):
                way()
            best[k] = min(best[k], process_time() - start)
    return best[1] / best[0]
