"""What the shipped player of Trap tells: sure wins, dead ends, what is added up."""

import pytest

from leafwise.experiments.trap.insight import GAME, Asked, Figures, Sums, add_stand, add_throw, corner_of, king_steps


@pytest.fixture(scope="module")
def ask() -> Asked:
    return Asked("trap", 1)


@pytest.mark.parametrize("turn", [0, 1])
def test_a_sure_win_is_found_and_told_for_either_player(ask: Asked, turn: int) -> None:
    me, other = "12" if turn == 0 else "21"
    state = GAME.parse(f"{other}#...../#....../.{me}...../......./......./......./....... turn={turn} throw")
    action, throw = ask.throw(state)
    assert GAME.actions[action] == "1,1"
    assert (throw.near, throw.behind, throw.hit, throw.apart, throw.steps) == (1.0, None, 1.0, 3, 1)
    assert (throw.their_free, throw.own_free) == (1, 7)
    assert throw.elsewhere is not None
    assert throw.elsewhere < 1
    assert throw.certain is None
    far, other_throw = ask.throw(
        GAME.parse(f"{other}#...../#....../{me}....../......./......./......./....... turn={turn} throw")
    )
    assert GAME.actions[far] == "1,1"
    assert other_throw.hit == 0.95
    assert other_throw.certain is not None
    assert other_throw.certain < 0.5


@pytest.mark.parametrize("turn", [0, 1])
def test_a_dead_end_is_no_place_to_stand(ask: Asked, turn: int) -> None:
    me, other = "21" if turn == 0 else "12"
    state = GAME.parse(f"..#..../###..../......./...{me}.../......./....{other}../....... turn={turn}")
    stands = ask.stands(state)
    assert len(stands) == 49 - 4 - 1  # traps and the opponent; the player's own cell is free again
    worst = min(stands, key=lambda stand: stand.gain)
    assert worst.cell in (corner_of(0), corner_of(1))
    assert worst.free == 1
    assert sum(stand.gain for stand in stands) == pytest.approx(0, abs=0.01)
    assert {stand.traps for stand in stands} == {4}


def test_cells_and_steps() -> None:
    assert {corner_of(cell) for cell in (0, 6, 42, 48)} == {0}
    assert corner_of(7 * 3 + 3) == 24
    assert len({corner_of(cell) for cell in range(49)}) == 10
    assert king_steps(0, 7 * 2 + 5) == 5


def test_figures_are_means_over_the_cases_of_all_pieces(ask: Asked) -> None:
    pieces = []
    for gain in (0.1, 0.3):
        sums = Sums()
        for stand in ask.stands(GAME.start())[:1]:
            add_stand(sums, stand._replace(free=5, gain=gain))
        pieces.append({"sums": sums})
    figures = Figures(pieces)
    assert figures.count("free 5 0") == 2
    mean, low, high = figures.mean("free 5 0")
    half = 12.706204736 * 0.1  # Student's t of two values, times the standard error
    assert (mean, low, high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    sums = Sums()
    _, throw = ask.throw(GAME.parse("2#...../#....../.1...../......./......./......./....... turn=0 throw"))
    add_throw(sums, throw)
    assert sums == {"decided": [1]}
    sums.clear()
    throw = throw._replace(near=0.875, behind=0.625, elsewhere=0.5, trap=None)
    add_throw(sums, throw)
    assert sums["far all"] == [1, 0, -0.25, 0]
    assert sums["best all"] == [1, 1, 0, 0, 0, 0, 1, 1]
    assert "pass all" not in sums
    add_throw(sums, throw._replace(certain=0.875))
    assert sums["pass 3"] == [1, 1, 0]  # nothing is better
