"""The studies of Trap: what its shipped player tells (sure wins, dead ends, what is added up), what its whole turns meet."""

import pytest

from leafwise.experiments.trap.insight import GAME, Asked, Figures, Sums, add, add_throw, apart, corner_of
from leafwise.experiments.trap.turns import Config, matches

ASKED = Asked("trap", 1)


@pytest.mark.parametrize("turn", [0, 1])
def test_a_sure_win_is_found_and_told_for_either_player(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[object, ...]] = []
    monkeypatch.setattr("leafwise.experiments.trap.insight.add_throw", lambda sums, *found: told.append(found))
    me, other = "12" if turn == 0 else "21"
    for row in (f".{me}.....", f"{me}......"):
        rest = "......./......./......./......."
        state = GAME.parse(f"{other}#...../#....../{row}/{rest} turn={turn} throw")
        assert GAME.actions[ASKED.throw(state, {})] == "1,1"
    (values, *near), (passing, *far) = told
    assert near == [7, 1, 3, 1.0, 1]  # free cells around both, how far apart, how likely the throw hits, where it aims
    assert isinstance(values, dict)
    assert (set(values), values["near"]) == ({"near", "elsewhere", "trap"}, 1.0)
    assert values["elsewhere"] < 1
    assert isinstance(passing, dict)
    assert passing["certain"] < 0.5
    assert far[3] == 0.95


@pytest.mark.parametrize("turn", [0, 1])
def test_a_dead_end_is_no_place_to_stand(turn: int) -> None:
    me, other = "21" if turn == 0 else "12"
    state = GAME.parse(f"..#..../###..../......./...{me}.../......./....{other}../....... turn={turn}")
    sums: Sums = {}
    assert ASKED.stands(state, sums) == 0
    cells = {name: found[1] / found[0] for name, found in sums.items() if name.startswith("cell")}
    assert sum(sums[name][0] for name in cells) == 49 - 4 - 1  # traps and the opponent; the own cell is free again
    assert sums["free 1 0"].tolist() == [2, pytest.approx(2 * min(cells.values()), abs=0.5)]
    assert min(cells, key=cells.__getitem__) in ("cell 0 0", "cell 1 0")
    assert sum(sums[name][1] for name in cells) == pytest.approx(0, abs=0.01)


def test_cells_and_steps() -> None:
    assert {corner_of(cell) for cell in (0, 6, 42, 48)} == {0}
    assert corner_of(7 * 3 + 3) == 24
    assert len({corner_of(cell) for cell in range(49)}) == 10
    assert apart(0, 7 * 2 + 5) == (2, 5)


def test_figures_are_means_over_the_cases_of_all_pieces() -> None:
    pieces = []
    for gain in (0.1, 0.3):
        sums: Sums = {}
        add(sums, "free 5 0", gain)
        pieces.append({"sums": {name: found.tolist() for name, found in sums.items()}})
    figures = Figures(pieces)
    assert figures.count("free 5 0") == 2
    mean, low, high = figures.mean("free 5 0")
    half = 12.706204736 * 0.1  # Student's t of two values, times the standard error
    assert (mean, low, high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))


def test_throws_are_counted_by_what_they_are_worth() -> None:
    def counted(**values: float) -> dict[str, list[float]]:
        sums: Sums = {}
        add_throw(sums, values, 7, 1, 3, 1.0, 1)
        return {name: found.tolist() for name, found in sums.items()}

    assert counted(near=1.0, elsewhere=0.5) == {"decided": [1]}
    found = counted(near=0.875, behind=0.625, elsewhere=0.5)
    assert found["far all"] == found["far free 0"] == found["far apart 1"] == [1, 0, -0.25, 0]
    assert found["best all"] == found["best 0"] == [1, 1, 0, 0, 0, 0, 1, 1]
    assert "pass all" not in found
    passed = counted(near=0.875, behind=0.625, certain=0.875)
    assert passed["pass all"] == passed["pass 3"] == [1, 1, 0]  # nothing is better


def test_the_matches_of_the_study() -> None:
    assert [match.opponent for match in matches(Config(seconds=(0.005,)))] == [
        "turns:reach_open,seconds=0.005,clock=cpu",
        "search:reach_open,seconds=0.0025,clock=cpu,table_mb=4,candidates=near+traps,rare=0.25",
    ]
    with pytest.raises(ValueError, match=r"^expected rival_searches among whole turns, single decisions, got 'width'$"):
        list(matches(Config(rival_searches=("width",))))
