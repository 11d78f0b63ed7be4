"""Measures the speed of batched tree searches: against the network alone, and against OpenSpiel's tree search.

    python -m leafwise.experiments.methods.batched_trees

Connect Four, one thread. The network values the leaves of `alphazero`'s games, 256 at once with 100 simulations a decision; batches
of 256 positions alone; and the single positions of OpenSpiel's `MCTSBot` (extra `openspiel`). All three are timed in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.interrupts import as_command
from leafwise.envs.registry import game as game_of
from leafwise.models.network import torch_network
from leafwise.training.alphazero.batches import MOST, POSITIONS_A_GAME, ForestRecorder
from leafwise.training.alphazero.games import MctsPlayOptions

SIMULATIONS = 100
PROGRAM = "leafwise.experiments.methods.batched_trees"


@dataclass(frozen=True)
class Options:
    """Options of the measurement."""

    networks: tuple[str, ...] = ("mlp", "resnet")
    """Torch modules, as `--network` names them."""
    rounds: int = 3
    """Number of timings of each; the median counts."""
    seconds: float = 10.0
    """Minimum seconds of each timing."""


@dataclass(frozen=True)
class CountingNetwork:
    """A network that counts its rows."""

    network: Any
    batch_sizes: list[int]

    @property
    def game(self) -> Any:
        """The network's game."""
        return self.network.game

    def evaluator(self, name: str) -> Evaluator:
        """Returns the network as a leaf."""
        leaf: Evaluator = self.network.evaluator(name)
        ask: Any = leaf.batch_policy

        def counted(rows: Any, T: Any) -> Any:
            self.batch_sizes.append(len(rows))
            return ask(rows, T)

        return replace(leaf, batch_policy=counted)


def a_second(work: Callable[[], int], seconds: float) -> float:
    """Returns the units of `work` per second."""
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        done += work()
    return done / spent


def workers(name: str) -> dict[str, Callable[[], int]]:
    """Returns the measured work by name: each call returns its number of leaves, or of simulations for OpenSpiel."""
    import torch

    game = game_of("trilobite", board="7x6", k=4)
    network: Any = torch_network(game, name, says="policy", seed=1)
    module, counting = network.module.eval(), CountingNetwork(network, [])
    how = MctsPlayOptions(SIMULATIONS, 10, 0.25, 10.0, 1.0)
    recorder = ForestRecorder(counting, how, 4, 1.25, MOST * POSITIONS_A_GAME, 512.0)  # type: ignore[arg-type]
    planes = torch.from_numpy(network.describe(np.repeat(game.new(1).row[None], MOST, axis=0), game.tables())[0])
    recorder.warm()

    def alone() -> int:
        with torch.inference_mode():
            module(planes)
        return MOST

    def side_by_side() -> int:
        counting.batch_sizes.clear()
        recorder.piece(counting, MOST * POSITIONS_A_GAME, 1)  # type: ignore[arg-type]
        return sum(counting.batch_sizes)

    return {"alone": alone, "alphazero": side_by_side, "openspiel": theirs(module)}


def theirs(module: Any) -> Callable[[], int]:
    """Returns the work of OpenSpiel's search with a module at its leaves, along a game."""
    import pyspiel
    import torch
    from open_spiel.python.algorithms import mcts

    game = pyspiel.load_game("connect_four")

    class ModuleEvaluator(mcts.Evaluator):
        """Values and priors of a module, by one call for each position."""

        def __init__(self) -> None:
            self.last: tuple[str, Any] = "", None

        def answer(self, state: Any) -> Any:
            if self.last[0] != (key := str(state)):
                seen = np.array(state.observation_tensor(), np.float32).reshape(3, 6, 7)[None, :2]
                with torch.inference_mode():
                    self.last = key, module(torch.from_numpy(seen))[0].numpy()
            return self.last[1]

        def evaluate(self, state: Any) -> Any:
            value = float(self.answer(state)[0])
            return [value, -value] if state.current_player() == 0 else [-value, value]

        def prior(self, state: Any) -> list[tuple[int, float]]:
            legal = state.legal_actions()
            weights = np.exp(self.answer(state)[1:][legal])
            return list(zip(legal, weights / weights.sum(), strict=True))

    random = np.random.RandomState(1)
    bot = mcts.MCTSBot(
        game, 1.25, SIMULATIONS, ModuleEvaluator(), random_state=random, child_selection_fn=mcts.SearchNode.puct_value
    )
    states = [game.new_initial_state()]

    def search() -> int:
        if states[0].is_terminal():
            states[0] = game.new_initial_state()
        states[0].apply_action(bot.step(states[0]))
        return SIMULATIONS

    return search


def table(options: Options) -> None:
    """Prints a table."""
    import torch

    torch.set_num_threads(1)
    print("| network | alone, leaves/s | alphazero, leaves/s | share | OpenSpiel, simulations/s | times |")
    print("|---|---|---|---|---|---|")
    for name in options.networks:
        work = workers(name)
        rounds = [{who: a_second(one, options.seconds) for who, one in work.items()} for _ in range(options.rounds)]
        alone, ours, other = (float(np.median([one[who] for one in rounds])) for who in work)
        print(f"| {name} | {alone:,.0f} | {ours:,.0f} | {ours / alone:.2f} | {other:,.0f} | {ours / other:.1f} |")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return as_command(_run, arguments)


def _run(arguments: list[str]) -> int:
    table(parse(Options, arguments, f"python -m {PROGRAM}"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
