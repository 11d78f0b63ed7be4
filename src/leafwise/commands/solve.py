"""Solves positions exactly: who wins, how soon, which moves are best."""

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

PROGRESS_AFTER = 1.0
"""Seconds until progress is shown."""


@dataclass(frozen=True)
class Config:
    """Solves a position exactly: value for the player to move, length of the game, and every best move.

    A position is given by its moves, `4453` or `0-1 2-3`, or by the game's own text. Outcomes of chance stand among the moves
    (Trap: `SE 1,1 1,2`, the trap thrown at 1,1 landed at 1,2). --file or standard input may hold many positions, one a line. Each
    gives one JSON object, a wrong line one with its `error`. Ctrl-C prints what is known so far.

    Examples:
      leafwise solve cassis
      leafwise solve trilobite --board 7x6 --k 4 --moves 4444442222
    """

    most_used: ClassVar[tuple[str, ...]] = ("moves", "file", "json")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    moves: Optional[str] = None  # noqa: UP045 (tyro imports typeguard, a fifth of the command's time, for `str | None`)
    """Moves from the start, or a position as text (default: the start, unless there are other positions)."""
    file: str = ""
    """File of positions, one a line; - is standard input."""
    actions: Literal["all", "best", "none"] = "all"
    """Actions to solve: "all" for their values, "best" for the best ones, or "none" for the first best one only."""
    table_mb: float = 256.0
    """Maximum memory of the table of positions, in MB."""
    json: bool = False
    """Print one JSON object."""


def read_position(game: Game, text: str, *, chance: bool = False) -> State:
    """Returns the position of a text, or after some moves; raises ValueError in the game's words.

    Outcomes of chance stand among the moves, by name. A chance node is refused unless `chance` says that the solver takes one.
    """
    from leafwise.envs.core.play.by_name import after_moves, is_position, move_names, outcomes_text

    state = (
        game.parse(text) if is_position(game, text) else after_moves(game.start(), move_names(game, text), text.strip())
    )
    if state.is_chance and not chance:
        raise UserError(f"{game.name}: expected what chance does next, {outcomes_text(state)}, got {text.strip()!r}")
    return state


def solve(solver: Solver, state: State, actions: str) -> tuple[Solution, bool]:
    """Solves with progress on standard error; returns the solution and whether Ctrl-C interrupted it."""
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
    """Prints what the solver knows until it is done: a live line on a terminal, else a line from time to time."""
    if done.wait(PROGRESS_AFTER):
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
    """Returns a line on the current search."""
    now = solver.known()
    low, high = now["bounds"]
    what = between(low, high) if low < high else f"{between(low, high)}, solving the moves"
    return f"{what}, {now['nodes']:,} nodes, {time.perf_counter() - started + PROGRESS_AFTER:.0f} s"


def between(low: float, high: float) -> str:
    """Returns a range of scores (or values) in words."""
    least, most = (worded((bound > 0) - (bound < 0)) for bound in (low, high))
    return least if least == most else f"{least} to {most}"


def worded(value: float) -> str:
    """Returns a value in words; in games with chance it is a number."""
    from leafwise.envs.core.play.solver import WORDS

    return WORDS.get(value) or f"{value:+.6f}"


def lines(state: State, solution: Solution, solver: Solver) -> Iterator[str]:
    """Yields a solution as lines of text."""
    from leafwise.envs.core.play.solver import exact_words

    yield state.board()
    yield ""
    if not solution.complete:
        yield "  stopped early; known so far:"
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
