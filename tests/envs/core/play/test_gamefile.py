"""Games as text: random games read back bit for bit, and a message that names an impossible line."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from contract.cases import CASES
from games import dice
from leafwise.envs import registry
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.by_name import after_moves, stepped
from leafwise.envs.core.play.gamefile import GameRecord, GameRecorder, load_game, read_games

LONGEST = {"starship": 4}
"""Most moves of a random game where a position takes long; whole ones are played too, in the long tests."""
TRAP = '[Game "trap"]\n[Options {"size": 3}]\n1. SW\n'


@pytest.fixture(autouse=True)
def test_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers the games of the tests under their names."""
    for game in {g.name: g for g in CASES if not g.module.startswith("leafwise.")}.values():
        monkeypatch.setitem(registry._added, game.name, game.variant(**game.defaults))


def random_game(game: Game, seed: int, moves: int = 150) -> GameRecord:
    """Returns a random game with comments here and there; some games break off."""
    rng, stream = Random(seed), new_stream(seed)
    recorder = GameRecorder(game.start(), [f"random, seed {seed}"] * game.players, seed, "one\ntwo" if seed % 2 else "")
    while not recorder.settle(stream).is_terminal and moves:
        words = rng.choice(["", "", "", 'a "quoted" > word ; [x]', "first\n\nthird"])
        recorder.play(rng.choice(recorder.state.legal_actions), words)
        moves -= 1
    return recorder.record()


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_random_games_read_back(game: Game) -> None:
    written = [random_game(game, 910_000 + k, LONGEST.get(game.name, 150)) for k in range(2)]
    read = list(read_games("\n\n".join(map(str, written))))
    for before, after in zip(written, read, strict=True):
        assert after == before
        assert [s.row.tobytes() for s in after.states] == [s.row.tobytes() for s in before.states]
        assert str(after) == str(before)
        assert (after.game, after.result, after.seed) == (game, before.result, before.seed)


@pytest.mark.long
def test_a_whole_ship_reads_back() -> None:
    record = random_game(registry.game("starship"), 910_000, 1000)
    assert record.states[-1].is_terminal
    assert next(read_games(str(record))) == record


@pytest.mark.parametrize("game", CASES[::4], ids=repr)
def test_games_from_any_position_read_back(game: Game) -> None:
    middle = random_game(game, 3, 6).states[-1]
    recorder = GameRecorder(middle)
    if middle.legal_actions:
        recorder.play(middle.legal_actions[-1])
        recorder.settle(new_stream(5))
    assert next(read_games(str(recorder.record()))) == recorder.record()


def test_a_file_holds_many_games(tmp_path: Path) -> None:
    games = [random_game(dice.GAME, seed) for seed in range(3)]
    file = tmp_path / "games.txt"
    file.write_text("\n".join(map(str, games)), encoding="utf-8")
    assert [load_game(file, k) for k in (1, 2, 3)] == games
    with pytest.raises(ValueError, match=r"expected a game number in 1\.\.3, got 4"):
        load_game(file, 4)


def test_a_game_that_was_given_away_reads_back() -> None:
    recorder = GameRecorder(registry.game("cassis").start(), ["a", "b"])
    recorder.play("0-1")
    record = recorder.record("player 2: hang: took more than 1 s", 1.0)
    assert record.result == 1.0
    assert next(read_games(str(record))) == record


def test_a_game_written_by_hand() -> None:
    text = '; no\n[Game "trilobite"]\n\n  1. 2 ; the middle\n; of three\n 2. "2"\n3. 1'
    with pytest.raises(
        ValueError, match=r"^game, line 1: expected a game that begins with \[Game \"NAME\"\], got '; no'$"
    ):
        list(read_games(text))
    record = next(read_games(text.removeprefix("; no\n")))
    assert [step.name for step in record.moves] == ["2", "2", "1"]
    assert record.steps[0].comment == "the middle\nof three"
    assert record.result is None
    assert str(record.states[-1]) == ".../.o./xx."


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "expected a game that begins"),
        ('[Gume "trap"]', 1, "expected a game that begins"),
        ("[Game 3]", 1, "expected [Game VALUE] with a JSON value of its type"),
        ('[Game "trap"', 1, "expected [Game VALUE] with a JSON value of its type"),
        ('[Game "chess"]\n1. e4', 1, "expected a game among"),
        ('[Game "trap"]\n[Options {"x": 1}]\n1. N', 2, "expected options among"),
        ('[Game "trap"]\n[Options {"name": 1}]\n1. N', 2, "trap: expected options among (size, self_trap"),
        ('[Game "trap"]\n[Options {"self": "trap"}]\n1. N', 2, "trap: expected options among (size, self_trap"),
        ('[Game "trap"]\n[Options {"size": [[]]}]\n1. N', 2, "trap: expected size"),
        ('[Game "starship"]\n[Options {"parameters": {"x": 1}}]', 2, "starship: expected a field of parameters among "),
        ('[Game "trap"]\n\n[Start "nonsense"]', 3, "expected 7 rows"),
        ('[Game "trap"]\n[Players ["one"]]', 2, "expected the names of 2 players"),
        ('[Game "trap"]\n[Seed true]', 2, "expected [Seed VALUE]"),
        ('[Game "trap"]\n[Seed 1]\n[Seed 1]', 3, "expected tags among"),
        (f"{TRAP}[Seed 1]", 4, "each once before the moves"),
        (f"{TRAP}2. 1,1 > 5,5", 4, "expected what chance did, landing ("),
        (f"{TRAP}3. 1,1", 4, "expected '2. MOVE', got '3. 1,1'"),
        (f"{TRAP}2.", 4, "expected '2. MOVE', got '2.'"),
        (f"{TRAP}2. N", 4, "expected a legal action"),
        (f"{TRAP}2. 1,1\n3. N", 5, "expected an outcome of chance (landing), got the action "),
        (f"{TRAP}1,1", 4, "expected '2. MOVE', '> OUTCOME' or '; WORDS', got '1,1'"),
        (f"{TRAP}> 1,1", 4, "expected no outcome where chance does not act"),
        (f'{TRAP}2. "1,1', 4, "expected a name, '>' or ';'"),
        (f'{TRAP}2. "\\x"', 4, "expected a name as a JSON string"),
        (f"{TRAP}2. >", 4, "expected a name, got '>'"),
        ('[Game "trap"]\n[Result 1.0]\n1. SW', 2, 'expected the result "*", the game is not over, got 1.0'),
        (
            '[Game "trap"]\n[Termination "gone"]\n[Result "*"]\n1. SW',
            3,
            "expected the result a number, with Termination",
        ),
        (
            '[Game "trilobite"]\n[Result 0.0]\n1. 1\n2. 2\n3. 1\n4. 2\n5. 1',
            2,
            "expected the result 1.0 of the moves, got 0.0",
        ),
        ('[Game "trilobite"]\n[Termination "x"]\n1. 1\n2. 2\n3. 1\n4. 2\n5. 1', 2, "expected no Termination"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^file, line ") as refused:
        list(read_games(text, "file"))
    assert str(refused.value).startswith(f"file, line {line}: "), refused.value
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_lines_that_were_cut_or_changed_get_one_clear_line() -> None:
    """A file with one changed character is read, or refused in one line that names one of its lines."""
    rng = Random(8)
    refused = []
    for seed in range(40):
        text = str(random_game(dice.GAME, seed))
        at = rng.randrange(len(text))
        changed = text[:at] + rng.choice(['"', "9", ">", ";", "[", "\n", "x", ""]) + text[at + rng.randint(0, 3) :]
        try:
            list(read_games(changed))
        except ValueError as problem:
            refused.append(str(problem))
    assert all(re.fullmatch(r"game, line \d+: [^\n]+", problem) for problem in refused), refused
    assert len(refused) > 10


def test_moves_and_outcomes_by_name_lead_on() -> None:
    start = registry.game("trap", size=3).start()
    landed = after_moves(start, ["SW", "0,2", "0,2"], "SW 0,2 0,2")
    assert landed == stepped(stepped(stepped(start, "SW"), "0,2"), "0,2")
    with pytest.raises(ValueError, match=r"expected what chance did, .*, got '9,9' as move 3 of 'SW 0,2 9,9'$"):
        after_moves(start, ["SW", "0,2", "9,9"], "SW 0,2 9,9")
