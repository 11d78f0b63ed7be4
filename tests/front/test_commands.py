"""What each command prints, and that wrong input is one line and status 2."""

import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from front.console import Shell, shows
from PIL import Image

import leafwise
from games import dice
from leafwise.__main__ import command_names, summary
from leafwise.cli import split_options
from leafwise.commands import analyze, play
from leafwise.commands.eval import figures, lines
from leafwise.commands.train import with_variant
from leafwise.envs import registry
from leafwise.search.mcts import Mcts
from leafwise.search.players import SearchPlayer
from leafwise.training.evaluation.results import Evaluation

BOARD = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0"


def test_help_lists_every_command_with_one_line(shell: Shell) -> None:
    answer = shell("--help")
    assert answer.status == 0
    out = " ".join(answer.out.split())
    assert all(summary(name) and f" {name} {summary(name)}" in out for name in command_names())
    assert {"games", "warmup", "play", "analyze", "record", "eval", "bench", "train", "demo"} <= set(command_names())
    assert shell("--version").out == f"leafwise {leafwise.__version__}\n"


@pytest.mark.parametrize("name", command_names())
def test_every_command_has_help(shell: Shell, name: str) -> None:
    answer = shell(name, "--help")
    assert answer.status == 0
    assert f"\nusage: leafwise {name}" in f"\n{answer.out}"


def examples(name: str) -> list[str]:
    """Returns the command lines that a command's help shows."""
    module = importlib.import_module(f"leafwise.commands.{name}")
    docstring = module.USAGE if name in ("train", "ship") else module.Config.__doc__
    return re.findall(r"^ +leafwise (.+)$", docstring, re.MULTILINE)


ASKED = [line for name in command_names() if name not in ("web", "demo") for line in examples(name)]
SHORTER = {
    "bench": " --seconds 0.01", "train threes": " --evaluate-games 2 --run run", "train cassis": " --match-pairs 100 --run run",
}  # fmt: skip
"""What makes an example of a command shorter."""


@pytest.mark.long
@pytest.mark.parametrize("line", ASKED)
def test_examples_of_help_run(shell: Shell, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = line.split()[0]
    if name == "engine":
        command = [sys.executable, "-m", "leafwise", *line.split()]
        assert subprocess.run(command, input=b"", capture_output=True).returncode == 0
        return
    if name == "compare":
        for folder in line.split()[1:3]:
            assert (
                shell(f"train cassis --seeds 2 --run {folder} --match-pairs 100 --total-steps 2 --positions 200").status
                == 0
            )
    shorter = next((more for start, more in SHORTER.items() if line.startswith(start)), "")
    answer = shell(line + shorter, **{"typed": "q\n"} if name == "play" else {})
    assert (answer.status, answer.error.count("expected")) == (0, 0), answer


def test_help_shows_defaults_units_and_the_games_options(shell: Shell) -> None:
    text = " ".join(shell("analyze threes --help").out.split())
    tile = "--next the tile shown, 1, 2, 3 or + --deck 1s, 2s and 3s not yet drawn"
    search = "--options STR More of the search's options", "threads Number of threads that share the root actions"
    for part in ("--bonus-schedule iid when bonus tiles come", tile, "(default: 0.0)", "Seconds per position", *search):
        assert part in text


def widest(text: str) -> int:
    """Returns how wide text is."""
    return max(map(len, text.splitlines()))


HELPS = (
    "", *command_names(), "analyze threes", "eval friday", "play trap", "train trap", "train friday --method selfplay",
    "train starship --method ship-values", "models export", "models push",
)  # fmt: skip


@pytest.mark.parametrize("line", HELPS)
def test_help_fits_a_terminal_and_begins_with_what_it_does_and_what_matters(
    line: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = shell(f"{line} --help").out
    assert widest(out) <= 80
    description, at, rest = out.partition("\nusage: leafwise")
    assert (description.endswith("\n"), at != "") == (True, True)
    method = "--method" in line  # the help of the game has the examples
    assert line == "" or line.startswith("models ") or method or "\nExamples:\n  leafwise " in description
    titles = re.findall(r"^([A-Z].*):$", rest, re.MULTILINE)
    shown = [title for title in titles if title != "Arguments" and not title.startswith(("Methods", "Games, and"))]
    assert line in ("", "ship") or shown[0] in ("Most used", "Options"), titles
    assert "(default: )" not in out
    assert "(default: '')" not in out
    assert not re.findall(r"^  --\S+(?: [A-Z]+)?\n(?!    )", out, re.MULTILINE)  # an option without help


def test_help_shows_the_options_of_the_game_that_was_named_alone(shell: Shell) -> None:
    for line in ("train trilobite", "train trilobite --method dqn", "analyze trilobite"):
        out = shell(f"{line} --help").out
        shows(
            out,
            "Options of trilobite, with their defaults:\n  --board 3x3  columns x rows; 3 to 8 of each, at most 56 cells\n",
        )
        assert "--start-life" not in out


@pytest.mark.parametrize("line", ["games", "games Trap-v0", "games starship", "models", "models trap"])
def test_lists_fit_a_terminal(line: str, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert widest(shell(line).out) <= 80


def test_what_a_model_was_trained_by_can_be_pasted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, command = shell("models trap-size5").out.partition("  by       ")
    command = command.partition("\n  card")[0]
    (about,) = shell("models trap-size5 --json").jsons
    assert command.count(" \\\n") > 3
    assert shlex.join(shlex.split(command.replace(" \\\n", " "))) == about["command"]


def test_train_alone_lists_the_methods_that_fit_each_game(shell: Shell) -> None:
    answer = shell("train")
    assert answer.status == 2
    shows(" ".join(answer.out.split()), "threes ntuple-td, dqn, ppo, ntuple-q")


@pytest.mark.parametrize(
    "line", ["ev", "eval thr", "eval threes --opp", "eval threes --bonus-p", "eval threes gre", "models trap-size9"]
)
@pytest.mark.parametrize("name", ["bash", "fish"])
def test_a_shell_completes_commands_games_models_players_and_options(shell: Shell, name: str, line: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    typed, script = line.split(), shell(f"completion {name}").out
    words = {"ev": "eval", "thr": "threes", "--opp": "--opponent", "gre": "greedy"}
    query = f"COMP_WORDS=(leafwise {line}); COMP_CWORD={len(typed)}; _leafwise; echo ${{COMPREPLY[@]}}"
    query = query if name == "bash" else f"complete -C'leafwise {line}'"
    answer = subprocess.run([name, "-c", script + query], capture_output=True, encoding="utf-8", check=True)
    completions = [word for word in answer.stdout.split() if not Path(word).exists()]
    assert (completions, answer.stderr) == ([words.get(typed[-1], typed[-1])], "")


def test_completion_of_powershell_has_balanced_braces_and_statements_where_they_may_stand(shell: Shell) -> None:
    script = shell("completion powershell").out
    assert script.count("{") == script.count("}")
    assert not re.search(r"(?<!\$)\((switch|if)\b", script), "in an expression a statement is $(...)"
    shows(script, "'threes' { '--bonus-value --bonus-schedule --hint --top --entry --bonus-p' }")


WRONG = {
    "foo": "expected a command among",
    "completion tcsh": "expected a shell among bash, zsh, fish, powershell, got 'tcsh'",
    "analyze threes BOARD --deck 0,2,1 --next 5": "expected",
    "analyze threes BOARD --deck 4,4,9": "expected",
    "analyze threes BOARD --next 1 --depth -1": "expected",
    "analyze threes '1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1'": "expected a position to play, got a finished game",
    "play threes --seat second": "expected no --seat in threes, a single-player game, got 'second'",
    "play threes --seat third": "expected no --seat in threes, a single-player game, got 'third'",
    "games trhees": "expected a game among threes, or an id of one, got 'trhees'",
    "eval": "expected GAME and PLAYER, got nothing",
    "eval threes": "expected PLAYER, got nothing",
    "eval trhees random": "expected a game among threes, got 'trhees'",
    "eval threes foo": "expected a player like random",
    "eval threes greedy:foo": "expected a leaf among best, openness",
    "eval threes random --games x": "expected INT for --games, got 'x'",
    "eval threes random --games": "expected a value after --games, got nothing",
    "eval threes random --games 0": "expected 1 to 10,000,000 games, got 0",
    "eval threes random --seed -1": "expected a first seed of 0 to",
    "eval threes random --hint exat": "expected hint among plus, window3, colour, exact, got 'exat'",
    "eval threes random --gmaes 3": "expected an option among --games",
    "eval threes random --hint": "expected a value after --hint, got nothing",
    "eval threes random --bonus-p x": "expected FLOAT for --bonus-p, got 'x'",
    "eval threes random --plies 1": "expected no plies in 'threes', a single-player game, got 1",
    "eval trilobite minimax --plies 1001": "expected openings of 0 to 1000 plies, got 1001",
    "eval threes random more": "expected known arguments, got 'more'",
    "compare runs/a --judged 0": "expected known arguments, got '--judged 0'",
    "analyze threes 1/2": "expected 4 rows separated by '/', got 2",
    "analyze trilobite --file -": "expected positions in '-', got none",
    "analyze trilobite '[[0,1],[2,3]]'": "expected 3 rows of 3 cells",
    "analyze threes --file /no/such/file": "cannot use '/no/such/file'",
    "analyze threes x --file y": "expected one of a position (or --moves), --file and --game, got several",
    "analyze --game": "expected a value after --game, got nothing",
    "analyze --game /no/such/file": "cannot use '/no/such/file'",
    "analyze cassis --moves 0-1,0-6": "expected an action among 0-1, 0-2,",
    "analyze trap --moves N --moves S,S": "got 'S' as move 2 of 'S,S'",
    "play trap --level silly": "expected level among easy, medium, hard, best, got 'silly'",
    "play trap --level easy --opponent best": "expected --strength or --opponent, got 'easy' and 'best'",
    "play trap --save /no/such/folder/game.txt": "expected a file in a writable folder for --save",
    "eval threes random --save /no/such/folder/x": "expected a file in a writable folder for --save",
    "eval friday fridai:states=9,info=clairvoyant --save x": "expected a fair player to keep its games",
    "analyze threes --simulations 9 --depth 2": "expected --simulations without --depth and --game, got both",
    "analyze threes --simulations -9": "expected --simulations of at least 0, got -9",
    "analyze cassis --simulations 9 --options width=2": "expected options among simulations, seconds,",
    "analyze threes --options thread=2": "expected options among depth, seconds, pruning, table_mb, star2,",
    "analyze threes --options threads=two": "expected a whole number for threads, got 'two'",
    "analyze threes --options threads=0": "expected threads of 1 to 256, got 0",
    "analyze threes --options batched=yes": "expected 0 or 1 for batched, got 'yes'",
    "analyze threes --options batched=1,pruning=1": "expected batched without pruning, table_mb, width, more threads and rare",
    "analyze threes --options depth=2": "expected depth as --depth, got it in --options",
    "analyze threes --leaf rollout:n=none": "expected a whole number for n, got 'none'",
    "analyze threes --leaf rollout:20": "expected options among n, policy, seed, got '20'",
    "analyze threes --leaf foo": "expected a leaf among",
    "analyze threes --next 1": "expected a position with --next, got none",
    "analyze threes --next 1 --deck 4,4,4": "expected a position with --next and --deck, got none",
    "analyze trap x --next 1": "expected an option among --moves, --leaf",
    "play threes --seed -1": "expected --seed of 0 to",
    "play threes --position 1/2": "expected 4 rows",
    "play threes --leaf foo": "expected a leaf among",
    "play threes --seconds -1": "expected --seconds of 0 to",
    "record threes --out game.png": "expected a file name that ends with .gif",
    "record threes --out /no/such/game.gif": "expected a file in a writable folder",
    "record threes --number 3": "expected --game with --number, got --number 3 alone",
    "record threes --width 3": "expected --width of 32 to 2,000, got 3",
    "engine nosuch": "expected a player that begins with random, best, greedy,",
    "bench threes foo": "expected a part among start, envs, search, models, training, got 'foo'",
    "bench threes --seconds 0": "expected --seconds above 0",
    "train foo": "expected a game among threes, got 'foo'",
    "train threes --method foo": "expected a method among ntuple-td, ",
    "train threes --metod x": "expected known arguments, got '--metod x'; perhaps --method",
    "train threes --hnt=plus": "expected known arguments, got '--hnt=plus'; perhaps --hint",
    "train threes --method": "expected a value after --method, got nothing",
    "train threes --bonus-p x": "expected FLOAT for --bonus-p, got 'x'",
    "train threes --hint exat": "expected hint among plus, window3, colour, exact, got 'exat'",
    "train friday --variant=level=2 --level 3": "expected --level or level in --variant, got both",
    "train friday --variant=level=9 --method selfplay": "expected level among 1, 2, 3, 4, got 9",
    "games --module": "expected a file, package or module after --module, got nothing",
    "games --module nothing.py": "expected a Python file, a folder with __init__.py or a module's name, got 'nothing.py'",
    "train threes --total-steps x": "expected INT for --total-steps, got 'x'",
    "warmup foo": "expected a game among threes, got 'foo'",
    "arena threes random greedy": "expected a two-player game, got 'threes'",
    "arena trilobite random": "expected at least two players, all different, got random",
    "arena trilobite random nobody": "expected a player like random",
    "arena trilobite random greedy --games 3": "expected an even number of games",
    "arena trilobite random greedy --games x": "expected INT for --games",
    "arena trilobite random greedy --resume": "expected --resume with the file of --json, got none",
    "arena trilobite random greedy --seconds 0": "seconds above 0",
    "arena trilobite random search:nowhere": "expected a leaf among best, lines, learned, ",
    "solve threes": "expected a game with an exact solver, got 'threes'",
    "solve trilobite --moves 14": "expected an action among 1, 2, 3, got '4' as move 2 of '14'",
    "solve trilobite --moves 1111": "expected a legal action (2, 3), got '1' as move 4 of '1111'",
    "solve trilobite --moves '11223 1'": "expected no action in a finished game, got '1' as move 6",
    "solve trilobite --moves 1 --file x": "expected --moves or --file, got both",
    "solve trilobite --moves '' --table-mb 1": "expected a table of at least 4 MB, got 1",
    "solve cassis --moves '' --table-mb 1e9": "expected table_mb above 0 and at most 65,536 MB, got 1000000000.0",
    "solve trilobite --moves '' --table-mb inf": "expected table_mb above 0 and at most 65,536 MB, got inf",
    "solve trap --moves '' --table-mb nan": "expected table_mb above 0 and at most 65,536 MB, got nan",
    "solve trap --size 3 --moves 'SE 0,0'": "trap: expected what chance does next, landing (0,0, ",
    "solve trap --size 3 --moves 'SE 0,0 5,5'": "expected what chance did, landing (0,0, ",
    "solve trap --size 3 --moves '.1./.../.2. turn=0 throw=0,0'": "expected what chance does next, landing (0,0",
    "solve trilobite --file 'no such file'": "cannot use 'no such file': No such file or directory",
    "solve cassis --moves '0-1 1-0'": "expected a legal action (0-2, 0-3, ",
    "solve cassis --n 9": "expected n of 3 to 8, got 9",
    "bench start --compare HEAD": "expected a game with --compare, got start",
    "bench compile --compare HEAD": "expected a game with --compare, got compile",
    "bench threes start --compare HEAD": "a part among envs, search, models, training, warmup with --compare, got 'start'",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_one_line_and_status_2(shell: Shell, line: str) -> None:
    expected = WRONG[line].replace("among threes,", f"among {', '.join(leafwise.games())},")
    assert expected in shell(line.replace("BOARD", f"'{BOARD}'")).refusal


RACE = "analyze dice '1,0 0,2 turn=2 steps=1,0' "


@pytest.mark.parametrize("options", ["batched=1", "threads=2", "pruning=1,table_mb=1"])
def test_options_of_the_search_change_no_value(shell: Shell, dice_game: None, options: str) -> None:
    plain, other = (shell(f"{RACE} --json --options {given}").json for given in ("pruning=0", options))
    assert other["action_values"] == pytest.approx(plain["action_values"], rel=1e-12)
    assert (other["line"], other["depth"], other["best_actions"]) == (plain["line"], 3, plain["best_actions"])
    assert plain["leaves"] > plain["nodes"] > 10
    shown = shell(f"{RACE} --options {options}").out
    for word in (" ".join(plain["line"]), "leaf   lead, depth 3", "decisions, ", " leaves, ", *plain["action_values"]):
        assert word in shown


def test_a_rollout_is_a_leaf_and_a_player_and_simulations_begin_with_a_decision(shell: Shell, dice_game: None) -> None:
    values = shell(f"{RACE} --leaf rollout:n=3 --json").json["action_values"].values()
    assert all(abs(value) <= 1 for value in values)
    result = shell("eval dice rollout:n=3 --opponent random --games 4 --json").json
    assert (result["player"], result["games"]) == ("rollout:n=3", 4)
    refused = shell("analyze dice '0,0 0,0 turn=0 steps=0,0 roll=left' --simulations 9").refusal
    assert "expected a decision for --simulations, got a chance stage" in refused


def test_analyze_agrees_with_the_python_door_and_shows_every_action_best_first(shell: Shell) -> None:
    command = f"analyze threes '{BOARD}' --next 1 --deck 0,2,1 --leaf openness --depth 2"
    answer, threes = shell(command, "--json").json, leafwise.game("threes")
    result = leafwise.Search(threes, threes.score(), 2)(threes.parse(f"{BOARD} next=1 deck=0,2,1"))
    expected = {"action_values": result.action_values, "value": result.value, "best_actions": [result.name], "depth": 2}
    expected |= {"line": list(result.line), "nodes": result.nodes, "leaves": result.leaves}
    assert {name: answer[name] for name in expected} == expected
    assert 0 < answer["seconds"] < 60
    lines = shell(command).out.splitlines()
    assert "  score of the leaf, and the difference from the best" in lines
    named = [line.split() for line in lines if line.split()[:1] and line.split()[0] in threes.actions]
    assert [words[0] for words in named] == ["right", "left", "up", "down"]
    assert "best" in named[0]


def test_analyze_by_simulations_agrees_with_the_python_door(shell: Shell) -> None:
    command = f"analyze threes '{BOARD}' --next 1 --deck 0,2,1 --leaf openness --simulations 300 --options gumbel=0"
    answer, threes = shell(command, "--json").json, leafwise.game("threes")
    result = Mcts(threes, threes.score(), simulations=300)(threes.parse(f"{BOARD} next=1 deck=0,2,1"))
    expected = {"action_values": result.action_values, "simulations": result.action_visits, "line": list(result.line)}
    assert {name: answer[name] for name in expected} == expected
    assert sum(result.action_visits.values()) == 300
    shown = shell(command).out.splitlines()
    assert "  score of the leaf, and the difference from the best, simulations" in shown
    best = next(
        line for line in shown if line.startswith("  ") and " best " in line and "," not in line.split("best")[0]
    ).split()
    assert (best[0], best[-1]) == (result.name, str(max(result.visits.values())))


def test_analyze_says_what_simulations_prove(shell: Shell) -> None:
    command = "analyze trilobite ..x/..o/oxx --leaf lines --simulations"
    proven = shell(command, "100", "--json").json
    assert (proven["proven"], proven["value"], proven["best_actions"]) == (True, 1.0, ["1"])
    assert "  proven the value is exact" in shell(command, "100").out
    assert shell(command, "1", "--json").json["proven"] is False


def test_analyze_reads_many_positions(shell: Shell, tmp_path: Path) -> None:
    lines, command = f"{BOARD} next=1\n\n{BOARD} next=2\n", "analyze threes --leaf openness --depth 1"
    (tmp_path / "positions.txt").write_text(lines)
    from_file, from_input = (
        shell(command, "--file", f"{tmp_path}/positions.txt").jsons,
        shell(command, typed=lines).jsons,
    )
    assert [one["position"] for one in from_file] == [f"{BOARD} next=1", f"{BOARD} next=2"]
    assert [one["action_values"] for one in from_input] == [one["action_values"] for one in from_file]
    wrong = shell(command, typed="foo\n")
    assert (wrong.status, wrong.error.startswith("error: line 1: threes: expected 4 rows")) == (2, True)


def test_games_describes_each_game(shell: Shell) -> None:
    about = {fields["name"]: fields for fields in shell("games --json").jsons}
    assert list(about) == list(leafwise.games())
    assert about["threes"]["actions"] == ["up", "down", "left", "right"]
    assert about["threes"]["default_score"] == "openness"
    assert "openness (default)" in shell("games threes").out
    best = {name: fields["best"] for name, fields in about.items()}
    assert best["friday"] == "search:learned,depth=2,nodes=20000"
    assert (best["trap"], best["threes"]) == ("turns:learned", "mcts:learned,simulations=500")
    listed, meant = (leafwise.player(text, "cassis") for text in (best["cassis"], "best"))
    assert isinstance(listed, SearchPlayer)
    assert isinstance(meant, SearchPlayer)
    assert listed.search.evaluator.name == meant.search.evaluator.name == "cassis"
    assert listed.search.depth == meant.search.depth


def test_eval_prints_figures_and_reached_tiles(shell: Shell) -> None:
    command = "eval threes greedy --games 12 --hint exact"
    answer = shell(command, "--json").json
    assert (answer["games"], answer["first_seed"], answer["options"]) == (12, 1_000_000, {"hint": "exact"})
    assert answer["low"] <= answer["ci_low"] <= answer["mean"] <= answer["ci_high"] <= answer["high"]
    shares = list(answer["reached"].values())
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    again = shell(command).out
    shows(again, f"{answer['mean']:,.0f}", "95 % interval", "\n          mean final score\n")


def test_eval_against_an_opponent(shell: Shell, dice_game: None) -> None:
    answer = shell("eval dice greedy --opponent random --games 40 --json").json
    assert answer["wins"] + answer["draws"] + answer["losses"] == 40
    assert answer["mean"] == pytest.approx((answer["wins"] - answer["losses"]) / 40)
    assert answer["mean"] > 0
    assert "won" in shell("eval dice greedy --opponent random --games 4").out
    assert "expected an even number of games" in shell("eval dice greedy --games 3").refusal
    assert "expected a player like" in shell("eval dice greedy --opponent x").refusal


def test_eval_says_what_games_begin_with(shell: Shell) -> None:
    command = "eval trilobite minimax --opponent solver --games 80 --plies"
    result = shell(command, "1", "--json").json
    assert [result[name] for name in ("games", "asked", "plies", "openings")] == [4, 80, 1, 2]
    assert result["ci_low"] < result["ci_high"]
    begin = (
        "  begin   after 1 random plies, 2 different openings; only 4 of the 80 requested games differ, since neither"
    )
    assert f"{begin} player draws at random\n" in shell(command, "1").out
    assert "  begin   at the start\n" in shell("eval trilobite minimax --opponent random --games 4 --plies 0").out
    assert "expected openings that leave something to play, got 9 plies" in shell(command, "9").refusal


def test_eval_of_scores_that_are_alike_has_no_interval() -> None:
    alike = Evaluation("p", 1, np.full(3, 7.0), np.zeros(3, dtype=np.int64), 30, 0.1, return_range=(0.0, 100.0))
    result = figures(dice.GAME, alike)
    assert (result["ci_low"], result["ci_high"]) == (None, None)
    assert "  mean    7.000   no interval: all scores are equal" in lines(result)


def test_record_writes_a_small_animation(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "game.gif"
    assert shell("record threes --player random --moves 5 --width 120 --out", str(out)).status == 0
    with Image.open(out) as image:
        assert (image.width, getattr(image, "n_frames", 1)) == (120, 6)
    assert out.stat().st_size < 60_000
    assert [path.name for path in tmp_path.iterdir()] == ["game.gif"]


WRITING = (
    "record trilobite --player random --opponent random --out",
    "record trilobite --player random --opponent random --out {new}.gif --save",
    "eval trilobite random --opponent random --games 2 --save",
    "arena trilobite random greedy --games 2 --save",
    "play trilobite --opponent random --save",
    "analyze --game {game} --depth 1 --leaf lines --review --svg",
    "ship gen --preset scout --json",
    "ship gen --preset scout --save-config",
    "ship gallery --preset scout --seeds 0:1 --png",
)


@pytest.mark.parametrize("line", WRITING)
def test_a_file_is_overwritten_on_request_alone(line: str, shell: Shell, tmp_path: Path) -> None:
    game, file = tmp_path / "one.txt", tmp_path / "kept.gif"
    game.write_text('[Game "trilobite"]\n1. 1\n2. 2\n3. 1\n4. 2\n5. 1\n')
    line = line.format(new=tmp_path / "new", game=game)
    file.write_text("kept")
    error = shell(line, str(file), typed="q\n").refusal
    assert f"expected a new file for {line.split()[-1]}, or --overwrite, got {str(file)!r}, which exists" in error
    assert file.read_text() == "kept"
    assert shell(line, str(file), "--overwrite", typed="q\n").status == 0
    assert file.read_bytes() != b"kept"


ONE_FILE = {
    "record trilobite --player random --opponent random --out {file} --save": "--out and --save",
    "eval trilobite random --games 2 --file {file} --save": "--file and --save",
    "arena trilobite random greedy --games 2 --json {file} --save": "--json and --save",
    "ship gen --preset scout --json {file} --svg": "--json and --svg",
}


@pytest.mark.parametrize("line", ONE_FILE)
def test_two_results_do_not_go_to_one_file(line: str, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "both.gif"
    error = shell(line.format(file=file), str(file)).refusal
    assert error == f"error: expected different files for {ONE_FILE[line]}, got {str(file)!r} for both"
    assert not file.exists()


def test_an_opponent_is_refused_in_a_game_for_one(shell: Shell) -> None:
    error = shell("eval threes random --games 1 --opponent nobody").refusal
    assert error == "error: expected no --opponent in threes, a single-player game"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--moves 0", "expected --moves of 1 to "),
        ("--games", "expected --games, one number for each depth, got none"),
        ("--games 0", "expected 1 to 10,000,000 games, got 0"),
        ("--processes 0", "expected --processes of at least 1, got 0"),
        ("--milliseconds nan", "expected --milliseconds above 0 and at most 1,000,000,000, got nan"),
        ("--timed-games -1", "expected --timed-games of at least 1, got -1"),
        ("--hand-made nobody", "threes: expected a leaf among "),
    ],
)
def test_the_demo_checks_its_options_before_it_trains(words: str, expected: str, shell: Shell, tmp_path: Path) -> None:
    answer = shell(f"demo --run {tmp_path / 'run'} {words}")
    assert answer.status == 2
    assert answer.error.startswith(f"error: {expected}")
    assert not (tmp_path / "run").exists()


THREE_IN_A_ROW = "rules: trilobite with board=7x6, k=3, a variant without an id (Trilobite7x6 is board=7x6, k=4)\n"


@pytest.mark.parametrize(
    "line",
    [
        "eval trilobite random --opponent random --games 2",
        "eval trilobite random --opponent random --games 2 --json",
        "arena trilobite random greedy --games 2",
        "play trilobite --opponent random",
        "analyze trilobite --moves 1 --leaf lines --depth 1",
        "record trilobite --player random --opponent random --moves 2 --out {out}",
    ],
)
def test_rules_that_no_id_stands_for_are_told(line: str, shell: Shell, tmp_path: Path) -> None:
    answer = shell(line.format(out=tmp_path / "game.gif"), "--board", "7x6", typed="q\n")
    assert (answer.status, answer.error) == (0, THREE_IN_A_ROW)
    assert shell(" ".join(line.split()[:2]), "nobody", "--x", "1", "--board", "7x6").refusal


def test_rules_of_an_id_need_no_words(shell: Shell) -> None:
    command = "eval trilobite random --opponent random --games 2"
    assert shell(command, "--board", "7x6", "--k", "4").error == shell(command).error == ""
    assert shell(command, "--board", "4x4").error == "rules: trilobite with board=4x4, k=3, a variant without an id\n"
    assert "expected a player like" in shell("eval trilobite nobody --board 4x4").refusal


def test_bench_prints_rates(shell: Shell) -> None:
    rates = shell("bench threes envs --seconds 0.01 --json").json
    sizes = ("single", "batch_1", "batch_64", "batch_1024", "batch_1024_next_step")
    assert rates.keys() == {f"envs/{name}" for name in sizes}
    assert min(rates.values()) > 0
    assert shell("bench threes models --hint exact --json").out == "{}\n"
    assert "envs/single" in shell("bench threes envs --seconds 0.01").out


@pytest.mark.long
def test_warmup_compiles_all_games_on_all_cores(shell: Shell) -> None:
    answer = shell("warmup --json").json
    assert {item.split()[0] for item in answer["items"]} == set(registry.games())
    assert {"threes batch", "threes search, rows", "threes n-tuple network, td"} <= answer["items"].keys()
    assert answer["seconds"] == pytest.approx(sum(answer["items"].values()))


def test_warmup_prints_seconds_by_item(shell: Shell, dice_game: None) -> None:
    answer = shell("warmup dice --json").json
    assert answer["seconds"] == pytest.approx(sum(answer["items"].values()))
    out = shell("warmup dice").out
    for item in ("search, lead", "depth-first search, lead", "batched search, lead", "search, rollout", "environment"):
        assert f" s  dice {item}\n" in out
    assert "in all; machine code is kept in" in out


def test_train_runs_a_method_and_eval_plays_its_model(shell: Shell, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    run = tmp_path / "run"
    options = f"--total-steps 2000 --interval 1000 --evaluate-every 1 --evaluate-games 4 --tuples 0145 --run {run}"
    answer = shell(f"train threes --method ntuple-td {options}")
    assert (answer.status, (run / "model.safetensors").exists()) == (0, True)
    shows(answer.out, f"run folder  {run}\nlearned     threes by ntuple-td: ", " in 4 games\nagainst     random ")
    evaluated, played, board = (line[12:] for line in answer.out.splitlines()[-3:])
    assert shell(evaluated.removeprefix("leafwise "), "--games", "2").status == 0
    assert shell(played.removeprefix("leafwise "), typed="h\nq\n").status == 0
    assert board == f"tensorboard --logdir {run}"
    assert shell(f"eval threes greedy:{run} --games 2 --json").json["games"] == 2
    assert "expected a new run folder" in shell(f"train threes {options}").error
    other = shell(f"train threes {options} --resume --method dqn").refusal
    assert other == "error: resume: expected --method ntuple-td as before, got dqn"


def test_options_of_a_game_its_variant_and_of_a_command() -> None:
    words = ["--variant=level=2", "--seed", "3", "--start-life=30", "--empty-aging", "lose"]
    variant = "level=2,empty_aging=lose,start_life=30"
    assert with_variant("friday", words) == ["--seed", "3", "--variant", variant]
    assert with_variant("friday", ["--seed", "3"]) == ["--seed", "3"]
    for fields, name in ((play.Config, "variant"), (analyze.Config, "game_file")):
        assert split_options(fields, ["mine", f"--{name.replace('_', '-')}", "2"]) == (["mine"], {name: "2"})


def test_the_program_ends_with_the_status(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leafwise", "eval", "threes", "foo"]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: expected a player")


# `leafwise arena`: tables for people, JSON, and wrong input in one line


def test_an_arena_tells_players_and_figures_in_tables_and_as_json(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    answer = shell("arena trilobite random greedy --games 4 --plies 2 --json", str(file))
    assert answer.status == 0
    lines = answer.out.splitlines()
    assert lines[0] == "trilobite: 4 of 4 games, 2 openings of 2 plies, seeds from 1000000"
    assert lines[1].split() == ["player", "games", "won", "drawn", "lost", "elo", "95", "%", "ms/move"]
    assert {line.split()[0] for line in lines[2:4]} == {"random", "greedy"}
    assert lines[4].startswith("  random - greedy: ")
    written = json.loads(file.read_text())
    assert (written["game"], written["plies"], written["complete"], len(written["played"])) == ("trilobite", 2, True, 4)
    assert (
        "expected a new file, or to resume"
        in shell("arena trilobite random greedy --games 4 --json", str(file)).refusal
    )
    words = ("--k", "4", "--board", "4x4", "--games", "2", "--json", "-")
    answer = shell("arena trilobite random greedy:lines", *words)
    figures = answer.json
    assert figures["options"] == {"board": "4x4", "k": 4}
    line = figures["standings"][0]
    expected = {"games", "mean", "ci_low", "ci_high", "elo", "elo_error", "wins", "draws", "losses", "seconds_per_move"}
    assert expected <= line.keys()
