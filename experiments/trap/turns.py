"""Measures Trap's search of whole turns at equal processor time: against hand-made leaves, the search of decisions, other players.

`python -m leafwise.experiments.trap.turns` plays the games that are missing and writes `turns.json` after every few; what stands
there is not played again, so a stopped study goes on where it was. `turns.md` is the table. Every seed is played from both seats.
`--player COMMAND --called NAME` is an opponent of one's own: a program that reads positions and writes actions, a line for a line,
as `answer.py` does for the players of another version of leafwise:

    --player "OLD/.venv/bin/python experiments/trap/answer.py search:learned,seconds=0.025,clock=cpu"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game
from leafwise.experiments.study import PlacedStudy, Program, Results, command
from leafwise.experiments.study.matches import Match, MatchStudy, network_of, points_table
from leafwise.search.players import load_code
from leafwise.training.evaluation.arena import BATCH, loaded, play_game
from leafwise.training.evaluation.results import Evaluation, Figures
from leafwise.training.execution import in_pieces

FIRST_SEED = 2_666_000


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Plays the matches of Trap's search of whole turns and writes turns.json and turns.md."""

    parts: tuple[str, ...] = ("rivals", "searches", "player")
    """rivals: against hand-made leaves in either search. searches: either search with the same leaf. player: against --player."""
    model: str = "learned"
    """Leaf that is measured: the shipped model, a run folder or a file."""
    rival: str = "reach_open"
    """Hand-made leaf that it meets."""
    rival_searches: tuple[str, ...] = ("whole turns", "single decisions")
    """What it is searched by: whole turns, single decisions."""
    seconds: tuple[float, ...] = (0.005, 0.05, 0.2)
    """Seconds of a turn, against hand-made leaves."""
    turn_seconds: float = 0.05
    """Seconds of a turn in the other matches."""
    player: str = ""
    """Command of an opponent (none: no such match)."""
    called: str = "another version"
    """What the page calls it."""
    games: int = 400
    """Games of a match."""
    first_seed: int = FIRST_SEED
    """First seed."""


class Answering:
    """A player whose choices a program makes: a position in, the name of an action out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._program = Program(name)

    def choose(self, state: State) -> int:
        """Returns the id of the action that the program names; raises ValueError for an answer that is none."""
        return state.game.action(self._program.choose(str(state), state.legal_names))

    def close(self) -> None:
        """Ends the program."""
        self._program.close()


def against_program(game: Game, text: str, command: str, seeds: Sequence[int]) -> list[Figures]:
    """Plays every seed from both seats against a program, first seat first."""
    own, other = loaded(text, game, seeds[0]), Answering(command)
    try:
        load_code(other, game.new(seeds[0]))
        both = (own, other), (other, own)
        return [play_game(game, seats, seed, k) for seed in seeds for k, seats in enumerate(both)]
    finally:
        other.close()


def play_program(match: Match, seeds: range, config: PlacedStudy) -> Evaluation:
    """Plays seeds of a match whose opponent is a program's command."""
    work = partial(against_program, match.game, match.player, str(match.opponent))
    played = [one for part in config.each(work, in_pieces(seeds, BATCH)) for one in part]
    moves, scores = sum(one.moves for one in played), np.array([one.score for one in played])
    seconds = sum(one.seconds for one in played) / max(moves, 1)
    return Evaluation(match.player, seeds[0], scores, np.zeros(len(played), dtype=np.int64), moves, seconds)


def whole_turns(leaf: str, seconds: float) -> str:
    """Returns the search of whole turns with a time for a turn."""
    return f"turns:{leaf},seconds={seconds:g},clock=cpu"


def decisions(leaf: str, seconds: float) -> str:
    """Returns the search of single decisions, half of the time for the move and half for the throw."""
    return f"search:{leaf},seconds={seconds / 2:g},clock=cpu,table_mb=4,candidates=near+traps,rare=0.25"


SEARCHES = {"whole turns": whole_turns, "single decisions": decisions}


def matches(config: Config) -> Iterator[Match]:
    """Yields the matches of the parts; raises ValueError for a part that there is not."""
    trap = game("trap")
    match = partial(
        Match, game=trap, games=config.games, first_seed=config.first_seed, network=network_of(config.model, trap)
    )
    told = f"{1000 * config.turn_seconds:g} ms a turn"
    for part in config.parts:
        need_among(part, ("rivals", "searches", "player"), "parts")
    if "rivals" in config.parts:
        for seconds in config.seconds:
            own = whole_turns(config.model, seconds)
            for kind in config.rival_searches:
                need_among(kind, SEARCHES, "rival_searches")
                title = f"{1000 * seconds:g} ms a turn, against `{config.rival}` searched by {kind}"
                yield match(title, player=own, opponent=SEARCHES[kind](config.rival, seconds))
    if "searches" in config.parts:
        for leaf in (config.model, config.rival):
            title = f"{told}, `{leaf}` searched by whole turns, against the same by single decisions"
            own, other = (search(leaf, config.turn_seconds) for search in (whole_turns, decisions))
            yield match(title, player=own, opponent=other)
    if "player" in config.parts and config.player:
        own = whole_turns(config.model, config.turn_seconds)
        yield match(f"{told}, against {config.called}", player=own, opponent=config.player, play=play_program)


def page(config: Config, results: Results) -> list[str]:
    """Returns turns.md."""
    return [
        "# Trap: the search of whole turns",
        "",
        f"Seeds from {config.first_seed:,} on, each from both seats. Times are processor time of a turn, move and throw. Whole "
        "turns: the player `turns`, a node a turn; single decisions: the player `search`, half of the time for the move and half "
        "for the throw. Both consider the same throws, near+traps, and value improbable landings at once. The search was "
        "chosen by games on seeds below 900,000; earlier ones and the network before played on those from 2,650,000 to "
        "2,665,200.",
        "",
        *points_table(results),
        "",
        f"Written by `{config.program()}`, which plays what is missing of each match.",
    ]


main = command(Config, MatchStudy("turns", matches, page))

if __name__ == "__main__":
    raise SystemExit(main())
