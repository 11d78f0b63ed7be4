"""`check_game`: its messages about sound and faulty games, about twins and dying processes, and how it finds a game's source."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import leafwise
from games import coins, planted, solitaire
from leafwise.envs.core.check import checking
from leafwise.envs.core.check.checking import INSIDE, Checked, ContractError, check_game, load
from leafwise.envs.core.check.rule_caller import arrays_of
from leafwise.envs.core.check.walk import CYCLES, SUSPICIOUS, ChanceVisit, Kinds, chi_square_score
from twins.solitaire import Twin

# The whole of `check_game`: three builds, a twin, and one clear line for what cannot be checked.


@pytest.mark.long
def test_a_sound_game_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    result = leafwise.check_game(coins.GAME, seconds=1, twin=coins.GAME, positions=["1 2 2 0"])
    assert result.positions > 30
    assert capsys.readouterr().out == f"{result}\n" == f"ok, {result.positions:,} positions\n"


class WrongTwin(Twin):
    """A solitaire in which a card that fits may not be discarded."""

    def legal(self, p: Any) -> list[str]:
        names = super().legal(p)
        return [name for name in names if name != "discard"] or names


def test_a_twin_that_says_otherwise() -> None:
    said = r"^solitaire: legal_actions: expected \[.*\] as the twin says, got \['discard', .*\], at 'deck="
    with pytest.raises(leafwise.ContractError, match=said):
        check_game(solitaire.GAME, seconds=1, twin=WrongTwin(solitaire.GAME.options))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seconds": 0}, "check_game: expected seconds of 0.1 to 1,000,000, got 0"),
        ({"seconds": float("nan")}, "check_game: expected seconds of 0.1 to 1,000,000, got nan"),
        ({"gigabytes": 0.1}, "check_game: expected gigabytes of 0.5 to 1,000,000, got 0.1"),
        ({"call_seconds": "1"}, "check_game: expected call_seconds of 0.1 to 1,000,000, got '1'"),
        ({"twin": 3}, "check_game: expected a twin, a Game or an object with read, got int"),
        (
            {"positions": ["none"]},
            "coins: parse: expected a position, got 'none': coins: expected four numbers, got 'none'",
        ),
    ],
)
def test_wrong_arguments_get_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace("(", r"\(")):
        check_game(coins.GAME, **wrong)
    with pytest.raises(ValueError, match=r"^check_game: expected a Game, as leafwise.game\(name\) returns, got '"):
        check_game("coins")  # type: ignore[arg-type]


def test_a_process_that_checks_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "1")
    assert check_game(planted.GAMES["descending"]) == Checked(0)


def test_a_contract_error_is_a_value_error() -> None:
    assert issubclass(leafwise.ContractError, ValueError)
    with pytest.raises(ValueError, match="holds under a name"):
        check_game(replace(coins.GAME, title="another"))


class Nested(NamedTuple):
    pair: Any
    leaf: Any


def test_every_array_of_the_tables_is_looked_at() -> None:
    first, second, third = (np.zeros(n) for n in (1, 2, 3))
    arrays = list(arrays_of(Nested((first, second), Nested(third, 4))))
    assert [path for path, _ in arrays] == ["pair", "pair", "leaf.pair"]
    assert [array.size for _, array in arrays] == [1, 2, 3]


# The statistic that compares draws with probabilities sees a small bias, and is seldom alarmed without one.


def test_a_small_bias_is_seen() -> None:
    assert abs(chi_square_score([500, 300, 200], [500.0, 300.0, 200.0])) < 6
    assert chi_square_score([1000, 1000], [1000.0, 1000.0]) < 0
    assert chi_square_score([1120, 880], [1000.0, 1000.0]) > 4


def test_a_sound_draw_is_seldom_suspected() -> None:
    rng = np.random.default_rng(1)
    for law in ([0.5, 0.5], [1 / 6] * 6, [0.9, 0.05, 0.03, 0.01, 0.01]):
        samples = rng.multinomial(2000, law, size=3000)
        scores = [chi_square_score(list(counts), [2000 * p for p in law]) for counts in samples]
        assert sum(score > SUSPICIOUS for score in scores) <= 6
        assert sum(score > 2.3 for score in scores) >= 3  # about one in a hundred


def test_the_rarest_kind_of_turn_comes_first() -> None:
    kinds = Kinds()
    row = np.zeros(1, dtype=np.uint64)
    for decisions in (*range(3), *range(3), 5):
        kinds.add(ChanceVisit(row, 1, 3, decisions % 2, decisions, decisions))
    kinds.add(ChanceVisit(row, 1, 1, 0, 7, 7))  # nothing to be counted
    decision_counts = [visit.decisions for visit in iter(kinds.next, None)]
    assert decision_counts[0] == 5
    assert sorted(decision_counts) == [0, 1, 2, 5]
    assert max(CYCLES) >= 8


# Games are found again wherever they were written: a file, a package, a script, a notebook; else one line says so.


RACE = """
import sys
from games.coins import make, returns
TITLES = []
TITLES.append("race")
SIZE = 3
SIZE += 0
def sized(size):
    return dict(max_actions=size)
if __name__ == "__main__":
    print("the guarded part")
print("the loose part")
"""
CHECKED = """
from games.coins import Game, TERMINAL, WIDTH, jit
from games import coins
@jit
def returns(S, i, T):
    return float(S[i, 0] + S[i, 1]) + 0 * SIZE
GAME = coins.Game(**{**{f: getattr(coins.GAME, f) for f in coins.GAME.__dataclass_fields__}, "module": __name__})
"""
CHECK = '''
import leafwise
print("before the check")
leafwise.check_game(GAME, seconds=0.2)
'''  # fmt: skip


def run(code: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate process without compilation."""
    path = folder / "script.py"
    path.write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments], env=environment, capture_output=True, text=True
    )


def test_a_script_is_not_run_again_but_for_what_its_game_needs(tmp_path: Path) -> None:
    done = run(RACE + CHECKED + CHECK, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["the guarded part", "the loose part", "before the check"]
    assert lines[3].startswith("ok, ")


NOTEBOOK = """
import linecache, sys, types
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
main.In = [""]
for k, cell in enumerate(open(sys.argv[1]).read().split("# cell")):
    main.In.append(cell)
    if not cell.lstrip().startswith("%"):
        exec(compile(cell, f"<ipython-input-{k}>", "exec"), main.__dict__)
"""


@pytest.mark.long
def test_a_notebook(tmp_path: Path) -> None:
    cells = tmp_path / "cells.txt"
    cells.write_text("# cell".join([RACE, "%matplotlib inline\n", CHECKED, CHECK]))
    done = run(NOTEBOOK, str(cells), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("ok, ")


def test_without_source_it_is_refused_in_one_line(tmp_path: Path) -> None:
    cells = tmp_path / "cells.txt"
    cells.write_text("# cell".join([RACE, CHECKED, CHECK]))
    done = run(NOTEBOOK.replace("    main.In.append(cell)\n", ""), str(cells), folder=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert last.endswith("coins: expected a game whose source can be read (a file, a notebook), got none")


def test_a_game_of_a_package_and_its_variants(tmp_path: Path) -> None:
    for game in (leafwise.game("trilobite"), leafwise.game("trilobite", board="7x6", k=4)):
        origin = checking.origin(game, tmp_path)
        assert (origin["module"], origin["attribute"]) == ("leafwise.envs.trilobite", "GAME")
        assert load(origin) == game


def test_a_game_below_a_name(tmp_path: Path) -> None:
    origin = checking.origin(planted.GAMES["descending"], tmp_path)
    assert (origin["attribute"], origin["keys"]) == ("GAMES", ["descending"])
    assert load(origin) is planted.GAMES["descending"]


def test_a_game_that_no_name_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"coins: expected a game that its module 'games.coins' holds under a name"):
        checking.origin(coins.make(max_outcomes=17), tmp_path)


def test_a_game_made_again_is_found(tmp_path: Path) -> None:
    assert checking.origin(coins.make(), tmp_path)["attribute"] == "GAME"


SOURCE = """
from __future__ import annotations
import numpy, os
os.remove("everything")
table = [1]
other = [2]
table.append(3)
other.append(4)
for k in range(3):
    table[0] = k
def score():
    return table, numpy
def idle():
    return other
GAME = score()
GAME2 = idle()
"""


def test_only_what_a_name_needs_is_kept() -> None:
    kept = checking.needed([SOURCE], "GAME")
    assert len(kept.splitlines()) == len(SOURCE.splitlines())
    statements = [ast.unparse(statement).splitlines()[0] for statement in ast.parse(kept).body]
    assert statements == [
        "from __future__ import annotations",
        "import numpy, os",
        "table = [1]",
        "table.append(3)",
        "for k in range(3):",
        "def score():",
        "GAME = score()",
    ]
