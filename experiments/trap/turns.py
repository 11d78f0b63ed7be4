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
from typing import Any, NamedTuple

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game
from leafwise.experiments.study import (
    Results,
    Study,
    command,
    digest_of,
    known_results,
    missing_seeds,
    table,
    write_page,
)
from leafwise.experiments.study.program import Program
from leafwise.experiments.trap.learned import figures, row, work_out
from leafwise.models.players import player
from leafwise.models.shipped import LEARNED, need_shipped
from leafwise.training.evaluation.arena import batches_of, play_game
from leafwise.training.execution.executor import Executor
from leafwise.training.execution.places import executor_for

FIRST_SEED = 2_666_000
PAIRS = 10
"""Pairs of games between two times that results are written."""


@dataclass(frozen=True)
class Config(Study):
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
    processes: int = 1
    """Processes that play at the same time."""
    cluster: str = ""
    """Ray cluster that plays instead: auto, local or HOST:PORT."""


class Match(NamedTuple):
    """Two players."""

    title: str
    player: str
    opponent: str
    is_command: bool = False


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


@dataclass(frozen=True)
class Pairs:
    """Plays every seed from both seats; the scores are the player's, first seat first."""

    game: Game
    text: str
    opponent: str
    is_command: bool

    def __call__(self, seeds: Sequence[int]) -> list[float]:
        """Returns the scores of the seeds, in their order."""
        own = player(self.text, self.game, seed=seeds[0])
        other = Answering(self.opponent) if self.is_command else player(self.opponent, self.game, seed=seeds[0] + 1)
        try:
            for one in (own, other):
                one.choose(self.game.new(seeds[0]))  # loads the compiled code, which is no part of a turn
            both = (own, other), (other, own)
            return [play_game(self.game, seats, seed, k).score for seed in seeds for k, seats in enumerate(both)]
        finally:
            if isinstance(other, Answering):
                other.close()


def whole_turns(leaf: str, seconds: float) -> str:
    """Returns the search of whole turns with a time for a turn."""
    return f"turns:{leaf},seconds={seconds:g},clock=cpu"


def decisions(leaf: str, seconds: float) -> str:
    """Returns the search of single decisions, half of the time for the move and half for the throw."""
    return f"search:{leaf},seconds={seconds / 2:g},clock=cpu,table_mb=4,candidates=near+traps,rare=0.25"


SEARCHES = {"whole turns": whole_turns, "single decisions": decisions}


def matches(config: Config, part: str) -> Iterator[Match]:
    """Yields the matches of a part; raises ValueError for a part that there is not."""
    told = f"{1000 * config.turn_seconds:g} ms a turn"
    own = whole_turns(config.model, config.turn_seconds)
    if part == "rivals":
        for seconds in config.seconds:
            for kind in config.rival_searches:
                need_among(kind, SEARCHES, "rival_searches")
                yield Match(
                    f"{1000 * seconds:g} ms a turn, against `{config.rival}` searched by {kind}",
                    whole_turns(config.model, seconds),
                    SEARCHES[kind](config.rival, seconds),
                )
    elif part == "searches":
        for leaf in (config.model, config.rival):
            title = f"{told}, `{leaf}` searched by whole turns, against the same by single decisions"
            yield Match(title, whole_turns(leaf, config.turn_seconds), decisions(leaf, config.turn_seconds))
    elif part == "player":
        if config.player:
            yield Match(f"{told}, against {config.called}", own, config.player, is_command=True)
    else:
        raise UserError(f"expected parts among rivals, searches, player, got {part!r}")


def play(match: Match, results: Results, config: Config) -> None:
    """Plays the games of a match that are missing; raises ValueError if those that are known are other players'."""
    work = Pairs(game("trap"), match.player, match.opponent, match.is_command)
    told = {"player": match.player, "opponent": match.opponent} | network_of(config.model, work.game)
    with executor_for(work, config.processes, config.cluster) as executor:
        go_on(results, match.title, told, executor, config.games, config.first_seed)


def network_of(leaf: str, game: Game) -> dict[str, str]:
    """Returns what tells a leaf's network from others; nothing for a hand-made leaf."""
    if leaf in game.scores:
        return {}
    return {"network": digest_of(need_shipped(game) if leaf == LEARNED else leaf)}


def go_on(
    results: Results, title: str, told: dict[str, str], executor: Executor[Any, Any], games: int, first_seed: int
) -> None:
    """Plays the games of a match that are missing, pairs by pairs, and keeps them with `told`.

    Known games of another network (`network_of`) are played anew. Raises ValueError if known games are of other players.
    """
    known = results.get(title, told)
    players = {name: text for name, text in told.items() if name != "network"}
    if {name: known.get(name) for name in players} != players:
        raise UserError(f"{title}: expected games of {players}, got others; give another --data and --out")
    if known.get("network") != told.get("network"):
        known = told
    scores: list[float] = list(known.get("scores", []))
    for seeds in missing_seeds(len(scores) // 2, games // 2, PAIRS, first_seed):
        for found in executor.in_order(batches_of(seeds)):
            scores += found
        kept = told | {"scores": scores} | figures(scores)
        results.keep(title, kept, f"{title}, {len(scores)} games: {kept['share']:.1%}")


def page(results: dict[str, Any], config: Config) -> list[str]:
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
        *table(
            "match | games | won / drawn / lost | share of the points (95 %) | Elo",
            [row(title, found) for title, found in results.items()],
        ),
        "",
        f"Written by `{config.program()}`, which plays what is missing of each match.",
    ]


def study(config: Config) -> None:
    """Plays what is missing, and writes the page."""
    wanted = [match for part in config.parts for match in matches(config, part)]
    results = known_results(config, "turns.json")
    for match in wanted:
        play(match, results, config)
    work_out(results)
    write_page(config, "turns.md", page(results, config))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
