"""Pages without a server: an exported search answers as the search of Python does, and its texts are the game's."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import playwright
import pytest
from front.conftest import EXPORTED

import leafwise
from leafwise.commands.web import main
from leafwise.envs.core.compile.wasm import ENVIRONMENT
from leafwise.envs.friday.figures import figures
from leafwise.envs.starship.draw import hull_box
from leafwise.envs.starship.generator import Generator
from leafwise.models.leaves import named_leaf
from leafwise.web.app import STATIC
from leafwise.web.export import LEAVES, pages
from leafwise.web.ships import picture

NODE = Path(playwright.__file__).parent / "driver" / "node"
NEEDS_LINKER = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="needs ziglang, of the extra export"
)
DEPTHS = {"trilobite": 4, "cassis": 3, "trap": 2, "threes": 2, "friday": 2, "pig": 4, "dice": 3, "game2048": 2}
NODES = {"friday": 1000}
"""Decisions that each depth is searched with at most, where a game bounds a depth."""
SHOWN = re.compile(r"life |pirate |hazard (?!discard)|first:|second:|fight: total|next card|removal points|final score")
"""Lines of Friday's board that its page shows."""
VARIANTS = [
    (name, options) for name in DEPTHS for options in ([{}] if name in EXPORTED else leafwise.game(name).ids.values())
]
TEXTS, SEARCHED, LATE, PLIES = 2_000, 1_000, 100, 200
"""Positions of a variant, those of a game that are searched and how many of them are near its end, plies of random games; another
`--campaign-seed` draws other positions."""


def positions(game: leafwise.Game, n: int, rng: np.random.Generator) -> list[leafwise.State]:
    """Returns positions from all stages of random games, chance's and final ones too; the first are near the end."""
    states: list[leafwise.State] = []
    late: list[leafwise.State] = []
    while len(states) < 2 * n:
        state, begun = game.start(), len(states)
        while not state.is_terminal:
            states.append(state)
            if state.is_chance:
                ps, after = zip(*state.outcomes(), strict=True)
                state = after[int(rng.choice(len(ps), p=ps))]
            else:
                state = state.play(int(rng.choice(state.legal_actions)))
        late += states[begun:][-3:]
        states.append(state)
    return [*late[:LATE], *(states[k] for k in rng.choice(len(states), n - len(late[:LATE]), replace=False))]


def is_searched(state: leafwise.State) -> bool:
    """Whether the test searches a position; not the setup, whose cards have a hundred outcomes each."""
    return not state.is_terminal and state.stage != "setup"


def damaged(texts: list[str], rng: np.random.Generator) -> list[str]:
    """Returns the texts, each with one character changed, removed or doubled."""
    changed = []
    for text in texts:
        at, mark = int(rng.integers(len(text))), str(rng.choice([*".xo/#123 =,|+", "", text[0]]))
        changed.append(text[:at] + mark + text[at + int(rng.integers(2)) :])
    return changed


def searched() -> None:
    """Prints what searches of Python find, in a process that computes without special instructions, as WebAssembly does."""
    name, options, texts = json.load(sys.stdin)
    game = leafwise.game(name, **options)
    evaluator = named_leaf(game, LEAVES.get(name, "best"))
    search, results = leafwise.Search(game, evaluator, depth=DEPTHS[name], deepening=True, nodes=NODES.get(name, 0)), []
    for text in texts:
        result = search(game.parse(text))
        results.append([result.value, sorted(result.values.items())])
    print(json.dumps(results))


def assert_words_are_those_of(state: leafwise.State, answer: dict[str, Any]) -> None:
    """Checks the texts of a position: actions, outcomes, the lines beside the board, points."""
    outcomes = state.outcomes() if state.is_chance else []
    assert answer["words"] == [state.action_words(action) for action in state.legal_actions]
    assert answer["outcome_words"] == [state.outcome_words(after) for _, after in outcomes]
    assert answer["board"].split("\n") == [line for line in state.board().split("\n") if SHOWN.match(line)]
    assert answer["points"] == state.points


TALK = """
import { readFileSync } from "node:fs";
const { module, given, rows } = JSON.parse(readFileSync(0, "utf8"));
const { read, write, words, board, outcome, outcomeWords, points } = await import(module);
const texts = rows.map(({ row: words64, figures, actions, outcomes }) => {
  const row = words64.map(BigInt), text = write(row, given), after = outcomes.map((one) => [one.row.map(BigInt), one.figures]);
  return {
    text,
    parsed: read(text, given).map((one) => one.map(String)),
    words: actions.map((name) => words(row, name, given, figures)),
    outcomes: after.map(([one]) => outcome(row, one, given)),
    outcome_words: after.map(([one, others]) => outcomeWords(row, one, given, () => others)),
    board: board(row, given, figures),
    points: points(row, 0, figures),
  };
});
console.log(JSON.stringify(texts));
"""
"""Writes and reads positions of Friday, whose figures are given, without a module of its rules."""


def told_row(state: leafwise.State) -> dict[str, Any]:
    """Returns a position of Friday as `TALK` takes it."""
    return {
        "row": [str(word) for word in state.row.tolist()],
        "figures": figures(state.row, state.game.tables())._asdict(),
    }


@pytest.mark.parametrize("level", [1, 4])
def test_friday_is_told_as_in_python(level: int, request: pytest.FixtureRequest) -> None:
    game = leafwise.game("friday", level=level)
    states = positions(game, 200, np.random.default_rng(request.config.getoption("--campaign-seed")))
    rows: list[dict[str, Any]] = [
        told_row(state)
        | {"actions": state.legal_names}
        | {"outcomes": [told_row(after) for _, after in state.outcomes()] if state.is_chance else []}
        for state in states
    ]
    assert game.text.tables is not None
    given = {name: getattr(game.options, name) for name in game.defaults} | game.text.tables(game.tables())
    module = (STATIC / "alone/texts/friday.js").as_uri()
    question = json.dumps({"module": module, "given": given, "rows": rows})
    answers = json.loads(
        subprocess.check_output([str(NODE), "--input-type=module", "-e", TALK], input=question, text=True)
    )
    for state, row, answer in zip(states, rows, answers, strict=True):
        outcomes = state.outcomes() if state.is_chance else []
        assert (answer["text"], answer["parsed"]) == (str(state), [row["row"]])
        assert answer["outcomes"] == [state.outcome_name(after) for _, after in outcomes]
        assert_words_are_those_of(state, answer)


@NEEDS_LINKER
@pytest.mark.long
@pytest.mark.parametrize(("name", "options"), VARIANTS)
@pytest.mark.usefixtures("plug_ins")
def test_an_exported_search_answers_as_python_does(
    folder: Path, name: str, options: dict[str, object], request: pytest.FixtureRequest
) -> None:
    n = SEARCHED // sum(one == name for one, _ in VARIANTS)
    game, rng = leafwise.game(name, **options), np.random.default_rng(request.config.getoption("--campaign-seed"))
    states = positions(game, SEARCHED if name in EXPORTED else TEXTS, rng)
    (build,) = [path.name for path in folder.iterdir() if len(path.name) == 16]
    rows = [
        {
            "row": [str(word) for word in state.row.tolist()],
            "depth": DEPTHS[name] if k < n and is_searched(state) else 0,
            "nodes": NODES.get(name, 0),
        }
        for k, state in enumerate(states)
    ]
    wrong = [] if name in EXPORTED else damaged([str(state) for state in states[:1000]], rng)
    case = {"folder": str(folder), "build": build, "game": name, "options": options}
    output = json.loads(
        subprocess.check_output(
            [NODE, Path(__file__).with_name("alone.mjs")],
            input=json.dumps({**case, "positions": rows, "damaged": wrong, "plies": PLIES}),
            text=True,
        )
    )
    assert output["digests"][0] == output["digests"][1]
    for state, answer, row in zip(states, output["answers"], rows, strict=True):
        if name in EXPORTED:
            assert (answer["text"], answer["svg"]) == (" ".join(map(str, state.row.tolist())), state.svg())
        else:
            assert (answer["text"], answer["parsed"]) == (str(state), row["row"])
        assert (answer["actions"], answer["returns"], answer["over"]) == (
            list(state.legal_actions),
            state.returns,
            state.is_terminal,
        )
        outcomes = state.outcomes() if state.is_chance else []
        assert [(called, row) for called, _, row in answer["outcomes"]] == [
            (state.outcome_name(after), [str(word) for word in after.row.tolist()]) for _, after in outcomes
        ]
        np.testing.assert_allclose([p for _, p, _ in answer["outcomes"]], [p for p, _ in outcomes], rtol=0, atol=1e-12)
        if game.text.action_words is not None:
            assert_words_are_those_of(state, answer)
    state = game.start()
    for words, choices, k in output["walk"]:
        assert words == [str(word) for word in state.row.tolist()]
        if state.is_chance:
            outcomes = state.outcomes()
            assert choices == len(outcomes)
            state = outcomes[k][1]
        else:
            assert choices == list(state.legal_actions)
            state = game.start() if state.is_terminal else state.play(choices[k])
    for text, row_read in zip(wrong, output["damaged"], strict=True):
        try:
            state = game.parse(text)
        except ValueError:
            assert row_read is None, text
        else:  # Python reads other shapes of a board too
            assert row_read == [str(word) for word in state.row.tolist()] or (
                row_read is None and str(state) != text
            ), text
    answers = zip(states[:n], output["answers"], strict=False)
    going = [(state, answer) for state, answer in answers if is_searched(state)]
    command = [sys.executable, "-c", "from front.test_export import searched; searched()"]
    given = json.dumps([name, options, [str(state) for state, _ in going]])
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[1])}
    native = json.loads(subprocess.check_output(command, input=given, env=environment, text=True))
    for (state, answer), (value, values) in zip(going, native, strict=True):
        assert [a for a, _ in answer["values"]] == [a for a, _ in values], state
        np.testing.assert_allclose([v for _, v in answer["values"]], [v for _, v in values], rtol=0, atol=1e-12)
        np.testing.assert_allclose(answer["value"], value, rtol=0, atol=1e-12)


@NEEDS_LINKER
def test_a_gallery_shows_the_ships_of_seeds(tmp_path: Path) -> None:
    main(["--export", str(tmp_path), "--games", "starship"])
    (index,) = tmp_path.glob("*/index.json")
    content = json.loads(index.read_text())
    assert [one["game"] for one in content["games"]] == ["starship"]
    assert Counter(one["preset"] for one in content["ships"]) == {"scout": 67, "classic": 67, "cruiser": 66}
    assert len({one["file"] for one in content["ships"]}) == 200
    for one in content["ships"][::20]:
        ship = Generator(one["preset"]).ship(one["seed"])
        assert ship.valid
        assert one["quality"] == ship.stats["quality"]
        assert (tmp_path / "data" / one["file"]).read_text() == picture(ship, hull_box(ship, 2))


@pytest.mark.parametrize(
    ("games", "expected"),
    [
        (
            ["--games", "pig"],
            r"expected a game for pages without a server among cassis, .*trilobite.*, got 'pig'",
        ),
        ([], "holds something else"),
    ],
)
def test_what_cannot_be_exported_is_refused(tmp_path: Path, games: list[str], expected: str) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match=expected):
        main(["--export", str(tmp_path), *games])
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_without_a_linker_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ziglang" else find(name))
    kept = tmp_path / "site" / "data" / f"{'0' * 16}.gz"  # of an export that was ended
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(ValueError, match=r"expected ziglang .* pip install 'leafwise\[export\]'"):
        main(["--export", str(tmp_path / "site")])
    assert [*(tmp_path / "site").rglob("*")] == [kept.parent, kept]


def test_the_foot_has_one_mark_behind_the_titles(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for titles, foot in (
        (["Threes!, tiles"], "Threes! <a"),
        (["Threes!, tiles", "Friday, a deck"], "Threes!, Friday. <a"),
    ):
        index = {"games": [{"title": title} for title in titles], "variants": [], "ships": []}
        list(pages(tmp_path, index))
        assert f'<footer class="quiet">{foot} ' in (tmp_path / "index.html").read_text()


def test_games_belong_to_an_export() -> None:
    with pytest.raises(ValueError, match="expected --export with --games, got none"):
        main(["--games", "trilobite"])
