"""What people are shown: the best by default, numbers in their units, games as files, levels that hide no option."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from front.console import Shell, shows
from PIL import Image

import leafwise
from leafwise.__main__ import command_names
from leafwise.envs.core.play.gamefile import load_game
from leafwise.models.units import units_of

RACE = "1,0 0,2 turn=2 steps=1,0"


def test_analyze_uses_the_shipped_network_and_says_so(shell: Shell) -> None:
    asked = ("analyze", "trilobite", "--moves", "22", "--depth", "1")
    told = shell(*asked, "--json").json
    game = leafwise.game("trilobite")
    result = leafwise.Search(game, leafwise.load("trilobite"), 1)(game.start().play("2").play("2"))
    assert (told["leaf"], told["position"], told["player"]) == ("trilobite", str(result.state), 1)
    assert told["action_values"] == result.action_values
    units = units_of(game, "best")
    assert units is not None
    assert told["unit"] == units.name == "chance to win, a draw counting half"
    assert told["value_in_unit"] == units(result.value)
    assert told["action_values_in_unit"] == {name: units(value) for name, value in result.action_values.items()}
    shown = shell(*asked).out
    shows(shown, f"  {units.name}\n", f"{units.written(result.value)}  best", "leaf   trilobite, depth 1")
    by_hand = shell(*asked, "--leaf", "lines")
    assert "  score of the leaf\n" in by_hand.out
    assert shell(*asked, "--leaf", "lines", "--json").json["unit"] is None


def test_rules_that_no_network_was_measured_with_have_values_without_a_unit(shell: Shell, tmp_path: Path) -> None:
    rules = ("trap", "--size", "5", "--max-turns", "20")
    why = "  no unit: the network was measured with the usual rules, not with max_turns=20\n"
    shown = shell("analyze", *rules, "--depth", "1").out
    assert "  score of the leaf\n" in shown
    assert why in shown
    assert "  unit " not in shown
    assert "%" not in shown
    told = shell("analyze", *rules, "--depth", "1", "--json").json
    assert (told["unit"], told["value_in_unit"], told["action_values_in_unit"]) == (None, None, None)
    assert told["no_unit"] == why.strip()
    usual = shell("analyze trap --size 5 --depth 1 --json").json
    assert usual["unit"] == "chance to win, a draw counting half"
    assert "no_unit" not in usual
    hints = shell("play", *rules, "--opponent", "random", "--depth", "1", typed="h\nq\n").out
    assert why in hints
    assert "score of the leaf" in hints
    file = tmp_path / "game.txt"
    file.write_text('[Game "trap"]\n[Options {"size": 5, "max_turns": 20}]\n1. SW\n2. 0,0\n> 0,0\n')
    for words in ((), ("--review",)):
        out = shell("analyze --game", str(file), "--depth", "1", *words).out
        assert why in out
        assert "score of the leaf" in out


def test_analyze_without_a_position_takes_the_start(shell: Shell, dice_game: None) -> None:
    start = leafwise.game("trilobite").start()
    for words in ((), ("--moves", "")):
        told = shell("analyze trilobite --depth 1 --json", *words).json
        assert told["position"] == str(start)
    assert "expected positions in '-', got none" in shell("analyze trilobite --file -").refusal


def test_moves_hold_what_chance_did(shell: Shell) -> None:
    asked = ("analyze", "trap", "--size", "3", "--depth", "1", "--leaf", "reach")
    after = shell(*asked, "--moves", "SW 0,2 0,2", "--json").json
    assert after["position"] == str(
        leafwise.game("trap", size=3).start().play("SW").play("0,2").outcomes_by_name()["0,2"]
    )
    chance = shell(*asked, "--moves", "SW 0,2").out
    shows(chance, "chance acts next (landing); score of the leaf", " for player 1\n")
    assert "player 0" not in chance
    assert shell(*asked, "--moves", "SW 0,2", "--json").json["player"] is None


def test_an_edge_of_cassis_has_three_spellings(shell: Shell) -> None:
    game = leafwise.game("cassis")
    assert game.action("5-0") == game.action("05") == game.action("50") == game.action("0-5")
    found = {
        shell("analyze cassis --depth 1 --json --moves", f"{e} 1-2").out.partition('"nodes"')[0]
        for e in ("0-5", "5-0", "05")
    }
    assert len(found) == 1
    with pytest.raises(ValueError, match=r"expected an action among 0-1, .* got '0-0'"):
        game.action("0-0")


def test_a_game_is_saved_judged_and_drawn(shell: Shell, dice_game: None, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    words = ("--opponent", "random", "--save", str(file), "--seed", "3")
    out = shell("play dice", *words, typed="left\nu\nright\nleft\nq\n").out
    assert f"saved to {file}" in out
    record = leafwise.load_game(file)
    assert record.players == ("human", "random")
    assert next(step.name for step in record.moves if step.before.current_player == 0) == "right"
    assert f"left the game at {record.states[-1]}" in out
    told = [json.loads(line) for line in shell("analyze --game", str(file), "--depth", "1", "--json").out.splitlines()]
    assert [one["played"] for one in told] == [step.name for step in record.moves]
    search = leafwise.Search(record.game, record.game.score(), 1)
    for one, step in zip(told, record.moves, strict=True):
        values = search(step.before).action_values
        assert one["loss"] == pytest.approx(max(values.values()) - values[step.name])
    shown = shell("analyze --game", str(file), "--depth", "1").out
    assert "player 1: mean loss " in shown
    drawn = shell("record --game", str(file), "--out", str(tmp_path / "game.gif"), "--values", "--width", "120").out
    assert f"{len(record.moves) + 1} frames" in drawn
    with Image.open(tmp_path / "game.gif") as image:
        assert image.n_frames == len(record.moves) + 1  # type: ignore[attr-defined]
    file.write_text(file.read_text().replace("1. right", "1. up"))
    assert "line 5: dice: expected an action among" in shell("analyze --game", str(file)).refusal


def test_eval_arena_and_record_keep_games(shell: Shell, dice_game: None, tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    shell("eval dice greedy --opponent random --games 4 --save", str(file))
    records = [load_game(file, number) for number in (1, 2, 3, 4)]
    assert [r.players for r in records] == 2 * [("greedy", "random"), ("random", "greedy")]
    assert [r.seed for r in records] == [1_000_000, 1_000_000, 1_000_001, 1_000_001]
    assert all(r.states[-1].is_terminal for r in records)
    words = ("--seed", "5", "--player", "random", "--opponent", "greedy")
    shell("record dice", *words, "--out", str(tmp_path / "game.gif"), "--save", str(file), "--overwrite")
    assert load_game(file).players == ("random", "greedy")
    shell("arena trilobite random greedy --games 2 --save", str(file), "--overwrite")
    both = [load_game(file, number) for number in (1, 2)]
    assert {r.players for r in both} == {("random", "greedy"), ("greedy", "random")}
    assert both[0].start == both[1].start != both[0].game.start()


def test_no_option_of_a_command_hides_one_of_a_game() -> None:
    """`--level` of play is the one exception: it is spelt `--strength` where the game has a level of its own."""
    for command in command_names():
        config = getattr(importlib.import_module(f"leafwise.commands.{command}"), "Config", None)
        own = (
            {field.name for field in dataclasses.fields(config)}
            if config and command not in ("ship", "train")
            else set()
        )
        for name in leafwise.games():
            assert not own & set(leafwise.game(name).defaults), (command, name)


def test_level_is_the_game_s_own_where_it_has_one(shell: Shell) -> None:
    out = shell("play friday --level 4 --leaf pirates", typed="q\n").out
    assert "left the game at" in out
    assert out == shell("play friday --level=4 --leaf pirates", typed="q\n").out
    assert out != shell("play friday --level 1 --leaf pirates", typed="q\n").out
    assert "expected no --opponent and no --strength in friday" in shell("play friday --strength easy").refusal
    for word in ("--level", "--strength"):
        out = shell("play cassis", word, "medium", "--seat", "second", "--depth", "1", typed="q\n").out
        assert "against level:medium, the exact solver\nmedium: 15% of its moves at random; takes " in out
    assert "medium: 15% of its moves at random; takes " in " ".join(shell("play cassis --help").out.split())


@pytest.mark.long
def test_compiling_is_no_part_of_a_search_s_time(tmp_path: Path) -> None:
    """In a cache that is empty: a decision, and a chance stage, whose search is entered elsewhere."""
    for moves in ("SW", "SW 0,2"):
        asked = ["analyze", "trap", "--size", "3", "--leaf", "reach", "--depth", "1", "--json", "--moves", moves]
        told = subprocess.run(
            [sys.executable, "-m", "leafwise", *asked],
            env={**os.environ, "LEAFWISE_CACHE_DIR": str(tmp_path / moves)},
            check=True,
            capture_output=True,
            text=True,
        )
        assert json.loads(told.stdout)["seconds"] < 0.2


def test_positions_and_moves_are_read_as_people_type_them(shell: Shell, tmp_path: Path) -> None:
    asked = ("trilobite", "--depth", "1", "--leaf", "lines", "--json")
    expected = shell("analyze", *asked, ".../.o./xxo").json
    typed = [
        "- - -\n- O -\nX X O",
        "---/-o-/xxo",
        "[[0, 0, 0], [0, 2, 0], [1, 1, 2]]",
        "|   |   |   |\n|   | O |   |\n| X | X | O |",
    ]
    for text in typed:
        told = shell("analyze", *asked, text).json
        assert (told["player"], told["action_values"]) == (expected["player"], expected["action_values"]), text
    moves = shell("analyze", *asked, "--moves", "1322").json
    for words in (("a, c, b, b",), ("--moves", "A,C,B,B")):
        assert shell("analyze", *asked, *words).json["action_values"] == moves["action_values"]
    assert shell("analyze", *asked, "a, c, b, b").json["position"] == moves["position"]
    file = tmp_path / "positions.txt"
    file.write_text("[[0,0,0],[0,2,0],[1,1,2]]\n--- / -O- / XXO\n.../.o./xxo\n")
    for command in (("analyze", *asked, "--file", str(file)), ("solve", "trilobite", "--json", "--file", str(file))):
        lines = [json.loads(line) for line in shell(*command).out.splitlines()]
        assert len(lines) == 3
        assert lines[0]["action_values"] == lines[1]["action_values"] == lines[2]["action_values"]
    solved = shell("solve cassis --moves '0-1 2-3' --json").json["action_values"]
    assert shell("solve cassis --moves '(1, 0), (2, 3)' --json").json["action_values"] == solved
    assert "expected 3 rows of 3 cells" in shell("analyze", *asked, "[[0,1],[2,3]]").refusal
