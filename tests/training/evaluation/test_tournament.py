"""Round robins: openings, both seats, faulty players, files that are resumed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice, faulty
from leafwise.commands.arena import tables as arena_tables
from leafwise.commands.eval import figures as eval_figures
from leafwise.commands.eval import lines as eval_lines
from leafwise.envs.core import waiting
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import Forfeit
from leafwise.search.players import Player, RandomPlayer
from leafwise.training.evaluation.arena import Tournament, arena, evaluate, plan
from leafwise.training.evaluation.match_workers import (
    Maker,
    MatchJob,
    MatchOutcome,
    MatchRunner,
    MatchWorkers,
    from_text,
)
from leafwise.training.evaluation.openings import openings
from leafwise.training.evaluation.results import Evaluation
from leafwise.training.evaluation.statistics import elo_difference
from running.killing import alive
from running.waiting import until

TRILOBITE = leafwise.game("trilobite")


def played_here(tournament: Tournament, makers: Mapping[str, Maker] | None = None) -> Tournament:
    """Plays a round robin in this process, at a worker's table."""
    makers = makers or {name: from_text(name) for name in tournament.players}
    table = MatchRunner(tournament.game, makers, [0.0] * 3, 60.0)
    for job in tournament.jobs():
        tournament.add(job, table.play(job))
    return tournament


def test_openings_differ_and_leave_something_to_play() -> None:
    positions = openings(leafwise.game("trilobite", board="7x6", k=4), 60, 6, 5)
    assert len(set(positions)) == 60
    assert not any(state.is_terminal for state in positions)
    assert {str(state).count(".") for state in positions} == {36}
    assert openings(leafwise.game("trilobite", board="7x6", k=4), 10, 6, 5) == positions[:10]


def least(state: State) -> bytes:
    """Returns what all symmetric positions have in common, worked out one symmetry after the other."""
    return min(state.transformed(k).row.tobytes() for k in range(state.game.symmetry_count))


def every_opening(game: leafwise.Game, plies: int) -> set[bytes]:
    """Returns what the unfinished positions after so many actions are up to symmetry."""
    states = {least(game.start()): game.start()}
    for _ in range(plies):
        after = [state.play(a) for state in states.values() for a in state.legal_actions]
        states = {least(state): state for state in after if not state.is_terminal}
    return set(states)


@pytest.mark.parametrize(
    ("name", "plies", "count"), [("trilobite", 1, 2), ("trilobite", 4, 30), ("cassis", 2, 2), ("cassis", 4, 25)]
)
def test_no_two_openings_are_symmetric_and_none_is_left_out(name: str, plies: int, count: int) -> None:
    game = leafwise.game(name)
    positions = openings(game, 100, plies, 5)
    assert len(positions) == count
    assert {least(state) for state in positions} == every_opening(game, plies)


def test_openings_are_fewer_where_there_are_no_more() -> None:
    assert openings(TRILOBITE, 3, 0, 5) == [TRILOBITE.start()]
    with pytest.raises(ValueError, match="expected openings that leave something to play, got 9 plies"):
        openings(TRILOBITE, 1, 9, 5)


def test_openings_of_games_of_chance_have_their_own_chance() -> None:
    game = leafwise.game("threes")
    assert len(set(openings(game, 8, 0, 5))) == 8
    assert len(openings(dice.GAME, 50, 0, 5)) == 50


@pytest.mark.parametrize(("players", "counted"), [(("minimax", "solver"), 4), (("minimax", "random"), 12)])
def test_a_game_that_is_another_again_does_not_count(players: tuple[str, str], counted: int) -> None:
    """One ply leaves two openings that no symmetry makes the same; `random` plays them otherwise each time."""
    tournament = played_here(plan(TRILOBITE, players, 12, plies=1))
    figures = tournament.figures()
    assert (len(tournament.positions), len(tournament.played), figures["counted"]) == (2, 12, counted)
    (pair,) = figures["pairs"]
    assert pair["games"] == pair["wins"] + pair["draws"] + pair["losses"] == counted
    assert len(tournament.units()) == counted // 2
    assert pair["ci_low"] <= pair["mean"] <= pair["ci_high"]
    assert pair["ci_low"] < pair["ci_high"]


@pytest.mark.parametrize(
    ("player", "opponent", "plies", "games"),
    [
        ("minimax", "solver", 1, 4),
        ("minimax", "solver", 0, 2),
        ("minimax", "solver", None, 40),
        ("minimax", "random", 1, 40),
    ],
)
def test_an_evaluation_plays_no_game_again(player: str, opponent: str, plies: int | None, games: int) -> None:
    evaluation = evaluate(TRILOBITE, player, 40, opponent=opponent, plies=plies, keep=True)
    assert (len(evaluation.scores), evaluation.asked) == (games, 40)
    assert evaluation.openings == {None: 20, 1: 2, 0: 1}[plies]
    if opponent == "solver":
        games_text = [record.replace(str(1_000_000 + k // 2), "SEED") for k, record in enumerate(evaluation.records)]
        assert len(set(games_text)) == games
    low, high = evaluation.interval()
    assert low <= evaluation.mean <= high
    assert low < high


def test_every_pair_plays_every_opening_from_both_seats() -> None:
    tournament = plan(TRILOBITE, ["a", "b", "c"], 8, openings=3, plies=3)
    jobs = list(tournament.jobs())
    assert len(jobs) == tournament.total == 24
    by_round: dict[tuple[int, frozenset[str]], list[MatchJob]] = {}
    for job in jobs:
        by_round.setdefault((job.number, frozenset(job.names)), []).append(job)
    assert len(by_round) == 12
    for (number, _), (one, other) in by_round.items():
        assert one.names == other.names[::-1]
        assert one.opening == other.opening == tournament.opening(number)
        assert one.chance == other.chance
        assert one.seeds == other.seeds[::-1]  # a player draws alike in either seat
        assert len({one.chance, *one.seeds}) == 3


def make_last(game: leafwise.Game, seed: int) -> object:
    return faulty.early(faulty.last)(game, "last", [])


def make_random(game: leafwise.Game, seed: int) -> RandomPlayer:
    return RandomPlayer(seed)


def test_figures_add_up_and_do_not_depend_on_the_processes() -> None:
    makers: Any = {"last": make_last, "random": make_random, "greedy": _greedy}
    alone = played_here(plan(TRILOBITE, list(makers), 6), makers)
    together = arena(TRILOBITE, makers, 6, processes=2)
    assert {key: p.result for key, p in alone.played.items()} == {key: p.result for key, p in together.played.items()}
    figures = alone.figures()
    assert [line["games"] for line in figures["standings"]] == [12, 12, 12]
    assert sum(line["mean"] for line in figures["standings"]) == pytest.approx(0)
    assert sum(line["wins"] - line["losses"] for line in figures["standings"]) == 0
    assert sum(line["elo"] for line in figures["standings"]) == pytest.approx(0)
    assert all(line["wins"] + line["draws"] + line["losses"] == 12 for line in figures["standings"])
    assert all(line["seconds_per_move"] > 0 for line in figures["standings"])
    assert figures["faults"] == []
    pair = figures["pairs"][0]
    points = [alone.points(p, pair["player"]) for p in alone.of(pair["player"], pair["opponent"])]
    assert pair["mean"] == pytest.approx(2 * np.mean(points) - 1)


def test_points_count_where_games_are_worth_more_than_one_and_elo_is_of_wins() -> None:
    game = replace(dice.GAME, return_range=(-3.0, 3.0))
    tournament = plan(game, ["greedy", "random"], 20)
    for job in tournament.jobs():  # in each round one game is won by 3 points, one lost by 1 or 2
        tournament.add(job, MatchOutcome(3.0 if job.names[0] == "greedy" else 1.0 + job.number % 2))
    figures = tournament.figures()
    line = next(line for line in figures["standings"] if line["player"] == "greedy")
    assert (line["mean"], line["points_per_game"], line["win_share"]) == (0.75, 0.75, 0.5)
    assert line["points_ci_low"] == line["ci_low"] == pytest.approx(0.75 - 2.262 * 0.25 / 9**0.5, abs=1e-3)
    assert line["elo"] == pytest.approx(0, abs=1e-9)
    assert "points a game +0.750 (" in "\n".join(arena_tables(tournament, figures))
    played = Evaluation(
        "greedy",
        0,
        np.array([3.0, -1.0, 3.0, -2.0]),
        np.zeros(4, int),
        1,
        0.0,
        "random",
        return_range=game.return_range,
    )
    shown = eval_figures(game, played)
    assert (shown["mean"], shown["points_per_game"], shown["win_share"], shown["elo"]) == (
        0.75,
        0.75,
        0.5,
        pytest.approx(0, abs=1e-9),
    )
    assert "  games   2 won, 0 drawn, 2 lost: 50.0% won (9.5% to 90.5%)" in list(eval_lines(shown))


def _greedy(game: leafwise.Game, seed: int) -> object:
    return leafwise.player("greedy", game, seed)


def make_telling(game: leafwise.Game, seed: int) -> Player:
    raise Forfeit(f"speaks: {waiting._reporter.speaks}")


def test_the_first_process_says_what_all_wait_for() -> None:
    jobs = [MatchJob(("telling", "telling"), TRILOBITE.new(0), 0, (0, 0))] * 2
    with MatchWorkers(TRILOBITE, {"telling": make_telling}, 60.0, slots=2) as workers:
        faults = [outcome.fault for outcome in workers.in_order(enumerate(jobs))]
    assert [fault and fault.what for fault in faults] == ["speaks: True", "speaks: False"]


def test_two_players_get_the_elo_of_their_share() -> None:
    makers: Any = {"a": make_last, "b": make_random}
    tournament = played_here(Tournament(TRILOBITE, ("a", "b"), 40, 20, 2, 1), makers)
    (pair,) = tournament.figures()["pairs"]
    share = (pair["wins"] + pair["draws"] / 2 + 1) / (40 + 2)
    assert pair["elo"] == pytest.approx(elo_difference(share))
    assert tournament.complete


@pytest.mark.parametrize(
    ("bad", "kind", "what", "ends"),
    [
        ("crash", "crash", "RuntimeError: no more ideas", False),
        ("leave", "crash", "its process ended with status 3", True),
        ("stop", "crash", "SystemExit: enough", True),
        ("hang", "hang", "took more than 2 s", True),
        ("give_up", "forfeit", "out of time", False),
        ("illegal", "illegal", "expected the id of a legal action at ", False),
        ("word", "illegal", "got '2'", False),
    ],
)
def test_a_faulty_player_loses_its_games_and_is_named(bad: str, kind: str, what: str, ends: bool) -> None:
    """One that `ends` its process, or has to be ended, plays in one of its own; the others at a worker's table here."""
    names = ["last", bad]
    if ends:
        tournament = arena(faulty.GAME, names, 2, plies=2, seconds=2 if kind == "hang" else 60)
    else:
        tournament = played_here(plan(faulty.GAME, names, 4, plies=2))
    assert tournament.complete
    faults = [p for p in tournament.played.values() if p.fault]
    assert faults, "a game went to its end before the fault could show in all of them"
    for p in faults:
        assert p.fault is not None
        assert (p.fault["player"], p.fault["kind"]) == (bad, kind)
        assert what in p.fault["what"]
        assert p.result == (-1 if p.first == bad else 1)
    line = next(line for line in tournament.figures()["standings"] if line["player"] == bad)
    assert line["faults"][kind] == len(faults)
    assert line["losses"] >= len(faults)


@pytest.mark.long
def test_one_that_never_answers_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leafwise.training.evaluation.match_workers.START_SECONDS", 1.0)
    tournament = arena(faulty.GAME, ["never", "last", "random"], 2, seconds=1.5)
    faults = [p.fault for p in tournament.played.values() if p.fault]
    assert [f["player"] for f in faults] == ["never"] * 4
    assert [f["what"] for f in faults] == ["took more than 2.5 s to be loaded"] + [
        "took more than 1.5 s to be loaded"
    ] * 3
    assert tournament.complete


def test_chance_and_seats_that_move_twice_are_no_matter() -> None:
    tournament = played_here(plan(dice.GAME, ["greedy", "random"], 20))
    assert tournament.plies == 0
    assert tournament.complete
    assert tournament.figures()["standings"][0]["player"] == "greedy"


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    first = arena(TRILOBITE, ["random", "greedy"], 6, file=file)
    heard: list[tuple[str, str, int]] = []
    more = arena(TRILOBITE, ["random", "greedy"], 10, file=file, resume=True, progress=lambda t, p: heard.append(p.key))
    assert len(heard) == 4
    assert not set(heard) & set(first.played)
    assert {key: more.played[key] for key in first.played} == first.played
    again = arena(TRILOBITE, ["random", "greedy"], 10, file=file, resume=True)
    assert again.played == more.played
    written = json.loads(file.read_text())
    assert written["complete"] is True
    assert len(written["played"]) == 10
    assert written["standings"] == json.loads(json.dumps(again.figures()["standings"]))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_keeps_the_games(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    words = ["arena", "trilobite", "random", "minimax", "--plies", "1", "--games", "20000", "--json", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "leafwise", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until(file.exists, process)
    os.kill(process.pid, signal.SIGINT)
    out, error = process.communicate()
    assert process.returncode == 130
    assert error.splitlines()[-1] == f"interrupted; continue with --json {file} --resume"
    written = json.loads(file.read_text())
    assert f"trilobite: {len(written['played'])} of 20000 games" in out
    assert written["complete"] is False
    assert written["standings"][0]["games"] == len(written["played"])


@pytest.mark.parametrize(
    ("players", "options", "problem"),
    [
        (["random"], {}, "at least two players, all different, got random"),
        (["random", "random"], {}, "all different"),
        (["random", "nobody"], {}, "expected a player like random"),
        (["random", "greedy"], {"games": 3}, "an even number of games"),
        (["random", "greedy"], {"openings": 4}, "expected 1 to 3 openings for 6 games, got 4"),
        (["random", "greedy"], {"plies": -2}, "openings of 0 to 1000 plies"),
        (["random", "greedy"], {"seed": -1}, "a first seed of 0"),
        (["random", "greedy"], {"seconds": 0.0}, "seconds above 0"),
        (["random", "greedy"], {"processes": 0}, "expected 1 to 1,024 processes"),
        (["random", "greedy"], {"game": leafwise.game("threes")}, "expected a two-player game, got 'threes'"),
    ],
)
def test_wrong_arguments_are_refused(players: list[str], options: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        arena(players=players, **{"game": TRILOBITE, "games": 6, **options})  # type: ignore[arg-type]


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    names = ["random", "greedy"]
    tournament = plan(TRILOBITE, names, 4)
    tournament.keep_in(file, False)
    played_here(tournament).save()
    for options, problem in (
        ({"resume": False}, "expected a new file, or to resume"),
        ({"seed": 5}, "expected seed 5, got 1000000"),
        ({"plies": 2}, "expected plies 2, got 4"),
        ({"games": 2}, "expected games a pair of at least 4, got 2"),
        ({"openings": 1}, "expected opening "),
        ({"players": ["random", "minimax"]}, r"expected its players among those named \['random', 'minimax'\]"),
        ({"game": leafwise.game("cassis")}, "expected game 'cassis', got 'trilobite'"),
        ({}, "expected an arena's file"),
    ):
        if not options:
            file.write_text("{}")
        given = {"game": TRILOBITE, "players": names, "games": 4, "file": file, "resume": True, **options}
        with pytest.raises(ValueError, match=problem):
            arena(**given)  # type: ignore[arg-type]


def test_evaluation_has_the_same_elo() -> None:
    evaluation = evaluate(dice.GAME, "greedy", 40, 900_000, opponent="random")
    share = (float((1 + evaluation.scores).sum()) / 2 + 1) / (40 + 2)
    assert evaluation.elo()[0] == pytest.approx(elo_difference(share))


class Killed:
    """A player whose process somebody kills at its first move, once or each time."""

    name = "killed"

    def __init__(self, mark: Path, always: bool) -> None:
        self.mark, self.always = mark, always

    def choose(self, state: leafwise.State) -> int:
        """Returns the first legal action."""
        if self.always or not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return state.legal_actions[0]


def make_killed(game: leafwise.Game, seed: int, *, mark: Path, always: bool) -> Killed:
    return Killed(mark, always)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("always", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_game_whose_process_is_killed_is_played_again_once(always: bool, tmp_path: Path) -> None:
    makers = {"killed": partial(make_killed, mark=tmp_path / "mark", always=always), "random": make_random}
    tournament = arena(TRILOBITE, makers, 2, plies=2)  # type: ignore[arg-type]
    faults = [p.fault for p in tournament.played.values() if p.fault]
    assert tournament.complete
    assert [fault["what"] for fault in faults] == (["its process ended with status -9"] * 2 if always else [])


STUCK = """
import os, time
from leafwise import game
from leafwise.training.evaluation.arena import arena

class Stuck:
    name = "stuck"

    def choose(self, state):
        print(os.getpid(), flush=True)
        while True:
            time.sleep(1)

def make(game, seed):
    return Stuck()

if __name__ == "__main__":
    arena(game("trilobite"), {"stuck": make, "other": make}, 2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_player_that_never_answers_ends_with_the_script_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(STUCK)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    until(lambda: not alive(pid))
