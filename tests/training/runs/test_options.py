"""Options of learners: files of options, runs that are repeated and lengthened, and what is refused in one line."""

import json
import shlex
import tomllib
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import leafwise
from leafwise.__main__ import run as run_leafwise
from leafwise.envs.core.commandline import flag_of
from leafwise.models.files import load_tensors
from leafwise.training.dqn import dqn
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ppo import ppo
from leafwise.training.runs import recipes
from leafwise.training.runs.folder import RunFolder
from leafwise.training.runs.recipes import method_of, methods, recipe, with_recipe
from leafwise.training.runs.run_options import described, parse_options, read_options, to_toml
from leafwise.training.selfplay import selfplay
from running.training import learn, refusal

TD: dict[str, Any] = {"game": "threes", "total_steps": 4000, "interval": 1000, "evaluate_games": 4, "tuples": "0145"}
SELFPLAY: dict[str, Any] = {
    "game": "trilobite", "total_steps": 1, "positions": 200, "buffer_size": 400, "batch_size": 64, "hidden": (8, 8),
    "match_pairs": 100, "solver_positions": 0,
}  # fmt: skip
DQN: dict[str, Any] = {
    "game": "trilobite", "total_steps": 2000, "envs": 50, "buffer_size": 1000, "batch_size": 32, "learning_starts": 500,
    "interval": 1000, "hidden": (8, 8), "match_pairs": 100, "solver_positions": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return td.train(td.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **TD))


def test_a_run_writes_its_options_and_they_repeat_it(run: Path, tmp_path: Path) -> None:
    written = tomllib.loads((run / "config.toml").read_text())
    assert (written["total_steps"], written["tuples"], written["coherence"], written["td_lambda"]) == (
        4000,
        "0145",
        False,
        0.5,
    )
    assert not {"run", "resume"} & written.keys()
    words = ["--config", str(run / "config.toml"), "--run", str(tmp_path / "again"), "--evaluate-games", "5"]
    assert learn("ntuple-td", words) == 0
    first, second = (load_tensors(path / "state.safetensors")[0] for path in (run, tmp_path / "again"))
    assert np.array_equal(first["table"], second["table"])
    assert tomllib.loads((tmp_path / "again" / "config.toml").read_text()) == {**written, "evaluate_games": 5}


def test_files_of_options_hold_every_kind_of_value(tmp_path: Path) -> None:
    config = selfplay.Config(**{**SELFPLAY, "variants": ('a "b"\\ é',), "guide": "", "rare": 1e-9, "resume": True})
    (tmp_path / "x.toml").write_text(to_toml(described(config)), encoding="utf-8")
    assert selfplay.Config(**read_options(tmp_path / "x.toml", selfplay.Config), resume=True) == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("total_steps = = 5", "expected options in TOML, got 'x.toml'"),
        ("x = " + "[" * 100_000, "expected options in TOML, got 'x.toml'"),
        ("\udcff", "expected options in TOML, got 'x.toml'"),
        ("game = 5", "'x.toml', game: expected str, got int"),
        ("total_stpes = 5", "expected options of leafwise.training.ntuple_td.ntuple_td in 'x.toml', got 'total_stpes'"),
        ('total_steps = "many"', "'x.toml', total_steps: expected int, got str"),
        ("run = 'runs/a'", "expected options of leafwise.training.ntuple_td.ntuple_td in 'x.toml', got 'run'"),
        ("learning_rate = 7", "expected --learning-rate of 1e-09 to 1, got 7.0 (with the options in 'x.toml')"),
        (None, "expected a file of options, got 'x.toml': No such file"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(text, message, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("x.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert message in refusal("ntuple-td", ["--game", "threes", "--config", "x.toml"], capsys)


def test_a_run_is_lengthened_and_never_shortened(tmp_path: Path, capsys) -> None:
    for method, module, learner, options, longer in (
        ("ntuple-td", td, td.NTupleTd, TD, 8000),
        ("selfplay", selfplay, selfplay.SelfPlay, SELFPLAY, 2),
        ("dqn", dqn, dqn.QLearner, DQN, 4000),
    ):
        path = tmp_path / module.__name__
        config = module.Config(run=str(path), **options)
        module.train(config)
        capsys.readouterr()
        words = ["--game", options["game"], "--run", str(path), "--resume", "--total-steps"]
        assert learn(method, [*words, str(longer)]) == 0
        message = capsys.readouterr().out
        assert f"the run is extended from {options['total_steps']:,} to {longer:,} {learner.unit}" in message
        assert json.loads((path / "results.json").read_text())["steps"] > 0
        assert tomllib.loads((path / "config.toml").read_text())["total_steps"] == longer
        resumed = learner(replace(config, total_steps=longer, resume=True))
        assert resumed.done >= longer
        resumed.folder.lock.release()
        message = refusal(method, [*words, str(options["total_steps"])], capsys)
        assert f"resume: expected --total-steps of at least {longer} as before" in message


def test_a_room_says_how_its_game_is_learned(tmp_path: Path, capsys, monkeypatch) -> None:
    assert recipe("friday", "value-td", None) == recipe("friday", "selfplay", None)
    assert recipe("friday", "selfplay", "level=2")["easy_variants"] == ["level=2,start_life=31"]
    assert "easy_variants" not in recipe("friday", "selfplay", "level=2,start_life=40")
    assert not {"extra_variants", "variant_shares"} & set(recipe("starship", "ship-values", "preset=scout"))
    assert recipe("threes", "ntuple-td", None) == {}
    for name in leafwise.envs.registry.games():
        for method in methods(name).values():
            method.options(game=name, **recipe(name, method.name, None))
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text("positions = 500\nbatch_size = 7\n")
    words = with_recipe("friday", "selfplay", ["--total-steps", "3", "--config", "x.toml"])
    assert words.count("--total-steps") == 1
    assert not {"--positions", "--batch-size"} & set(words)
    assert words[words.index("--variants") + 1 : words.index("--easy-variants")] == [
        "level=1",
        "level=2",
        "level=3",
        "level=4",
    ]
    assert run_leafwise(["train", "starship", "--batch-size", "0"]) == 2
    assert "expected --batch-size of 1 to 1,000,000, got 0" in capsys.readouterr().err
    for words, problem in (
        (
            ["train", "threes", "--method", "alphazero"],
            "expected a method that fits threes among ntuple-td, dqn, ppo, ntuple-q, value-td, selfplay, got 'alphazero'",
        ),
        (
            ["train", "threes", "--method", "td"],
            "error: expected ntuple-td, the new name of the method in Threes, got 'td'",
        ),
        (["train", "trap", "--method", "td"], "error: expected value-td, the new name of the method in Trap, got 'td'"),
        (
            ["train", "starship", "--method", "values"],
            "error: expected ship-values, the new name of the method in Starship, got 'values'",
        ),
    ):
        assert run_leafwise(words) == 2
        assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("game", "given"),
    [("friday", {}), ("friday", {"variant": "level=2", "total_steps": 3}), ("trilobite", {"total_steps": 2})],
)
def test_python_trains_with_the_options_of_the_command(game: str, given: dict[str, Any], monkeypatch) -> None:
    monkeypatch.setattr(selfplay, "train", lambda config: config)
    taken = leafwise.train(game, "selfplay", **given)
    words = [word for name, value in given.items() for word in (flag_of(name), str(value))]
    words = with_recipe(game, "selfplay", ["--game", game, *words])
    assert taken == parse_options(selfplay.Config, words, "it")[0]


def test_python_trains_a_game_in_its_variant(monkeypatch) -> None:
    monkeypatch.setattr(selfplay, "train", lambda config: config)
    connect_four = leafwise.game("trilobite", board="7x6", k=4)
    assert leafwise.train(connect_four, "selfplay") == leafwise.train("trilobite", "selfplay", variant="board=7x6,k=4")
    assert leafwise.train(leafwise.game("trilobite"), "selfplay") == leafwise.train("trilobite", "selfplay")
    with pytest.raises(ValueError, match=r"^expected a game or the option variant, got .* and variant='k=3'$"):
        leafwise.train(connect_four, "selfplay", variant="k=3")


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("nothing", {}, "expected a method among dqn, value-td, selfplay, alphazero, ppo, got 'nothing'"),
        ("selfplay", {"bord": 3}, r"expected an option of selfplay \(.*\), got 'bord'"),
        ("selfplay", {"positons": 3}, r"expected an option of selfplay \(.*\), got 'positons'; perhaps 'positions'"),
    ],
)
def test_python_is_told_what_there_is_not(method: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        leafwise.train("trilobite", method, **given)


def test_a_game_in_a_single_file_has_its_recipe_beside_it(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "mine.toml").write_text("[ntuple-td]\nrestart = 5\n")

    class Found:
        room = tmp_path / "mine.py"

    monkeypatch.setattr(recipes, "find_game", lambda name: Found)
    assert recipe("mine", "ntuple-td", None) == {"restart": 5}


def test_no_recipe_names_what_runs_code(monkeypatch) -> None:
    """A recipe is a file too, also where it comes with a game."""
    monkeypatch.setattr(recipes, "recipe", lambda name, method, variant: {"opponent": "course:./PlayerAI.py"})
    with pytest.raises(ValueError, match=r"^trap: expected a recipe that names nothing that runs code, got opponent "):
        with_recipe("trap", "ppo", ["--game", "trap"])
    options = ["--game", "trap", "--opponent", "course:mine/PlayerAI.py"]
    assert with_recipe("trap", "ppo", options) == options


def of_games() -> list[tuple[str, str]]:
    """Every method of the package with a game that it learns, those of a game's own too."""
    known = {method: game for game in ("starship", "threes", "trap") for method in methods(game)}
    return [("starship", "ppo"), *((game, method) for method, game in known.items())]


@pytest.mark.parametrize(("game", "method"), of_games())
def test_no_option_from_a_file_names_what_runs_code(game: str, method: str, tmp_path: Path, capsys) -> None:
    """Whichever option it is; the same words on the command line are the user's own."""
    types = get_type_hints(method_of(game, method).options)
    named = {name: kind for name, kind in types.items() if kind in (str, str | None, tuple[str, ...])}
    evil, words_of_run = 'search:s"b3":run/policy.zip,depth=1', ["--run", str(tmp_path), "--resume"]
    for name in named.keys() - {"game", "run", "variant", "cluster"}:
        value = ["random", evil] if named[name] == tuple[str, ...] else evil
        (tmp_path / "config.toml").write_text(to_toml({"game": game, name: value}))
        flag = "--" + name.replace("_", "-")
        for words in (words_of_run, ["--config", str(tmp_path / "config.toml")]):
            message = refusal(method, ["--game", game, *words], capsys)
            assert (
                f"expected {flag} on the command line, because it names code to run, got it from '{tmp_path}" in message
            )
            assert f"add {flag} {'random ' if isinstance(value, list) else ''}" in message


def test_what_runs_code_is_named_again_to_resume(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("PlayerAI.py").write_text("import pathlib\npathlib.Path('ran').touch()\nclass PlayerAI: pass\n")
    for opponent in ("course:PlayerAI.py", "course:.", "mcts:reach,prior=sb3:policy.zip", "greedy:sb3:policy.zip"):
        Path("config.toml").write_text(to_toml({"game": "trap", "opponent": opponent}))
        message = refusal("ppo", ["--game", "trap", "--run", ".", "--resume"], capsys)
        assert f"if you trust it, add --opponent {opponent}\n" in message
        assert not Path("ran").exists()
        assert learn("ppo", ["--game", "trap", "--run", ".", "--resume", f"--opponent={opponent}", "--envs=0"]) == 2
        assert "expected --envs of 1" in capsys.readouterr().err  # it came further
    Path("config.toml").write_text(to_toml({"game": "trap", "opponent": "course:is,depth=2", "envs": 0}))
    assert learn("ppo", ["--game", "trap", "--run", ".", "--resume"]) == 2
    assert "expected --envs of 1" in capsys.readouterr().err  # a program of the game's own runs no other code


def test_the_help_of_a_method_leaves_out_what_the_command_says_already(capsys) -> None:
    with pytest.raises(SystemExit):
        run_leafwise(["train", "trilobite", "--method", "dqn", "--help"])
    help_text = capsys.readouterr().out
    assert "--total-steps" in help_text
    assert "--game" not in help_text


REFUSED = {
    "ntuple-td --game threes": {
        "--total-steps many": "expected INT for --total-steps, got 'many'",
        "--learning-rate 7": "expected --learning-rate of 1e-09 to 1, got 7.0",
        "--game chess": "expected a game among",
        "--seed 950000": "expected --seed of 0 to 899,999, got 950000",
        "--tuples 012-": "expected tuples as words of cells",
        "--tuples 012g": "expected tuples of 1 to 7 different cells 0..15, got (0, 1, 2, 16)",
        "--splits 1537": "expected --splits among 1, 2, 3, 6",
        "--splits '3072 1536'": "expected --splits with cells ascending",
        "--small-tables decks": "expected small tables among deck, deck_empties",
        "--small-tables hint": "expected --small-tables without hint, or --value-stage afterstate",
        "--actors 0": "expected --actors of 1 to 64, got 0",
        "--target-depth 9": "expected --target-depth of 0 to 3, got 9",
        "--target fame": "fame",
        "--init-from nowhere": "expected a model file, found nothing",
        "--init-from threes-small --power 0.5": "expected --init-from with a model of",
        "--init-from threes-small --tuples 0123": "expected --init-from with a model of",
        "--total-stpes 5": "perhaps --total-steps",
        "--value-stage dealt": "expected --value-stage among entered, afterstate, got 'dealt'",
    },
    "ntuple-q --game threes": {
        "--actors 2": "ntuple-q: expected --actors 1, got 2",
        "--target-depth 0": "expected --target-depth of 1 to 3, got 0",
        "--exploration-fraction 2": "expected --exploration-fraction of 0 to 1, got 2.0",
    },
    "selfplay --game trilobite": {
        "--total-steps many": "expected INT for --total-steps, got 'many'",
        "--td-lambda 2": "expected --td-lambda of 0 to 1, got 2.0",
        "--variant board=2x2": "expected board as 3x3 to 8x7",
        "--variant k": "expected --variant with options of trilobite like board=3x3, k=3, got 'k'",
        "--variant k=x": "expected INT for k in --variant, got 'x'",
        "--hidden 6": "multiples of 4",
        "--sees all": "expected sees among features, parity, observation, features+observation, got 'all'",
        "--max-opening-value 2": "expected --max-opening-value of 0 to 1, got 2.0",
        "--game cassis --exact-nodes 9": "expected a game whose solver can be given a limit of nodes, got 'cassis'",
        "--head max": "expected --head value, or wdl in a two-player game, got 'max'",
        "--game friday --head wdl": "expected --head value, or wdl in a two-player game, got 'wdl'",
        "--match-from-start 0.5": "expected --match-from-start in a two-player game with chance, got 'trilobite'",
        "--staleness 1": "expected --job-size with --staleness, --processes or --cluster, got 0: the learner plays all games",
        "--game cassis --variant n=9": "expected n of 3 to 8, got 9",
    },
    "alphazero --game trilobite": {
        "--simulations 1": "expected --simulations of 2 to 1,000,000, got 1",
        "--job-size 0": "expected --job-size of 1 to 100,000,000, got 0",
        "--init-from trilobite7x6 --variant board=7x6,k=4": "expected --init-from with the head policy",
    },
    "dqn --game trilobite": {
        "--gamma 2": "expected --gamma of 0 to 1, got 2.0",
        "--game chess": "expected a game among",
        "--head value --dueling": "expected --head max with --dueling, got value",
        "--head value --gamma 0.9": "expected --gamma 1 with targets from searches, got 0.9",
        "--target-depth 1 --n-step 2": "expected --n-step 1 with --head max and --target-depth, got 2",
        "--sees features": "expected --sees features+observation with --head max",
        "--sees nothing": "expected --sees among",
        "--tau 2": "expected --tau of 0 to 1, got 2.0",
        "--processes 2": "expected --job-size with --staleness, --processes or --cluster, got 0: the learner plays all games",
    },
    "ppo --game trilobite": {
        "--epochs 0": "expected --epochs of 1 to 1,000, got 0",
        "--opponent nobody": "expected opponent among random, greedy",
        "--sees words": "expected sees among",
        "--sees features": "expected --sees features+observation",
        "--game friday --sees features": "expected --sees features+observation",
    },
}
"""The method and its game -> words, among them perhaps another game, and what is said."""


@pytest.mark.parametrize(
    ("front", "words", "message"), [(front, *case) for front, cases in REFUSED.items() for case in cases.items()]
)
def test_wrong_options_get_one_line_and_status_2(front, words, message, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    method, *usual = front.split()
    assert message in refusal(method, [*(() if "--game" in words else usual), *shlex.split(words)], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["ntuple-td", "ntuple-q"])
def test_methods_of_n_tuples_train_no_modules(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = refusal(method, ["--game", "threes", "--network", "conv"], capsys)
    assert message == f"error: expected no --network with {method}, which trains no torch modules, got 'conv'\n"


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        ("dqn", "--network mlp --dueling", "expected --dueling only with --network sparse, got True and 'mlp'"),
        ("ppo", "--network mlp --hidden 8 8", r"expected --hidden only with --network sparse, got (8, 8) and 'mlp'"),
        ("ppo", "--network mlp --sees pixels", "expected an observation among default, planes"),
        (
            "ppo",
            "--game trap --network mlp --sees reach",
            "--sees planes or observation for a torch module that learns by ppo",
        ),
        (
            "ppo",
            "--game friday --network mlp --sees features",
            "expected --sees onehot or observation to value actions",
        ),
        ("dqn", "--network conv --sees features", "symmetric positions share 'features'"),
        (
            "alphazero",
            "--network mlp --init-from x",
            "expected --init-from only with --network sparse, got 'x' and 'mlp'",
        ),
    ],
)
def test_options_of_sparse_networks_shape_no_modules(method: str, words: str, message: str, capsys: Any) -> None:
    game = () if "--game" in words else ("--game", "trilobite")
    assert message in refusal(method, [*game, *words.split()], capsys)


@pytest.mark.parametrize(("game", "method"), [("friday", "dqn"), ("trap", "dqn"), ("friday", "ppo")])
def test_a_recipe_leaves_options_of_sparse_networks_out_beside_a_module(game: str, method: str) -> None:
    options: Any = method_of(game, method).options
    for network, left in ((None, 0), ("mlp", 1)):
        words = [] if network is None else ["--network", network]
        added = with_recipe(game, method, words)[len(words) :]
        given = {name for name in recipe(game, method, None) if flag_of(name) in added}
        assert given
        assert bool(given & {"sees", *options.sparse_only}) != bool(left)


def test_a_run_of_an_older_version_goes_on_where_it_wrote_what_empty_means(tmp_path: Path) -> None:
    config = ppo.Config(game="trilobite", run=str(tmp_path))
    for sees, fits in (("observation", True), ("features", False)):
        (tmp_path / "config.toml").write_text(to_toml(described(replace(config, sees=sees))))
        with nullcontext() if fits else pytest.raises(ValueError, match="expected --sees features as before, got"):
            RunFolder(tmp_path, config, resume=True).lock.release()
