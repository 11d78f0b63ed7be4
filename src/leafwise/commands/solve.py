"""Solves positions exactly: who wins, how soon, the best moves."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Optional

import tyro

from leafwise.cli import REPORT, Interrupted, Report, command, input_lines, positions_of, print_json
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import Deferred

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.solver import Solution, Solver

PATIENCE = 1.0
"""Seconds before progress is shown."""


@dataclass(frozen=True)
class Config:
    """Solves a position exactly: value for the player to move, how soon, and every best move.

    A position is the moves that led there, `4453` or `0-1 2-3`, or the game's own text; what chance did stands among the moves
    (Trap: `SE 1,1 1,2`, the trap thrown at 1,1 landed at 1,2). Many positions, one a line, come from --file or standard input,
    and give one JSON object a line each; a line that is wrong gives one with its `error`. Ctrl-C prints what is known by then.

    Examples:
      leafwise solve cassis
      leafwise solve trilobite --board 7x6 --k 4 --moves 4444442222
    """

    most_used: ClassVar[tuple[str, ...]] = ("moves", "file", "json")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    moves: Optional[str] = None  # noqa: UP045 (tyro imports typeguard, a fifth of the command's time, for `str | None`)
    """Moves from the start, or a position as text (default: the start, unless positions come from elsewhere)."""
    file: str = ""
    """File of positions, one a line; - is standard input."""
    actions: Literal["all", "best", "none"] = "all"
    """What to find out about each action: "all" values, only which are "best", or "none" but the first best."""
    table_mb: float = 256.0
    """Most memory for the table of positions, in MB."""
    json: bool = False
    """Print one JSON object."""


def read_position(game: Game, text: str, *, chance: bool = False) -> State:
    """Returns the position after some moves, or that a text describes; raises ValueError in the game's words.

    What chance did stands among the moves, by name; a position in which chance acts next is refused, unless `chance` says that
    the solver takes it.
    """
    from leafwise.envs.core.play.by_name import after_moves, is_position, move_names, outcomes_told

    state = (
        game.parse(text) if is_position(game, text) else after_moves(game.start(), move_names(game, text), text.strip())
    )
    if state.is_chance and not chance:
        raise UserError(f"{game.name}: expected what chance does next, {outcomes_told(state)}, got {text.strip()!r}")
    return state


def solve(solver: Solver, state: State, actions: str) -> tuple[Solution, bool]:
    """Solves and shows progress on standard error; returns the solution and whether Ctrl-C cut it short."""
    done = threading.Event()
    watching = threading.Thread(target=watch, args=(solver, done), daemon=True)
    watching.start()
    try:
        with Deferred() as stop:
            solution = solver.solve(state, actions)
        return solution, stop.requested
    finally:
        done.set()
        watching.join()


def watch(solver: Solver, done: threading.Event) -> None:
    """Tells what the solver knows until it is done: a live line on a terminal, else now and then a line."""
    if done.wait(PATIENCE):
        return
    from rich.console import Console

    console = Console(stderr=True)
    started = time.perf_counter()
    if console.is_terminal:
        with console.status(known(solver, started)) as status:
            while not done.wait(0.25):
                status.update(known(solver, started))
        return
    while not done.wait(REPORT):
        print(known(solver, started), file=sys.stderr, flush=True)


def known(solver: Solver, started: float) -> str:
    """Returns a line about the search under way."""
    now = solver.known()
    low, high = now["bounds"]
    what = between(low, high) if low < high else f"{between(low, high)}, looking at the moves"
    return f"{what}, {now['nodes']:,} nodes, {time.perf_counter() - started + PATIENCE:.0f} s"


def between(low: float, high: float) -> str:
    """Returns in words what lies between two scores (or values)."""
    least, most = (worded((bound > 0) - (bound < 0)) for bound in (low, high))
    return least if least == most else f"{least} to {most}"


def worded(value: float) -> str:
    """Returns what a value is called; in games of chance it is a number."""
    from leafwise.envs.core.play.solver import WORDS

    return WORDS.get(value) or f"{value:+.6f}"


def lines(state: State, solution: Solution, solver: Solver) -> Iterator[str]:
    """Yields the lines that tell a solution to people."""
    from leafwise.envs.core.play.solver import exact_words

    yield state.board()
    yield ""
    if not solution.complete:
        yield "  stopped before the end; this much is known:"
    if solution.value is None:
        yield f"  value  {between(*solution.bounds)} for the player to move"
    else:
        end = f", game over in {solution.depth} moves of both" if solution.depth and solution.score is not None else ""
        yield f"  value  {worded(solution.value)} for the player to move{end}"
    for name, words in exact_words(solution, state, solver).items():
        yield f"  {name:>6} {'*' if name in solution.best_actions else ' '} {words}"
    if solution.best_actions:
        yield f"  best   {' '.join(solution.best_actions)}"
    if solution.line:
        yield f"  line   {' '.join(solution.line)}"
    if solution.note:
        yield f"  note   {solution.note}"
    yield f"  work   {solution.nodes:,} nodes, {solution.seconds:.4f} s"


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    if config.moves is not None and config.file:
        raise UserError("expected --moves or --file, got both")
    from leafwise.envs.core.play.solver import exact_solver

    solver = exact_solver(game, config.table_mb)
    read = partial(read_position, game, chance=getattr(solver, "solves_chance", False))
    many = input_lines(config.file, config.moves is not None)
    text = config.moves or ""
    for text_of_line, state in [(text, read(text))] if many is None else positions_of(many, read):
        solution, interrupted = solve(solver, state, config.actions)
        result = {"position": text_of_line, **asdict(solution)}
        if many is None:
            yield result, lines(state, solution, solver)
        else:
            print_json(result)
        if interrupted:
            raise Interrupted
