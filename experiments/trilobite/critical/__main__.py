"""Measures how often players keep the value of Connect Four's critical positions, and their score against perfect play.

`python -m leafwise.experiments.trilobite.critical` asks every player of `--players` for its move in each position of
`positions.csv`. The player also plays against the exact solver, from the drawn openings in both seats and from the empty board as
first player. The solver picks at random among the moves that keep the value. Times are processor time of this process; those of
`--programs` are wall time. A program reads a line with the columns played so far (1 to 7; an empty line is the empty board) and
answers with one. `scores.json` saves one letter for each answer or game; `scores.md` has the tables. Known answers for these
positions and this model are not computed again, so a stopped command continues. Openings of all lengths are played evenly.
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
    LineProgram,
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
    PositionRow,
    after,
    read,
)
from leafwise.models.players import player
from leafwise.training.evaluation.statistics import bounds, points_interval, share_interval

POINTS = {letter: (1 + value) / 2 for value, letter in LETTERS.items()}
LEARNED = "learned"
"""The leaf whose results depend on the model."""
TIMED = tuple(
    f"{kind}:learned,seconds={seconds},clock=cpu,candidates=safe"
    for seconds in (0.01, 0.1)
    for kind in ("search", "mcts")
)
"""Players with time limits."""
ANSWERS, GAMES = 120, 10
"""Answers, and openings or games from the empty board, between two saves."""
PLIES = (range(10, 16), range(16, 21), range(21, 26), range(26, 31))
"""Groups of positions by the number of moves before them."""
DONE = {"kept": "answers", "openings": "games from openings", "empty": "from the empty board"}
"""Saved strings of a player, with a letter for each answer or game."""


@dataclass(frozen=True)
class Config(Study):
    """Measures players of Connect Four against perfect play."""

    players: tuple[str, ...] = (
        *(f"search:{leaf},depth={depth}" for leaf in ("learned", "lines") for depth in (1, 2, 4, 6)),
        "search:learned,depth=6,candidates=safe", "search:lines,seconds=0.01,clock=cpu", "solver",
        "search:learned,seconds=0.01,clock=cpu", *TIMED,
    )  # fmt: skip
    """Players to measure."""
    programs: tuple[str, ...] = ()
    """Commands that start further programs to measure."""
    games: tuple[str, ...] = (
        "search:lines,depth=6", "search:learned,depth=6", "search:learned,depth=6,candidates=safe", *TIMED,
    )  # fmt: skip
    """Those of the players and commands that also play games."""
    first: int = 20
    """Games from the empty board as first player."""


Choose = Callable[[str, State], int]
"""The moves played so far, and the position that they lead to -> an action."""
TimedPlayer = tuple[Choose, Callable[[], float]]
"""A player's choices, and its clock."""


def timed_player(name: str, program: LineProgram | None = None) -> TimedPlayer:
    """Returns a player of this package with its code loaded, or a program."""
    if program is not None:
        return lambda moves, s: CONNECT_FOUR.action(program.choose(moves, s.legal_names, "a column")), time.perf_counter
    one = player(name, CONNECT_FOUR, seed=1)
    one.choose(CONNECT_FOUR.start())
    return lambda moves, state: one.choose(state), time.process_time


class Perfect:
    """The exact solver with random choice among equal moves."""

    def __init__(self) -> None:
        self.solver = TrilobiteSolver(CONNECT_FOUR, TABLE_MB)
        self.begin(0)

    def begin(self, number: int) -> None:
        """Starts a new stream for a piece of games, so that it does not depend on earlier ones."""
        self.stream = new_stream(1 + number)

    def choose(self, state: State) -> int:
        """Returns one of the moves that keep the value."""
        values = {a: -self.solver.value(state.play(a)) for a in state.legal_actions}
        kept = [a for a, value in values.items() if value == max(values.values())]
        return kept[int(below(self.stream, len(kept)))]


def play(choose: Choose, perfect: Perfect, opening: str, seat: int) -> str:
    """Plays a game and returns its result for the player, who moves first (0) or second (1) after the opening."""
    moves = opening

    def move(state: State) -> int:
        nonlocal moves
        is_player = (len(moves) - len(opening)) % 2 == seat
        action = choose(moves, state) if is_player else perfect.choose(state)
        moves += str(action + 1)
        return action

    won = play_out(after(opening), move).returns * (1 if (len(opening) + seat) % 2 == 0 else -1)
    return LETTERS[won]


def go_on(
    one: Callable[[], TimedPlayer], perfect: Callable[[], Perfect], known: dict[str, Any],
    positions: list[PositionRow], openings: list[PositionRow], first: int,
) -> dict[str, Any] | None:  # fmt: skip
    """Returns the known answers and games with some more; None if all are known.

    The order is answers, games from the empty board, openings in both seats. An answer is 1 if the choice keeps the value, else 0;
    `ms` is its mean time.
    """
    kept, empty, ends = (known.get(name, "") for name in ("kept", "empty", "openings"))
    played = len(ends) // 2
    if unanswered := positions[len(kept) :][:ANSWERS]:
        choose, clock = one()
        begun = clock() - len(kept) * known.get("ms", 0.0) / 1000
        kept += "".join(str(int(p.columns[choose(p.moves, p.state)] == p.value)) for p in unanswered)
        return {**known, "kept": kept, "ms": 1000 * (clock() - begun) / len(kept)}
    where, games = "empty", [("", 0)] * min(GAMES, first - len(empty))
    if not games:
        where, games = "openings", [(p.moves, seat) for p in openings[played : played + GAMES] for seat in range(2)]
    if not games:
        return None
    perfect().begin(len(empty) + played)
    ended = "".join(play(one()[0], perfect(), *game) for game in games)
    return {**known, "openings": ends, "empty": empty, where: known.get(where, "") + ended}


def mixed(openings: list[PositionRow]) -> list[PositionRow]:
    """Returns openings in an order that alternates their lengths."""
    lengths = sorted({p.plies for p in openings})
    alike = zip_longest(*([p for p in openings if p.plies == plies] for plies in lengths))
    return [p for some in alike for p in some if p is not None]


GROUPS: dict[str, Callable[[PositionRow], bool]] = {
    "all": lambda p: True,
    "won": lambda p: p.value == "W",
    "drawn": lambda p: p.value == "D",
    "one keeping move": lambda p: p.kept_by == 1,
    **{f"plies {plies[0]} to {plies[-1]}": partial(lambda plies, p: p.plies in plies, plies) for plies in PLIES},
}
"""Columns of a table -> whether they include a position."""


def kept_share(kept: str, chosen: list[bool]) -> str:
    """Returns the share of chosen positions where the value was kept, with its interval."""
    answers = np.array([letter == "1" for letter in kept])[chosen]
    return share({"mean": answers.mean(), **bounds(share_interval(int(answers.sum()), len(answers)))})


def kept_table(positions: list[PositionRow], results: Results, kind: str) -> list[str]:
    """Returns the section of a kind of positions."""
    groups = {name: [p.kind == kind and has(p) for p in positions] for name, has in GROUPS.items()}
    groups = {name: chosen for name, chosen in groups.items() if any(chosen)}
    head = " | ".join(["player", "ms per move:", *(f"{name} ({sum(chosen)})" for name, chosen in groups.items())])
    rows = [
        [f"`{name}`", f"{result['ms']:.2f}", *(kept_share(result["kept"], chosen) for chosen in groups.values())]
        for name, result in results.items()
        if len(result["kept"]) == len(positions)
    ]
    return ["", f"## {kind.capitalize()} positions: share of choices that keep the value", "", *table(head, rows)]


def games_table(results: Results) -> list[str]:
    """Returns the section of the games."""
    rows = []
    for name, result in results.items():
        if result.get("openings"):
            ends, empty = result["openings"], result["empty"]
            pairs = np.array([POINTS[letter] for letter in ends]).reshape(-1, 2).mean(axis=1)
            counts = " / ".join(str(ends.count(letter)) for letter in "WDL")
            points = share({"mean": pairs.mean(), **bounds(points_interval(pairs))})
            rows.append([f"`{name}`", str(len(ends)), counts, points, f"{empty.count('W')} of {len(empty)}"])
    head = "player | games: | won / drawn / lost | share of the points (95 % interval) | wins from the empty board"
    title = "## Games against perfect play"
    what = "The players meet perfect play. Each opening is a draw and is played from both seats, so no player"
    most = "can get more than 50 % of the points. The games of the last column begin with the empty board, and the player of the"
    empty = "row moves first."
    return ["", title, "", what, most, empty, "", *table(head, rows)]


def known(config: Config) -> tuple[Results, str]:
    """Returns the valid saved results, for these positions and players as `about` describes them; and the model's hash."""
    model, positions = digest_of("trilobite7x6"), digest_of(str(Path(__file__).with_name(FILE)))
    results = known_results(config, "scores.json", {"positions": positions}, indent=1)
    for name in [name for name, result in results.items() if not about(name, model).items() <= result.items()]:
        del results[name]
    return results, model


def about(name: str, model: str) -> dict[str, str]:
    """Returns the conditions of a player's results: the model for the learned leaf, the defaults of tree searches."""
    what = {"model": model} if LEARNED in name else {}
    return what | {"mcts": mcts_defaults(CONNECT_FOUR)} if name.startswith(MCTS) else what


def report(config: Config, positions: list[PositionRow], results: Results) -> None:
    """Writes the page."""
    spent = (
        f". It takes {results['solver']['ms']:.1f} ms for a critical position (row `solver`)"
        if "solver" in results
        else ""
    )
    lines = [
        "# Connect Four: critical positions and perfect play",
        "",
        "A position is critical if some legal move keeps the game's value and another does not. Intervals are 95 % intervals.",
        f"The exact solver makes no error, and is the strongest player of the package{spent}.",
        "",
        "Played positions come from games of two searches that see only wins and losses. Random positions come after random moves.",
        "In the first two tables each column from `all` on is a group of positions, with their number in brackets. Under perfect",
        "play the player to move wins in the group `won`, and the group `drawn` ends in a draw. In `one keeping move` only one",
        "move keeps the value. Plies are the moves before the position.",
        "",
        "The leaf `lines` is the hand-made [leaf](../../../docs/terms.md#leaf), and `learned` is the network in the package. With",
        "`candidates=safe` a search considers only a winning move if there is one. Otherwise it considers only the moves after",
        "which the opponent cannot win at once.",
    ]
    for kind in dict.fromkeys(p.kind for p in positions):
        lines += kept_table(positions, results, kind)
    write_page(config, "scores.md", signed(config, [*lines, *games_table(results), ""]))


def study(config: Config) -> None:
    """Measures the missing answers and games."""
    rows = read()
    positions = [p for p in rows if p.kind != OPENING]
    openings = mixed([p for p in rows if p.kind == OPENING])
    results, model = known(config)
    perfect = cache(Perfect)

    def ask_on(name: str, stack: ExitStack) -> None:
        one = cache(
            lambda: timed_player(name, stack.enter_context(LineProgram(name)) if name in config.programs else None)
        )
        plays = (openings, config.first) if name in config.games else ([], 0)
        while result := go_on(one, perfect, results.get(name, about(name, model)), positions, *plays):
            counts = ", ".join(f"{len(result.get(kind, ''))} {words}" for kind, words in DONE.items())
            results.keep(name, result, f"{name}: {counts}")
            report(config, positions, results)

    for name in (*config.players, *config.programs):
        with ExitStack() as stack:
            ask_on(name, stack)
    report(config, positions, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
