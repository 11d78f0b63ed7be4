"""Options of methods that do not fit are refused in one line, with status 2, before anything is written."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from running.training import learn

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
        "--small decks": "expected small tables among deck, deck_empties",
        "--small hint": "expected --small without hint, or --valued afterstate",
        "--actors 0": "expected --actors of 1 to 64, got 0",
        "--target-depth 9": "expected --target-depth of 0 to 3, got 9",
        "--target fame": "fame",
        "--init-from nowhere": "expected a model file, found nothing",
        "--init-from threes-small --power 0.5": "expected --init-from with a model of",
        "--init-from threes-small --tuples 0123": "expected --init-from with a model of",
        "--total-stpes 5": "perhaps --total-steps",
        "--valued dealt": "expected --valued among entered, afterstate, got 'dealt'",
    },
    "ntuple-q --game threes": {
        "--actors 2": "ntuple-q: expected --actors 1, got 2",
        "--target-depth 0": "expected --target-depth of 1 to 3, got 0",
        "--exploration-fraction 2": "expected --exploration-fraction of 0 to 1, got 2.0",
    },
    "selfplay --game trilobite": {
        "--total-steps many": "expected INT for --total-steps, got 'many'",
        "--td-lambda 2": "expected --td-lambda of 0 to 1, got 2.0",
        "--game threes": "expected a method among ntuple-td, dqn, ppo, ntuple-q, got 'selfplay'",
        "--variant board=2x2": "expected board as 3x3 to 8x7",
        "--variant k": "expected --variant with options of trilobite like board=3x3, k=3, got 'k'",
        "--variant k=x": "expected INT for k in --variant, got 'x'",
        "--hidden 6": "multiples of 4",
        "--sees all": "expected sees among features, parity, observation, features+observation, got 'all'",
        "--even 2": "expected --even of 0 to 1, got 2.0",
        "--game cassis --exact-nodes 9": "expected a game whose solver can be given a limit of nodes, got 'cassis'",
    },
    "dqn --game trilobite": {
        "--gamma 2": "expected --gamma of 0 to 1, got 2.0",
        "--game chess": "expected a game among",
        "--head value --dueling": "expected --head max with --dueling, got value",
        "--head value --gamma 0.9": "expected --gamma 1 where searches give the targets, got 0.9",
        "--target-depth 1 --n-step 2": "expected --n-step 1 with --target-depth in --head max, got 2",
        "--sees features": "expected --sees features+observation with --head max",
        "--sees nothing": "expected --sees among",
        "--tau 2": "expected --tau of 0 to 1, got 2.0",
    },
    "ppo --game trilobite": {
        "--epochs 0": "expected --epochs of 1 to 1,000, got 0",
        "--opponent nobody": "expected opponent among random, greedy",
    },
}
"""The method and its game -> words, among them perhaps another game, and what is said."""


@pytest.mark.parametrize(
    ("front", "words", "message"), [(front, *case) for front, cases in REFUSED.items() for case in cases.items()]
)
def test_wrong_options_get_one_line_and_status_2(
    front: str,
    words: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    method, *usual = front.split()
    status: Any
    try:
        status = learn(method, [*(() if "--game" in words else usual), *shlex.split(words)])
    except SystemExit as exit:
        status = exit.code
    said = capsys.readouterr().err
    assert status == 2
    assert message in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())
