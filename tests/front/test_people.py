"""What people are shown: the best by default, numbers in their units, games as files, levels that hide no option."""

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

NO_UNIT = "  no unit: the network was measured with the usual rules, not with max_turns=20\n"


def test_analyze_uses_the_shipped_network_and_says_so(shell: Shell) -> None:
    command = "analyze trilobite --moves 22 --depth 1"
    answer, game = shell(command, "--json").json, leafwise.game("trilobite")
    result = leafwise.Search(game, leafwise.load("trilobite"), 1)(game.start().play("2").play("2"))
    assert (answer["leaf"], answer["position"], answer["player"]) == ("trilobite", str(result.state), 1)
    assert answer["action_values"] == result.action_values
    units = units_of(game, "best")
    assert units is not None
    assert answer["unit"] == units.name == "chance to win, a draw counting half"
    assert answer["value_in_unit"] == units(result.value)
    assert answer["action_values_in_unit"] == {name: units(value) for name, value in result.action_values.items()}
    shown = shell(command).out
    shows(
        shown,
        f"  {units.name}, and the difference from the best\n",
        f"{units.written(result.value)}        best",
        "leaf   trilobite, depth 1",
    )
    shows(shell(command, "--leaf", "lines").out, "  score of the leaf, and the difference from the best\n")
    assert shell(command, "--leaf", "lines", "--json").json["unit"] is None


def test_rules_that_no_network_was_measured_with_have_values_without_a_unit(shell: Shell, tmp_path: Path) -> None:
    command = "analyze trap --size 5 --max-turns 20 --depth 1"
    shown = shell(command).out
    shows(shown, "  score of the leaf, and the difference from the best\n", NO_UNIT)
    assert "  unit " not in shown
    assert "%" not in shown
    answer = shell(command, "--json").json
    assert (answer["unit"], answer["value_in_unit"], answer["action_values_in_unit"]) == (None, None, None)
    assert answer["no_unit"] == NO_UNIT.strip()
    usual = shell("analyze trap --size 5 --depth 1 --json").json
    assert usual["unit"] == "chance to win, a draw counting half"
    assert "no_unit" not in usual
    hints = "play trap --size 5 --max-turns 20 --opponent random --depth 1"
    shows(shell(hints, typed="h\nq\n").out, NO_UNIT, "score of the leaf")
    file = tmp_path / "game.txt"
    file.write_text('[Game "trap"]\n[Options {"size": 5, "max_turns": 20}]\n1. SW\n2. 0,0\n> 0,0\n')
    for words in ("", "--review"):
        shows(shell(f"analyze --game {file} --depth 1 {words}").out, NO_UNIT, "score of the leaf")


def test_moves_hold_what_chance_did_and_no_position_is_the_start(shell: Shell) -> None:
    command = "analyze trap --size 3 --depth 1 --leaf reach --moves"
    thrown = leafwise.game("trap", size=3).start().play("SW").play("0,2")
    assert shell(command, "SW 0,2 0,2", "--json").json["position"] == str(thrown.outcomes_by_name()["0,2"])
    chance = shell(command, "SW 0,2").out
    shows(chance, "chance acts next (landing); score of the leaf", " for player 1\n")
    assert "player 0" not in chance
    assert shell(command, "SW 0,2", "--json").json["player"] is None
    for words in ("", "--moves ''"):
        answer = shell(f"analyze trilobite --depth 1 --json {words}").json
        assert answer["position"] == str(leafwise.game("trilobite").start())


def test_positions_and_moves_are_read_as_people_type_them(shell: Shell, tmp_path: Path) -> None:
    game = leafwise.game("cassis")
    assert game.action("5-0") == game.action("05") == game.action("50") == game.action("0-5")
    lines = [f"analyze cassis --depth 1 --json --moves '{edge} 1-2'" for edge in ("0-5", "5-0", "05")]
    assert len({shell(line).out.partition('"nodes"')[0] for line in lines}) == 1
    with pytest.raises(ValueError, match=r"expected an action among 0-1, .* got '0-0'"):
        game.action("0-0")
    command, file = "analyze trilobite --depth 1 --leaf lines --json", tmp_path / "positions.txt"
    expected, moves = shell(command, ".../.o./xxo").json, shell(command, "--moves", "1322").json
    for text in TYPED:
        answer = shell(command, text).json
        assert (answer["player"], answer["action_values"]) == (expected["player"], expected["action_values"]), text
    for words in (("a, c, b, b",), ("--moves", "A,C,B,B")):
        answer = shell(command, *words).json
        assert (answer["action_values"], answer["position"]) == (moves["action_values"], moves["position"])
    file.write_text("[[0,0,0],[0,2,0],[1,1,2]]\n--- / -O- / XXO\n.../.o./xxo\n")
    for line in (command, "solve trilobite --json"):
        one, two, three = (answer["action_values"] for answer in shell(line, "--file", str(file)).jsons)
        assert one == two == three
    plain, typed = (shell("solve cassis --json --moves", edges).json for edges in ("0-1 2-3", "(1, 0), (2, 3)"))
    assert plain["action_values"] == typed["action_values"]


def test_a_game_is_saved_judged_and_drawn(shell: Shell, dice_game: None, tmp_path: Path) -> None:
    file, drawing = tmp_path / "game.txt", tmp_path / "game.gif"
    out = shell(f"play dice --opponent random --save {file} --seed 3", typed="left\nu\nright\nleft\nq\n").out
    record = leafwise.load_game(file)
    shows(out, f"saved to {file}", f"left the game at {record.states[-1]}")
    assert record.players == ("human", "random")
    assert next(step.name for step in record.moves if step.before.current_player == 0) == "right"
    answers = shell(f"analyze --game {file} --depth 1 --json").jsons
    assert [one["played"] for one in answers] == [step.name for step in record.moves]
    search = leafwise.Search(record.game, record.game.score(), 1)
    for one, step in zip(answers, record.moves, strict=True):
        values = search(step.before).action_values
        assert one["loss"] == pytest.approx(max(values.values()) - values[step.name])
    shows(shell(f"analyze --game {file} --depth 1").out, "player 1: mean loss ")
    frames = len(record.moves) + 1
    shows(shell(f"record --game {file} --out {drawing} --values --width 120").out, f"{frames} frames")
    with Image.open(drawing) as image:
        assert image.n_frames == frames  # type: ignore[attr-defined]
    file.write_text(file.read_text().replace("1. right", "1. up"))
    assert "line 5: dice: expected an action among" in shell(f"analyze --game {file}").refusal


def test_eval_arena_and_record_keep_games(shell: Shell, dice_game: None, tmp_path: Path) -> None:
    file = tmp_path / "games.txt"
    shell(f"eval dice greedy --opponent random --games 4 --save {file}")
    records = [load_game(file, number) for number in (1, 2, 3, 4)]
    assert [r.players for r in records] == 2 * [("greedy", "random"), ("random", "greedy")]
    assert [r.seed for r in records] == [1_000_000, 1_000_000, 1_000_001, 1_000_001]
    assert all(r.states[-1].is_terminal for r in records)
    out = f"--out {tmp_path}/game.gif --save {file} --overwrite"
    shell(f"record dice --seed 5 --player random --opponent greedy {out}")
    assert load_game(file).players == ("random", "greedy")
    shell(f"arena trilobite random greedy --games 2 --save {file} --overwrite")
    both = [load_game(file, number) for number in (1, 2)]
    assert {r.players for r in both} == {("random", "greedy"), ("greedy", "random")}
    assert both[0].start == both[1].start != both[0].game.start()


def test_no_option_of_a_command_hides_one_of_a_game() -> None:
    """`--level` of play is the one exception: it is spelt `--strength` where the game has a level of its own."""
    for command in {*command_names()} - {"ship", "train"}:
        options = {
            field.name for field in dataclasses.fields(importlib.import_module(f"leafwise.commands.{command}").Config)
        }
        for name in leafwise.games():
            assert not options & set(leafwise.game(name).defaults), (command, name)


def test_level_is_the_game_s_own_where_it_has_one(shell: Shell) -> None:
    out, like, other = (
        shell(f"play friday --level{level} --leaf pirates", typed="q\n").out for level in (" 4", "=4", " 1")
    )
    assert "left the game at" in out
    assert out == like != other
    assert "expected no --opponent and no --strength in friday" in shell("play friday --strength easy").refusal
    medium = "medium: 15% of its moves at random; takes "
    for word in ("--level", "--strength"):
        out = shell(f"play cassis {word} medium --seat second --depth 1", typed="q\n").out
        assert f"against level:medium, the exact solver\n{medium}" in out
    assert medium.replace(":", "", 1) in " ".join(shell("play cassis --help").out.split())


@pytest.mark.long
def test_compiling_is_no_part_of_a_search_s_time(tmp_path: Path) -> None:
    """In a cache that is empty: a decision, and a chance stage, whose search is entered elsewhere."""
    for moves in ("SW", "SW 0,2"):
        line = "-m leafwise analyze trap --size 3 --leaf reach --depth 1 --json --moves"
        environment = {**os.environ, "LEAFWISE_CACHE_DIR": str(tmp_path / moves)}
        output = subprocess.check_output([sys.executable, *line.split(), moves], env=environment, text=True)
        assert json.loads(output)["seconds"] < 0.2


TYPED = (
    "- - -\n- O -\nX X O", "---/-o-/xxo", "[[0, 0, 0], [0, 2, 0], [1, 1, 2]]", "|   |   |   |\n|   | O |   |\n| X | X | O |"
)  # fmt: skip
"""One board, as people write it."""
