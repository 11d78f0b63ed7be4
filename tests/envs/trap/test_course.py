"""The course's trees against a plain walk through them, and programs with the course's interface in both directions."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import Forfeit
from leafwise.envs.core.play import program
from leafwise.envs.core.programs import prints_are_shown, prints_shown
from leafwise.envs.trap import GAME
from leafwise.envs.trap.baselines.course import PlayerAI
from leafwise.envs.trap.baselines.course import players as guests
from leafwise.envs.trap.baselines.course.players import RECIPES, CoursePlayer, GuestPlayer
from leafwise.envs.trap.baselines.course.starter.Grid import Grid
from leafwise.training.evaluation.arena import play_game
from twins.trap import Cell, Twin, crowded_state

BIG = 1000.0
TWIN = Twin(GAME.options)


def free(cell: Cell, taken: set[Cell]) -> list[Cell]:
    return [c for c in TWIN.around(cell) if c not in taken]


class Walk:
    """Both trees without pruning: P - O at the leaves, throws at free cells beside the player who moves.

    Values are for the player who moves.
    """

    def __init__(self, model: str) -> None:
        self.model = model

    def moves(self, mover: Cell, thrower: Cell, traps: frozenset[Cell], depth: int) -> float:
        open_cells, ways = free(mover, {thrower, *traps}), free(thrower, {mover, *traps})
        if not open_cells:
            return -BIG
        if not ways:
            return BIG  # self_trap="immediate"
        if depth == 0:
            return float(len(open_cells) - len(ways))
        return max(self.moved(to, thrower, traps, depth) for to in open_cells)

    def moved(self, to: Cell, thrower: Cell, traps: frozenset[Cell], depth: int) -> float:
        targets, ways = free(to, {thrower, *traps}), free(thrower, {to, *traps})
        if not ways:
            return BIG
        if depth == 1:
            return float(len(targets) - len(ways))
        return min(self.thrown(c, to, thrower, traps, depth - 1) for c in targets)

    def thrown(self, target: Cell, mover: Cell, thrower: Cell, traps: frozenset[Cell], depth: int) -> float:
        p = 1 - 0.05 * (abs(target[0] - thrower[0]) + abs(target[1] - thrower[1]) - 1)
        value = p * self.moves(mover, thrower, traps | {target}, depth - 1)
        if self.model == "full":
            spill = [c for c in TWIN.around(target) if c not in (mover, thrower)]
            value += (1 - p) / len(spill) * sum(self.moves(mover, thrower, traps | {c}, depth - 1) for c in spill)
        return value


def check(got: dict[int, float], expected: dict[str, float]) -> None:
    """Checks the value of the chosen action; the values of other actions are bounds."""
    assert {GAME.actions[action] for action in got} == set(expected)
    choice = max(got, key=got.__getitem__)
    assert got[choice] == pytest.approx(expected[GAME.actions[choice]])
    assert all(value >= expected[GAME.actions[action]] - 1e-9 for action, value in got.items())


@pytest.mark.parametrize("model", ["p_only", "full"])  # hit_miss: test_course_starter
def test_trees_agree_with_a_plain_walk(model: str) -> None:
    rng, walk = Random(1), Walk(model)
    player = CoursePlayer(GAME, "course", RECIPES["is"], depth=3, chance=model)
    for k in range(4):
        state = crowded_state(GAME, 24 if model == "full" else 18, rng)
        p = TWIN.read(str(state))
        opponent = p.players[1 - p.turn % 2]
        places = {name: TWIN.play(p, name).players[p.turn % 2] for name in state.legal_names}
        check(player.values(state), {name: walk.moved(to, opponent, p.traps, 3) for name, to in places.items()})
        name = state.legal_names[k % len(places)]
        throwing, targets = state.play(name), free(opponent, {places[name], *p.traps})
        if not throwing.is_terminal:
            expected = {f"{c[0]},{c[1]}": -walk.thrown(c, opponent, places[name], p.traps, 3) for c in targets}
            check(player.values(throwing), expected)


def test_p_only_is_no_expectation() -> None:
    state = GAME.parse("1..2.../##.#.../......./......./......./......./....... turn=0 throw")
    players = (CoursePlayer(GAME, "", RECIPES["is"], depth=1, chance=model) for model in ("p_only", "full"))
    blind, seeing = ([player.values(state)[GAME.action(name)] for name in ("0,2", "1,2")] for player in players)
    assert blind == pytest.approx([0.95 * -2, 0.9 * -2])
    assert seeing[0] < -BIG / 100 < blind[0]  # a miss can fill one's own last free cell


def test_players_are_found_by_name_and_win_against_chance() -> None:
    for name in RECIPES:
        player = leafwise.player(f"course:{name}", GAME)
        rival = leafwise.player("random", GAME, seed=1)
        won = sum(play_game(GAME, [player, rival], seed, 0)[0] for seed in range(3))
        assert won >= 1, name
    for words, message in {
        "course": "expected course:NAME",
        "course:x": "expected a name among is, ais, ocls, easy, medium, hard, or a path",
        "course:is,depth=6": "expected a depth of 1 to 5, got 6",
        "course:is,chance=none": "expected chance among p_only, hit_miss, full, got 'none'",
        "course:is,throws=far": "expected throws among near, near\\+traps, all, got 'far'",
        "course:is,wide=1": "expected options among depth, chance, throws, got 'wide'",
        "course:is,depth=x": "expected a number for depth, got 'x'",
        "course:nowhere/PlayerAI.py": "expected a Python file with a class PlayerAI",
    }.items():
        with pytest.raises(ValueError, match=message):
            leafwise.player(words, GAME)


def test_they_play_on_boards_of_more_cells_than_a_word_has_bits() -> None:
    state = GAME.variant(size=9).start()
    player = leafwise.player("course:is,depth=3", state.game)
    after = state.play(player.choose(state))
    assert player.choose(after) in after.legal_actions


def test_ours_says_what_it_cannot_play() -> None:
    ai = PlayerAI("course:easy")
    grid = Grid(7).move((0, 3), 1).move((6, 3), 2)
    with pytest.raises(ValueError, match=r"^trap: expected setPlayerNum\(1 or 2\) before the first call, got none$"):
        ai.getMove(grid)
    ai.setPosition((0, 3))
    assert ai.getMove(grid) in grid.get_neighbors(ai.getPosition() or (0, 0))
    ai.setPlayerNum(1)
    assert ai.getPlayerNum() == 1
    with pytest.raises(ValueError, match=r"^trap: expected a board of size 7, got size=5$"):
        ai.getMove(Grid(5).move((0, 3), 1).move((4, 3), 2))
    with pytest.raises(ValueError, match=r"^trap: expected a square map, got shape \(2, 3\)$"):
        ai.getMove(type("Board", (), {"map": np.zeros((2, 3))})())
    with pytest.raises(ValueError, match=r"^trap: expected seconds above 0 and at most 86,400, got 0$"):
        PlayerAI("course:easy", seconds=0)


GUEST = """
from BaseAI import BaseAI
from Grid import Grid
from Utils import manhattan_distance
import time

class PlayerAI(BaseAI):
    def __init__(self):
        self.pos, self.player_num, self.turns = None, None, 0
        print("a program may print")

    def setPosition(self, new_pos): self.pos = new_pos
    def getPosition(self): return self.pos
    def setPlayerNum(self, num): self.player_num = num

    def getMove(self, grid: Grid):
        self.turns += 1
        assert grid.find(self.player_num) == self.pos
        {trouble}
        opponent = grid.find(3 - self.player_num)
        return max(grid.get_neighbors(self.pos, only_available=True), key=lambda c: manhattan_distance(c, opponent))

    def getTrap(self, grid: Grid):
        return grid.clone().get_neighbors(grid.find(3 - self.player_num), only_available=True)[0]
"""


class Guests:
    """Starts programs in a folder, and stops them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.started = folder, list[GuestPlayer]()

    def __call__(self, trouble: str = "pass", **clock: float) -> GuestPlayer:
        path = self.folder / "PlayerAI.py"
        path.write_text(GUEST.replace("{trouble}", trouble))
        self.started.append(GuestPlayer(GAME, "course:guest", str(path), **clock))
        return self.started[-1]


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Guests]:
    yield (guests := Guests(tmp_path))
    for player in guests.started:
        player.close()


def test_a_program_of_the_course_plays_in_our_games(guest: Guests) -> None:
    player, rival = guest(), leafwise.player("random", GAME)
    scores = [play_game(GAME, [player, rival] if seat == 0 else [rival, player], 7, seat)[0] for seat in (0, 1)]
    assert set(scores) <= {-1.0, 0.0, 1.0}
    assert sum(scores) > -2


FAULTS = [
    ("raise RuntimeError('oh no')", r"RuntimeError: oh no \(line 19 of PlayerAI.py, getMove, turn 1\)$", "in getMove"),
    (
        "return self.pos", r"expected a legal cell from getMove, got \(0, 3\) \(getMove, turn 1\)$",
        "legal: (0, 4), (1, 4), (1, 3), (1, 2), (0, 2)",
    ),
    ("return None", r"expected a cell \(row, column\) from getMove, got None", "as player 1 at ...1.../"),
    ("return (1.0, 3.0)", r"got \(1.0, 3.0\)", "player 1 to move"),
    ("return 'N'", "got 'N'", "player 1 to move"),
    ("import sys; sys.exit('enough')", "SystemExit: enough .line 19 of PlayerAI.py", "sys.exit('enough')"),
    ("import os; print('bye'); os._exit(3)", "its process ended", "  bye"),
    ("time.sleep(60)", "took more than 0.3 s for its turn .line 19 of PlayerAI.py", "time.sleep(60)"),
    ("while True: pass", "took more than 0.3 s for its turn .line 19 of PlayerAI.py", "while True: pass"),
    ("input('move? ')", "EOFError", "  move? "),
    ("import helper; helper.fail()", "ZeroDivisionError: .* .line 2 of helper.py, getMove", "helper.fail()"),
    ("'a' in grid.nothing", "AttributeError: 'Grid' object has no attribute 'nothing'", "in getMove"),
]  # fmt: skip
"""What a program does, why it loses, what else it is told."""


@pytest.mark.parametrize(("trouble", "message", "told"), FAULTS)
def test_who_breaks_the_rules_forfeits_and_is_told_where(guest: Guests, trouble: str, message: str, told: str) -> None:
    (guest.folder / "helper.py").write_text("def fail():\n    return 1 / 0\n")
    player = guest(trouble, seconds=0.3 if "0.3 s" in message else 30.0, allowance=0.0)
    state = GAME.start()
    with pytest.raises(Forfeit, match=message) as lost:
        player.choose(state)
    report = "\n".join(lost.value.report)
    assert told in report
    assert state.board() in report
    assert not any(ours in report for ours in ("child.py", "importlib", "leafwise"))
    if "oh no" in trouble:
        figures = play_game(GAME, [player, leafwise.player("random", GAME)], 1, 0)
        assert (figures.score, figures.loser, figures.fault.splitlines()[0]) == (-1, 0, str(lost.value))


def test_what_is_printed_is_in_the_report_or_shown(guest: Guests, capfd: pytest.CaptureFixture[str]) -> None:
    for wanted in (False, True):
        with prints_shown(wanted):
            player = guest("print('thinking of', self.turns); assert False")
            capfd.readouterr()
            with pytest.raises(Forfeit) as lost:
                player.choose(GAME.start())
            player.close()
        assert ("  thinking of 1" in lost.value.report) != wanted
        assert ("thinking of 1" in capfd.readouterr().err) == wanted
    assert not prints_are_shown()


def test_the_report_has_what_was_printed_in_this_game_alone(guest: Guests) -> None:
    player = guest("print('game', id(self)); assert self.turns == 1 and self.player_num == 1")
    player.choose(GAME.start())
    with pytest.raises(Forfeit) as lost:
        player.choose(GAME.parse("......./...1.../......./......./......./......./...2... turn=1"))
    assert len([line for line in lost.value.report if line.startswith("  game")]) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import no_such_module\n",
            r"ModuleNotFoundError: No module named 'no_such_module' \(line 1 of PlayerAI.py\)$",
        ),
        ("class PlayerAI:\n    def getMove(self, grid)\n", r"SyntaxError: expected ':' \(line 2 of PlayerAI.py\)$"),
        ("class Player: pass\n", "expected a class PlayerAI in PlayerAI.py, got none$"),
        ("class PlayerAI:\n    def __init__(self): 1 / 0\n", r"ZeroDivisionError: .* \(line 2 of PlayerAI.py\)$"),
        ("import sys; sys.exit()\n", "SystemExit"),
        ("while True: pass\n", "it took more than 0.2 s"),
    ],
)
def test_a_program_must_load(tmp_path: Path, source: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LOADING", 0.2 if "0.2 s" in message else 60.0)
    (path := tmp_path / "PlayerAI.py").write_text(source)
    with pytest.raises(ValueError, match=r"^expected a program that loads, got: .*" + message):
        GuestPlayer(GAME, "course:guest", str(path))
    with pytest.raises(ValueError, match="expected seconds above 0"):
        GuestPlayer(GAME, "course:guest", str(path), seconds=0)


def test_a_program_finds_its_own_folder_and_has_the_process_to_itself(guest: Guests) -> None:
    (guest.folder / "numbers.txt").write_text("1 2 3")
    player = guest("import os, sys; assert open('numbers.txt').read() == '1 2 3' and 'leafwise' not in sys.modules")
    assert player.choose(GAME.start()) in GAME.start().legal_actions


def test_the_state_of_a_game_is_not_lost_between_turns(guest: Guests) -> None:
    player, state, stream = guest("assert self.turns <= 2, 'a third turn'"), GAME.start(), new_stream(0)
    for _ in range(2):
        state = state.play(player.choose(state))
        state = state.play(player.choose(state)).settle(stream)
        state = state.play(state.legal_actions[0])
        state = state.play(GAME.action("3,0")).settle(stream)
    with pytest.raises(Forfeit, match="a third turn"):
        player.choose(state)
    assert player.choose(GAME.start()) in GAME.start().legal_actions


def test_the_process_of_a_program_speaks_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "PlayerAI.py").write_text(GUEST.replace("{trouble}", "if self.turns == 2: return self.pos"))
    board = ".../12./..#"
    asked: list[dict[str, object]] = [
        {"ask": "hello", "protocol": 1, "seconds": 60, "else": 1},
        {"ask": "new", "game": "trap", "options": {"size": 3}, "player": 0, "seconds": 60},
        {"ask": "stop"},
    ]
    for fields in ("turn=2", "turn=2 throw", "turn=4", "turn=5"):
        asked += [{"ask": "position", "state": f"{board} {fields}"}, {"ask": "go", "seconds": 60}]
    words = [sys.executable, str(guests.CHILD), str(tmp_path / "PlayerAI.py")]
    lines = "".join(f"{json.dumps(message)}\n" for message in [*asked, {"ask": "quit"}])
    done = subprocess.run(words, input=lines, text=True, capture_output=True, timeout=120)
    hello, ready, step, throw, stays, wrong = map(json.loads, done.stdout.splitlines())
    assert hello == {"ready": 1, "limits": ["seconds"]}
    assert ready == {"ready": 1}
    assert step == {"move": "N", "cell": [0, 0]}
    assert throw["move"] == ",".join(map(str, throw["cell"]))
    assert stays == {"move": "1,0", "cell": [1, 0]}  # no name of a step, as it is none
    assert wrong["error"].startswith("AssertionError")  # it is player 1, and was asked as player 2
    assert wrong["where"] == "line 18 of PlayerAI.py"
    assert (done.returncode, done.stderr) == (0, "a program may print\n")


def test_the_class_of_a_program_may_have_another_name(tmp_path: Path) -> None:
    path = tmp_path / "HardAI.py"
    source = GUEST.replace("{trouble}", "pass").replace("PlayerAI", "Common") + "\n\nclass HardAI(Common): pass\n"
    path.write_text(source)
    player = leafwise.player(f"course:{path}", GAME)
    assert player.choose(GAME.start()) in GAME.start().legal_actions
    path.write_text(source + "\n\nclass EasyAI(Common): pass\n")
    with pytest.raises(ValueError, match=r"expected a class PlayerAI in HardAI.py, got EasyAI and HardAI$"):
        leafwise.player(f"course:{path}", GAME)
