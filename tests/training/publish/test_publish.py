"""One publisher for every kind of model: what fits a kind, what a card says, its commands, and the games that fit units."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games import dice, solitaire
from leafwise.envs.core.contract.game import Game
from leafwise.envs.registry import game as find_game
from leafwise.experiments.figures import figure
from leafwise.models.files import load_tensors, model_path, save_tensors
from leafwise.models.tensors import load_metadata
from leafwise.models.units import units_of_file
from leafwise.search import Search
from leafwise.training import publish
from leafwise.training.publish import starts, train_command, unit_of
from leafwise.training.publish.networks import GamesKind
from leafwise.training.publish.units import Config, valued_piece

CARDS = sorted(Path(model_path("threes")).parent.glob("*.md"))


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_cards_tell_the_commands_of_their_files_as_they_stood_and_one_of_today(card: Path) -> None:
    text, metadata = card.read_text(encoding="utf-8"), load_tensors(card.with_suffix(".safetensors"))[1]
    for begins, made in [("command of the run", metadata), *(("Its command", start) for start in starts(metadata))]:
        assert f"{begins}, as of commit {made['commit'][:8]}: `{made['command']}`\n" in text
    assert re.findall("^- present code: `(.*)`;", text, re.MULTILINE) == [train_command(metadata)]
    assert text.count("leafwise train ") == 1


@pytest.mark.parametrize(("method", "unit"), [("selfplay", "iterations"), ("dqn", "decisions")])
def test_steps_of_a_card_are_counted_in_the_unit_of_its_method(method: str, unit: str) -> None:
    assert unit_of({"command": f"leafwise train cassis --method {method}"}, GamesKind) == unit


HAND_MADE = {"cassis": "safe_edges", "trilobite": "lines"}
"""What old files do not tell: the hand-made leaf. Nor do they tell that their positions come after random actions."""
STUDENTS = {"threes": ("threes", "depth, learned {}"), "threes-small": ("threes-small", "depth {}")}
"""Files that tell intervals by bootstrap; the cards have Student's, of these sets of figures and keys."""


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.stem)
def test_the_figures_of_a_card_are_those_of_its_file(card: Path) -> None:
    text, metadata = card.read_text(encoding="utf-8"), load_metadata(card.with_suffix(".safetensors"))
    game = find_game(metadata["game"]).variant(**metadata["options"])
    metadata = {"hand_made": HAND_MADE.get(metadata["game"])} | metadata
    scores = [score and {"ahead": 0} | score for score in metadata["score"]]
    for score in scores if card.stem in STUDENTS else []:
        name, key = STUDENTS[card.stem]
        shown = figure(name, key.format(score["depth"]))
        assert (shown["games"], round(shown["mean"])) == (score["games"], round(score["mean"]))
        score |= {end: shown[end] for end in ("ci_low", "ci_high")}
    rows = [
        line for line in publish.kind_of(game, metadata).figures(metadata | {"score": scores}) if line.startswith("|")
    ]
    assert [line for line in text.splitlines() if line.startswith("|")] == rows
    assert rows or not any(metadata["score"])


@pytest.mark.parametrize(
    ("told", "command"),
    [
        (
            {"command": "python -m leafwise.training.selfplay --start td", "game": "cassis", "options": {"n": 7}},
            "leafwise train cassis --method selfplay --n 7",
        ),
        (
            {"command": "python -m leafwise.training.starship.values", "game": "starship", "options": {}},
            "leafwise train starship --method ship-values",
        ),
        (
            {"command": "of my own", "game": "trap", "options": {"max_turns": None}},
            "leafwise train trap --method dqn --max-turns none",
        ),
    ],
)
def test_a_card_names_the_method_of_its_command_or_the_default(told: dict[str, Any], command: str) -> None:
    assert train_command(told) == command


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "trilobite --solver-positions 20 --solver-opening-plies 1 7 --depths 1 --unit-games 200",
            "a right action in 20 critical positions",
        ),
        ("starshipplace --games 2 --unit-games 4", "| mean gain on the same hulls |"),
        ("trap --unit-games 0", "python -m leafwise.experiments.trap.turns"),
    ],
)
def test_a_model_is_published_with_its_card(told: str, expected: str, tmp_path: Path) -> None:
    words = ["--run", *told.split()]
    tensors, before = load_tensors(model_path(words[1]))
    save_tensors(tmp_path / "run/model.safetensors", tensors, before | {"score": {"games": 5, "mean": 0.5}})
    assert publish.main(["--run", str(tmp_path / "run"), *words[2:], "--out", str(tmp_path)]) == 0
    path = tmp_path / f"{words[1]}.safetensors"
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert expected in card
    written, meta = load_tensors(path)
    assert f"- command of the run, as of commit {before['commit'][:8]}: `{before['command']}`\n- " in card
    assert f"\n- present code: `{train_command(meta)}`;" in card
    assert (
        f"- command that published the file, as of commit {meta['published_at'][:8]}: `python -m leafwise.training.publish --out"
        in card
    )
    assert all((written[name] == tensor).all() for name, tensor in tensors.items())
    units = units_of_file(path)
    assert (units is None) == (words[1] == "trap")
    if units is not None:
        assert units.fitted["games"] == int(words[words.index("--unit-games") + 1])
        assert units.name in ("chance to win, a draw counting half", "expected quality")


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[str]]:
    """Words that name a local cluster, which is gone after these tests."""
    yield ["--processes", "2", "--cluster", "local"]
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.parametrize(
    "words",
    [
        "trilobite --solver-positions 20 --solver-opening-plies 1 7 --depths 1 2 --unit-games 300",
        "starshipplace --games 12 --unit-games 4",
        "friday --variants level=1 level=2 --games 120 --calibrate 60 --unit-games 0",
    ],
)
def test_a_publication_is_the_same_wherever_it_is_worked_on(words: str, cluster: list[str], tmp_path: Path) -> None:
    results = []
    for number, where in enumerate(([], ["--processes", "2"], cluster)):
        out = tmp_path / str(number)
        tensors, before = load_tensors(model_path(words.split()[0]))
        save_tensors(out / "run/model.safetensors", tensors, before | {"score": {"games": 5, "mean": 0.5}})
        assert publish.main(["--run", str(out / "run"), *words.split()[1:], "--out", str(out), *where]) == 0
        metadata = load_tensors(next(out.glob("*.safetensors")))[1]
        for score in metadata["score"]:
            score.pop("seconds_per_move", None)
        results.append((metadata["score"], metadata.get("units"), metadata.get("calibrated")))
    assert results[0] == results[1] == results[2]


def test_models_that_no_run_wrote_options_of_other_kinds_and_large_files_are_refused(tmp_path: Path, capsys) -> None:
    file, out = tmp_path / "own.safetensors", tmp_path / "out"
    tensors, metadata = load_tensors(model_path("threes-small"))
    save_tensors(file, tensors, {name: value for name, value in metadata.items() if name not in ("steps", "commit")})
    for words, message in (
        (str(file), "expected the metadata of a run, got no steps, commit\n"),
        ("trilobite --step 0.5", "expected options among --solver-positions, --solver-opening-plies"),
        ("threes-small --depths 1", "--loss-games, --first-seed for a model of threes, got --depths"),
        ("threes-small --first-seed 5", "expected --first-seed of at least 1000000, got 5"),
        ("starshipplace --games 1", "expected --games as one number of ships, at least 2, got (1,)"),
        ("nowhere", "expected a model file, found nothing"),
        ("trap --largest-mb 0.01", "expected a file of at most 0.01 MB, got"),
    ):
        assert publish.main(["--run", *words.split(), "--out", str(out)]) == 2
        output = capsys.readouterr().err
        assert message in output
        assert output.count("\n") == 1
    assert not list(out.glob("*"))


@pytest.mark.parametrize("game", [dice.GAME, solitaire.GAME], ids=repr)
def test_values_and_outcomes_belong_together(game: Game) -> None:
    score, config = game.score(), Config("", plies=2, every=1)
    played = valued_piece(game, score, config, range(30))
    assert len(played.values) == len(played.outcomes) == len(played.games) > 60
    assert played.games.tolist() == sorted(played.games.tolist())
    assert set(played.games.tolist()) == set(range(30))
    for number in range(30):
        of_game = played.outcomes[played.games == number]
        assert len(set(np.abs(of_game).tolist())) == 1  # one return, for either player
    low, high = game.return_range
    assert ((low <= played.outcomes) & (played.outcomes <= high)).all()
    assert np.corrcoef(played.values, played.outcomes)[0, 1] > 0.1
    again = valued_piece(game, score, config, range(10, 30))
    assert again.values.tolist() == played.values[played.games >= 10].tolist()  # a game is its seed's
    odd, even = played.share(odd=True), played.share(odd=False)
    assert len(odd.values) + len(even.values) == len(played.values)
    assert set(odd.games.tolist()) == set(range(1, 30, 2))
    thin = valued_piece(game, score, replace(config, every=3), range(30))
    assert len(thin.values) == pytest.approx(len(played.values) / 3, abs=3)


def test_a_limit_of_work_is_that_of_the_search() -> None:
    game, recorded = solitaire.GAME, []
    for nodes in (0, 4, 12, 40):
        played = valued_piece(game, game.score(), Config("", depth=2, nodes=nodes, every=1), range(1))
        result = Search(game, game.score(), 2, nodes=nodes)(game.new(950_000))
        assert played.values[0] == pytest.approx(result.value, abs=1e-12)
        assert not nodes or result.nodes <= nodes
        recorded.append(result.value)
    assert recorded[1] != recorded[0], recorded
