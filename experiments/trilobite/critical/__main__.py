"""How often players keep the exact value of Connect Four's critical positions, and what they score against perfect play.

`python -m leafwise.experiments.trilobite.critical` asks every player of `--players` for its move in each position of
`positions.csv`, on its own, and lets it play the drawn openings from both seats and the empty board as the first against the
exact solver, which picks at random among the moves that keep the value. Times are processor time of this process; those of
`--programs` are by the clock: each reads the columns played so far on a line (1 to 7; none is the empty board) and answers one.
`scores.json` keeps what came out, one letter an answer or game; `scores.md` has the tables. What is known for these positions and
this model is not worked out again: a run that was stopped goes on where it was, some answers or games before. Until all
are played, games are of openings of all lengths alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.play.players import play_out
from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.experiments.search import MCTS, mcts_defaults
from leafwise.experiments.study import (
    Program,
    Results,
    Study,
    command,
    digest_of,
    known_results,
    share,
    signed,
    table,
    write_page,
)
from leafwise.experiments.trilobite.critical.positions import (
    CONNECT_FOUR,
    FILE,
    LETTERS,
    OPENING,
    TABLE_MB,
    Position,
    after,
    read,
)
from leafwise.models.players import player
from leafwise.training.evaluation.statistics import bounds, points_interval, share_interval

POINTS = {letter: (1 + value) / 2 for value, letter in LETTERS.items()}
LEARNED = "learned"
"""The leaf whose players' results hold for one model alone."""
TIMED = tuple(
    f"{kind}:learned,seconds={seconds},clock=cpu,candidates=safe"
    for seconds in (0.01, 0.1)
    for kind in ("search", "mcts")
)
"""Players with so many seconds a move."""
ANSWERS, GAMES = 120, 10
"""Answers, and openings or games from the empty board, after which results are written."""
PLIES = (range(10, 16), range(16, 21), range(21, 26), range(26, 31))
"""Positions by the moves before them."""
DONE = {"kept": "answers", "openings": "games from openings", "empty": "from the empty board"}
"""What is kept of a player, a letter for each."""


@dataclass(frozen=True)
class Config(Study):
    """Measures players of Connect Four against perfect play."""

    players: tuple[str, ...] = (
        *(f"search:{leaf},depth={depth}" for leaf in ("learned", "lines") for depth in (1, 2, 4, 6)),
        "search:learned,depth=6,candidates=safe", "search:lines,seconds=0.01,clock=cpu", "solver",
        "search:learned,seconds=0.01,clock=cpu", *TIMED,
    )  # fmt: skip
    """Players by name."""
    programs: tuple[str, ...] = ()
    """Commands that start programs, which are asked like the players."""
    games: tuple[str, ...] = (
        "search:lines,depth=6", "search:learned,depth=6", "search:learned,depth=6,candidates=safe", *TIMED,
    )  # fmt: skip
    """Players and commands among them that play games too."""
    first: int = 20
    """Games that they begin on the empty board."""


Choose = Callable[[str, State], int]
"""The moves played so far, and the position that they lead to -> an action."""
Asked = tuple[Choose, Callable[[], float]]
"""What a player chooses, and the clock that its time is read from."""


def asked(name: str, program: Program | None = None) -> Asked:
    """Returns one of this package's players, compiled and warm; or a program."""
    if program is not None:
        return lambda moves, s: CONNECT_FOUR.action(program.choose(moves, s.legal_names, "a column")), time.perf_counter
    one = player(name, CONNECT_FOUR, seed=1)
    one.choose(CONNECT_FOUR.start())
    return lambda moves, state: one.choose(state), time.process_time


class Perfect:
    """The exact solver, with ties broken at random."""

    def __init__(self) -> None:
        self.solver = TrilobiteSolver(CONNECT_FOUR, TABLE_MB)
        self.begin(0)

    def begin(self, number: int) -> None:
        """Draws from a stream of its own for each piece of games, whatever was played before."""
        self.stream = new_stream(1 + number)

    def choose(self, state: State) -> int:
        """Returns one of the moves that keep the value."""
        values = {a: -self.solver.value(state.play(a)) for a in state.legal_actions}
        kept = [a for a, value in values.items() if value == max(values.values())]
        return kept[int(below(self.stream, len(kept)))]


def play(choose: Choose, perfect: Perfect, opening: str, seat: int) -> str:
    """Returns how a game ends for the player, who is the first (0) or second (1) to move after an opening."""
    moves = opening

    def move(state: State) -> int:
        nonlocal moves
        own = (len(moves) - len(opening)) % 2 == seat
        action = choose(moves, state) if own else perfect.choose(state)
        moves += str(action + 1)
        return action

    won = play_out(after(opening), move).returns * (1 if (len(opening) + seat) % 2 == 0 else -1)
    return LETTERS[won]


def go_on(
    one: Callable[[], Asked], perfect: Callable[[], Perfect], found: dict[str, Any],
    positions: list[Position], openings: list[Position], first: int,
) -> dict[str, Any] | None:  # fmt: skip
    """Returns what was found with some more; None if it is all: answers, games begun on the empty board, both seats' of openings.

    An answer is 1 if the choice keeps the value, else 0; `ms` is its mean time.
    """
    kept, empty, ends = (found.get(name, "") for name in ("kept", "empty", "openings"))
    played = len(ends) // 2
    if asked_of := positions[len(kept) :][:ANSWERS]:
        choose, clock = one()
        begun = clock() - len(kept) * found.get("ms", 0.0) / 1000
        kept += "".join(str(int(p.columns[choose(p.moves, p.state)] == p.value)) for p in asked_of)
        return {**found, "kept": kept, "ms": 1000 * (clock() - begun) / len(kept)}
    where, games = "empty", [("", 0)] * min(GAMES, first - len(empty))
    if not games:
        where, games = "openings", [(p.moves, seat) for p in openings[played : played + GAMES] for seat in range(2)]
    if not games:
        return None
    perfect().begin(len(empty) + played)
    ended = "".join(play(one()[0], perfect(), *game) for game in games)
    return {**found, "openings": ends, "empty": empty, where: found.get(where, "") + ended}


def mixed(openings: list[Position]) -> list[Position]:
    """Returns openings in an order in which the first ones are of all lengths alike."""
    lengths = sorted({p.plies for p in openings})
    alike = zip_longest(*([p for p in openings if p.plies == plies] for plies in lengths))
    return [p for some in alike for p in some if p is not None]


GROUPS: dict[str, Callable[[Position], bool]] = {
    "all": lambda p: True,
    "won": lambda p: p.value == "W",
    "drawn": lambda p: p.value == "D",
    "one keeping move": lambda p: p.kept_by == 1,
    **{f"plies {plies[0]} to {plies[-1]}": partial(lambda plies, p: p.plies in plies, plies) for plies in PLIES},
}
"""Columns of a table -> which positions they have."""


def kept_share(kept: str, chosen: list[bool]) -> str:
    """Returns the share of some positions in which the value was kept, with its interval."""
    found = np.array([letter == "1" for letter in kept])[chosen]
    return share({"mean": found.mean(), **bounds(share_interval(int(found.sum()), len(found)))})


def kept_table(positions: list[Position], results: Results, kind: str) -> list[str]:
    """Returns the table of a kind of positions."""
    groups = {name: [p.kind == kind and has(p) for p in positions] for name, has in GROUPS.items()}
    groups = {name: chosen for name, chosen in groups.items() if any(chosen)}
    head = " | ".join(["player", "ms a move:", *(f"{name} ({sum(chosen)})" for name, chosen in groups.items())])
    rows = [
        [f"`{name}`", f"{found['ms']:.2f}", *(kept_share(found["kept"], chosen) for chosen in groups.values())]
        for name, found in results.items()
        if len(found["kept"]) == len(positions)
    ]
    return ["", f"## {kind.capitalize()} positions: share of choices that keep the value", "", *table(head, rows)]


def games_table(results: Results) -> list[str]:
    """Returns the table of the games."""
    rows = []
    for name, found in results.items():
        if found.get("openings"):
            ends, empty = found["openings"], found["empty"]
            pairs = np.array([POINTS[letter] for letter in ends]).reshape(-1, 2).mean(axis=1)
            told = " / ".join(str(ends.count(letter)) for letter in "WDL")
            points = share({"mean": pairs.mean(), **bounds(points_interval(pairs))})
            rows.append([f"`{name}`", str(len(ends)), told, points, f"{empty.count('W')} of {len(empty)}"])
    head = "player | games: | won / drawn / lost | share of the points (95 %) | wins from the empty board"
    title = "## Games against perfect play, from drawn openings, both seats"
    return ["", title, "", "Perfect play against itself: 50 %.", "", *table(head, rows)]


def known(config: Config) -> tuple[Results, str]:
    """Returns the results that hold for the positions and for what `about` says of their player; and the model."""
    model, positions = digest_of("trilobite7x6"), digest_of(str(Path(__file__).with_name(FILE)))
    results = known_results(config, "scores.json", {"positions": positions}, indent=1)
    for name in [name for name, found in results.items() if not about(name, model).items() <= found.items()]:
        del results[name]
    return results, model


def about(name: str, model: str) -> dict[str, str]:
    """Returns what a player's results hold for: the model, where it has the learned leaf, and how tree searches search."""
    told = {"model": model} if LEARNED in name else {}
    return told | {"mcts": mcts_defaults(CONNECT_FOUR)} if name.startswith(MCTS) else told


def report(config: Config, positions: list[Position], results: Results) -> None:
    """Writes the page."""
    spent = (
        f" and takes {results['solver']['ms']:.1f} ms a critical position (row `solver`)" if "solver" in results else ""
    )
    lines = [
        "# Connect Four: critical positions and perfect play",
        "",
        "A position is critical if some legal move keeps the game's value and another does not. Intervals are 95 % intervals.",
        f"The exact solver makes no error{spent}.",
        "So the networks show what learning achieves; the strongest player of the package is the solver.",
    ]
    for kind in dict.fromkeys(p.kind for p in positions):
        lines += kept_table(positions, results, kind)
    write_page(config, "scores.md", signed(config, [*lines, *games_table(results), ""]))


def study(config: Config) -> None:
    """Measures what is missing."""
    rows = read()
    positions = [p for p in rows if p.kind != OPENING]
    openings = mixed([p for p in rows if p.kind == OPENING])
    results, model = known(config)
    perfect = cache(Perfect)

    def ask_on(name: str, stack: ExitStack) -> None:
        one = cache(lambda: asked(name, stack.enter_context(Program(name)) if name in config.programs else None))
        plays = (openings, config.first) if name in config.games else ([], 0)
        while found := go_on(one, perfect, results.get(name, about(name, model)), positions, *plays):
            told = ", ".join(f"{len(found.get(kind, ''))} {words}" for kind, words in DONE.items())
            results.keep(name, found, f"{name}: {told}")
            report(config, positions, results)

    for name in (*config.players, *config.programs):
        with ExitStack() as stack:
            ask_on(name, stack)
    report(config, positions, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
