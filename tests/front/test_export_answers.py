"""Answers of an exported page under node: tree searches, reviews and a companion as in Python."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from front.test_export import NEEDS_LINKER, NODE, positions

import leafwise
import leafwise.web
from leafwise.analysis import Analyst
from leafwise.envs.core.compile.wasm import ENVIRONMENT
from leafwise.envs.core.contract.stream import new_stream, uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.companion import Following
from leafwise.envs.core.play.gamefile import GameRecorder, read_games
from leafwise.models.leaves import named_leaf
from leafwise.review import ending_text, reviewed_moves
from leafwise.search import Result
from leafwise.search.mcts import Mcts
from leafwise.web.analysis import follow
from leafwise.web.export import LEAVES, TREE_MB
from leafwise.web.requests import FollowRequest
from leafwise.web.workers import JobContext

pytestmark = [NEEDS_LINKER, pytest.mark.long]
MOVES = {"trilobite": 42, "cassis": 15, "trap": 16, "threes": 16}
"""Moves of a game that is reviewed, at most."""


VARIANTS = [(name, options) for name in (*MOVES, "friday") for options in leafwise.game(name).ids.values()]
SIMULATED, SIMULATIONS = 40, 300
"""Decisions of a variant that are searched by so many simulations."""


def answers_to(folder: Path, *questions: tuple[str, dict[str, Any]]) -> list[Any]:
    """Sends each (path, body) to an exported page; returns a list of answers for each, or {"error": LINE}."""
    (build,) = [path.name for path in folder.iterdir() if len(path.name) == 16]
    request = json.dumps({"folder": str(folder), "build": build, "requests": questions})
    answers: list[Any] = json.loads(
        subprocess.check_output([NODE, Path(__file__).with_name("requests.mjs")], input=request, text=True)
    )
    return answers


def native(function: str, value: Any) -> Any:
    """Calls a function of this module in a process that computes as WebAssembly does; returns what it prints."""
    command = [sys.executable, "-c", f"from front.test_export_answers import {function}; {function}()"]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[1])}
    return json.loads(subprocess.check_output(command, input=json.dumps(value), env=environment, text=True))


def played(game: leafwise.Game, moves: int) -> str:
    """Returns a game of random moves, at most so many, as a file."""
    recorder, stream = GameRecorder(game.start()), new_stream(7)
    while not recorder.state.is_terminal and len(recorder.record().moves) < moves:
        recorder.settle(stream)
        names = recorder.state.legal_names
        recorder.play(names[int(uniform(stream) * len(names))])
    return str(recorder.record())


def simulated() -> None:
    """Prints what tree searches find, one after another with the random numbers of one seed."""
    name, options, texts = json.load(sys.stdin)
    game = leafwise.game(name, **options)
    evaluator = named_leaf(game, LEAVES.get(name, "best"))
    search, results = Mcts(game, evaluator, simulations=SIMULATIONS, memory_mb=TREE_MB, reuse=False), []
    for text in texts:
        result = search(game.parse(text))
        results.append([result.action, result.value, sorted(result.values.items()), sorted(result.visits.items())])
    print(json.dumps(results))


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_tree_search_is_that_of_python(
    folder: Path,
    name: str,
    options: dict[str, object],
    request: pytest.FixtureRequest,
) -> None:
    game, rng = leafwise.game(name, **options), np.random.default_rng(request.config.getoption("--campaign-seed"))
    decisions = [state for state in positions(game, 1000, rng) if not (state.is_terminal or state.is_chance)]
    states, (build,) = decisions[:SIMULATED], [path.name for path in folder.iterdir() if len(path.name) == 16]
    rows = [{"row": [str(word) for word in one.row.tolist()], "simulations": SIMULATIONS} for one in states]
    case = {"folder": str(folder), "build": build, "game": name, "options": options, "positions": rows, "damaged": []}
    alone = Path(__file__).with_name("alone.mjs")
    answers = json.loads(subprocess.check_output([NODE, alone], input=json.dumps(case), text=True))["answers"]
    expected = native("simulated", [name, options, [str(state) for state in states]])
    for one, (action, value, values, visits) in zip(answers, expected, strict=True):
        assert one["best"] == action
        assert [a for a, _ in one["values"]] == [a for a, _ in values]
        assert one["visits"] == [n for _, n in visits]
        np.testing.assert_allclose(one["value"], value, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([v for _, v in one["values"]], [v for _, v in values], rtol=1e-12, atol=1e-12)


def followed(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Returns requests that follow games of Threes: boards as people type them, names of steps, steps taken back."""
    threes = leafwise.game("threes")
    bodies: list[dict[str, Any]] = [{}]
    for number in range(6):
        state, stream = threes.new(number), new_stream(number)
        for _ in range(0 if number < 3 else 20):
            state = state.play(str(rng.choice(state.legal_names))).settle(stream)
        board, _, rest = str(state).partition(" deck=")
        bodies += [{"line": board}, {"line": f"{board} deck={rest}"}, {"line": board.partition(" next=")[0]}]
        following, text, moves = Following(threes, state), str(state), list[str]()
        while (at := following.state) and not at.is_terminal and len(moves) < 20:
            line = str(rng.choice([one.name for one in following.question.choices]))
            bodies.append({"text": text, "moves": moves, "line": line})
            following.enter(line)
            moves = [step.name for step in following.record.steps]
            bodies.append({"text": text, "moves": moves, "undo": True})
    over = "1 2 1 2/2 1 2 3/1 2 1 2/2 1 2 1 next=3"
    wrong: list[dict[str, Any]] = [
        {"moves": ["left"]},
        {"line": "1 2 3"},
        {"line": over.replace("1 2 3", "1 2 1")},
        {"text": text, "line": "north"},
    ]
    return bodies + wrong


def rounded(answer: Any) -> Any:
    """Returns JSON with its numbers to 12 decimals, without what pages draw and a terminal prints."""
    if isinstance(answer, dict):
        return {key: rounded(value) for key, value in answer.items() if key not in ("svg", "board")}
    if isinstance(answer, (list, tuple)):
        return [rounded(one) for one in answer]
    return round(answer, 12) if isinstance(answer, float) else answer


def test_threes_is_followed_as_python_follows_it(folder: Path, request: pytest.FixtureRequest) -> None:
    bodies = followed(np.random.default_rng(request.config.getoption("--campaign-seed")))
    replies = answers_to(folder, *[("api/follow", {"game": "threes", **body}) for body in bodies])
    context, refused = JobContext(lambda message: None), 0
    for body, answer in zip(bodies, replies, strict=True):
        try:
            expected = follow(FollowRequest(game="threes", **body), context)
        except UserError:
            assert answer["error"].startswith("expected "), body
            refused += 1
            continue
        (one,) = answer
        del one["told" if body.get("text") else "game"]  # what a step was is not told in words
        assert rounded(one) == rounded({name: expected[name] for name in one}), body
        assert {"question", "first", "moves", "state"} < set(one)
    assert refused >= 3


def test_the_page_s_exponential_is_that_of_python() -> None:
    xs = np.random.default_rng(5).uniform(-40, 40, 20_000).tolist()
    module = (Path(leafwise.web.__file__).parent / "static" / "alone" / "exp.js").as_uri()
    code = f"import {{ exp }} from {json.dumps(module)}; console.log(JSON.stringify({json.dumps(xs)}.map(exp)))"
    answers = json.loads(subprocess.check_output([NODE, "--input-type=module", "-"], input=code, text=True))
    expected = [math.exp(x) for x in xs]
    np.testing.assert_allclose(answers, expected, rtol=2.3e-16, atol=0)
    assert np.mean(np.array(answers) != expected) < 0.01


class AtDepths(Analyst):
    """Searches one position after another to these depths."""

    depths: Sequence[int]

    def __call__(self, state: leafwise.State, seconds: float | None = None) -> Result:
        depth, *self.depths = self.depths
        return leafwise.Search(state.game, self.search.evaluator, depth=depth)(state)


def review() -> None:
    """Prints the review of a game's file by searches of the depths that are given."""
    file, depths = json.load(sys.stdin)
    record = next(read_games(file))
    source = LEAVES.get(record.game.name, "best")
    analyst = AtDepths(leafwise.Search(record.game, named_leaf(record.game, source)), source)
    analyst.depths = depths
    moves = [
        {
            **one.as_json(),
            "worth": one.written(one.value),
            "best_worth": one.written(one.best_value),
            "cost": one.text(-one.cost) if one.cost else "",
            "blunder": one.is_blunder,
        }
        for one in reviewed_moves(record, analyst)
    ]
    print(json.dumps([ending_text(record), moves]))


@pytest.mark.parametrize("name", MOVES)
def test_a_review_is_that_of_python(folder: Path, name: str) -> None:
    game = leafwise.game("trilobite", board="7x6", k=4) if name == "trilobite" else leafwise.game(name)
    file = played(game, MOVES[name])
    (head, *moves), refused, endless = answers_to(
        folder,
        ("api/review", {"file": file, "seconds": 0.05}),
        ("api/review", {"file": file.replace("1. ", "2. ", 1)}),
        ("api/review", {"file": file, "seconds": 1000}),
    )
    ending, expected = native("review", [file, [one["depth"] for one in moves]])
    assert (head["moves"], head["ending"]) == (len(expected), ending)
    assert len(moves) >= 7
    for one, two in zip(moves, expected, strict=True):
        numbers = [key for key in two if isinstance(two[key], float) and key != "seconds"]
        np.testing.assert_allclose([one[key] for key in numbers], [two[key] for key in numbers], rtol=1e-12, atol=1e-12)
        words = set(two) - {*numbers, "seconds"}
        assert {key: one[key] for key in words} == {key: two[key] for key in words}
    assert "expected '1. MOVE'" in refused["error"]
    assert endless["error"].startswith("expected at most ")
