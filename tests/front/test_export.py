"""Pages without a server: an exported search answers as the search of Python does, and its texts are the game's."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import playwright
import pytest

import leafwise
from leafwise.commands.web import main
from leafwise.envs.core.compile.wasm import ENVIRONMENT
from leafwise.models.leaves import named_leaf

NODE = Path(playwright.__file__).parent / "driver" / "node"
DEPTH = 4
NEEDS_LINKER = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="needs ziglang, of the extra export"
)
VARIANTS = [{}, {"board": "5x5", "k": 4}, {"board": "7x6", "k": 4}]


def positions(game: leafwise.Game, n: int) -> list[leafwise.State]:
    """Returns positions from all stages of random games."""
    rng = np.random.default_rng(0)
    found: list[leafwise.State] = []
    while len(found) < 2 * n:
        found.append(game.new(0))
        while not found[-1].is_terminal:
            found.append(found[-1].play(int(rng.choice(found[-1].legal_actions))))
    return [found[k] for k in rng.choice(len(found), n, replace=False)]


def damaged(texts: list[str]) -> list[str]:
    """Returns texts of which a character is another one, is gone or stands twice."""
    rng, found = np.random.default_rng(1), []
    for text in texts:
        at, mark = int(rng.integers(len(text))), str(rng.choice([*".xo/#", "", text[0]]))
        found.append(text[:at] + mark + text[at + int(rng.integers(2)) :])
    return found


def searched() -> None:
    """Prints what searches of Python find, in a process that computes without special instructions, as WebAssembly does."""
    options, texts = json.load(sys.stdin)
    game = leafwise.game("trilobite", **options)
    search = leafwise.Search(game, named_leaf(game, "best"), depth=DEPTH)
    print(json.dumps([sorted(search(game.parse(text)).values.items()) for text in texts]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export."""
    found: Path = tmp_path_factory.mktemp("export") / "site"
    main(["--export", str(found), "--games", "trilobite"])
    return found


@NEEDS_LINKER
@pytest.mark.long
@pytest.mark.parametrize("variant", range(len(VARIANTS)))
def test_an_exported_search_answers_as_python_does(folder: Path, variant: int) -> None:
    game = leafwise.game("trilobite", **VARIANTS[variant])
    states, (build,) = positions(game, 1000), [path.name for path in folder.iterdir() if len(path.name) == 16]
    rows = [{"row": [str(word) for word in state.row.tolist()], "depth": DEPTH} for state in states]
    wrong = damaged([str(state) for state in states])
    asked = {"folder": str(folder), "build": build, "variant": variant, "positions": rows, "damaged": wrong}
    told = json.loads(
        subprocess.check_output([NODE, Path(__file__).with_name("alone.mjs")], input=json.dumps(asked), text=True)
    )
    assert told["digests"][0] == told["digests"][1]
    for state, answer, row in zip(states, told["answers"], rows, strict=True):
        assert (answer["text"], answer["parsed"]) == (str(state), row["row"])
        assert (answer["actions"], answer["returns"], answer["over"]) == (
            list(state.legal_actions),
            state.returns,
            state.is_terminal,
        )
    for text, found in zip(wrong, told["damaged"], strict=True):
        try:
            state = game.parse(text)
        except ValueError:
            assert found is None, text
        else:  # Python reads other shapes of a board too
            assert found == [str(word) for word in state.row.tolist()] or (found is None and str(state) != text), text
    going = [(state, answer) for state, answer in zip(states, told["answers"], strict=True) if not state.is_terminal]
    command = [sys.executable, "-c", "from front.test_export import searched; searched()"]
    given = json.dumps([VARIANTS[variant], [str(state) for state, _ in going]])
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(Path(__file__).parents[1])}
    native = json.loads(subprocess.check_output(command, input=given, env=environment, text=True))
    for (state, answer), values in zip(going, native, strict=True):
        assert [a for a, _ in answer["values"]] == [a for a, _ in values], state
        np.testing.assert_allclose([v for _, v in answer["values"]], [v for _, v in values], rtol=0, atol=1e-12)
        assert answer["value"] == max(value for _, value in answer["values"])


@pytest.mark.parametrize(
    ("games", "expected"),
    [
        (["--games", "friday"], r"expected a game for pages without a server among trilobite.*, got 'friday'"),
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


def test_games_belong_to_an_export() -> None:
    with pytest.raises(ValueError, match="expected --games with --export"):
        main(["--games", "trilobite"])
