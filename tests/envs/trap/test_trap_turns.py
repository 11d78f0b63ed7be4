"""The search of whole turns has the values of a plain recursion, keeps its time, and its player searches once a turn."""

import time
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.turns import TurnPlayer, TurnSearch
from twins.trap import Twin, crowded_state

SIZE = 4
SMALL = GAME.variant(size=SIZE)
LEAF, TABLES, TWIN = SMALL.score("reach"), SMALL.tables(None, "near+traps"), Twin(SMALL.options)


def considered(after: State) -> list[int]:
    actions = np.zeros(8 + SIZE * SIZE, dtype=np.int64)
    assert SMALL.rules.candidates is not None
    return actions[: SMALL.rules.candidates(after.row[None], np.uint64(0), actions, TABLES)].tolist()


def told(state: State, thrower: int) -> float:
    """Returns the evaluator's value of a board at the end of a turn, for the player who threw."""
    if not state.is_terminal:
        return -state.value(LEAF)
    return state.returns if thrower == 0 else -state.returns


def plain(state: State, depth: int, below: bool = False) -> float:
    """Returns the value of a turn for the acting player, each pair of a move and a throw searched to the end.

    The last turn below another one is a move. A miss counts as the evaluator's value: away from the opponent, and on a trap
    that of the unchanged board.
    """
    thrower, best = state.current_player, -1.0
    for after in map(state.play, state.legal_actions):
        if after.is_terminal:
            return 1.0
        if depth == 1 and below:
            best = max(best, after.value(LEAF))
            continue
        p = TWIN.read(str(after))
        other = p.players[1 - thrower]
        passed = SMALL.parse(TWIN.write(replace(p, turn=p.turn + 1, due="move")))
        for throw in considered(after):
            target = divmod(throw - 8, SIZE)
            landed = after.play(throw).outcomes_by_name()
            odds = {cell: float(chance) for cell, chance in TWIN.chances(replace(p, target=target)).items()}
            boards = {c: landed["unchanged" if c in p.traps else f"{c[0]},{c[1]}"] for c in odds}
            ends = depth == 1 or boards[target].is_terminal
            hit = told(boards[target], thrower) if ends else -plain(boards[target], depth - 1, below=True)
            worth = odds.pop(target) * hit
            for cell, chance in odds.items():
                beside = cell in TWIN.around(other) and cell not in p.traps
                worth += chance * told(boards[cell] if beside else passed, thrower)
            best = max(best, worth)
    return best


def test_values_are_those_of_a_plain_recursion() -> None:
    rng = Random(4)
    for traps, depth, count in ((4, 1, 2), (8, 2, 2), (10, 2, 2), (10, 3, 1)):
        search = TurnSearch(SMALL, LEAF, depth, late_from=None, known_from=None, gain=depth / 20)
        for _ in range(count):
            state = crowded_state(SMALL, traps, rng)
            assert search(state).value == pytest.approx(plain(state, depth), abs=1e-12)


def test_a_throw_is_searched_on_its_own() -> None:
    search = TurnSearch(SMALL, LEAF, 2, late_from=None)
    before = crowded_state(SMALL, 5, Random(7))
    state = before.play(before.legal_actions[0])
    (throw,) = search(state).actions
    assert throw in considered(state)


def test_a_move_that_wins_is_played_without_a_throw() -> None:
    state = GAME.parse("2#...../#....../..1..../......./......./......./.......")
    result = TurnSearch(GAME, GAME.score(), 2)(state)
    assert result.value == 1.0
    assert [GAME.actions[a] for a in result.actions] == ["NW"]


def test_its_player_searches_once_a_turn() -> None:
    player, asked = leafwise.player("turns:reach,depth=2", SMALL), list[State]()
    assert isinstance(player, TurnPlayer)
    state, search = SMALL.start(), player.search
    player.search = lambda state: asked.append(state) or search(state)  # type: ignore[assignment, func-returns-value]
    after = state.play(player.choose(state))
    assert player.choose(after) in after.legal_actions
    assert asked == [state]
    other = state.play(next(a for a in state.legal_actions if state.play(a) != after))
    assert player.choose(other) in other.legal_actions
    assert asked == [state, other]


def test_it_keeps_its_clock_and_is_the_best_player() -> None:
    assert isinstance(leafwise.player("best", SMALL), TurnPlayer)
    search = TurnSearch(SMALL, LEAF, seconds=0.05)
    begun = time.perf_counter()
    result = search(SMALL.start())
    assert time.perf_counter() - begun < 1.0
    assert 1 < result.depth < 40


OPTIONS = "depth, seconds, width, late_from, known_from, gain, candidates, table_mb, clock"
WRONG = {
    "depth=0": "depth of 1 to 40 turns, got 0",
    "seconds=0": "seconds above 0 and at most 1,000,000, got 0.0",
    "width=0": "width of at least 1, got 0",
    "late_from=0": "late_from of at least 1, got 0",
    "gain=3": "gain of 0 to 2, got 3.0",
    "candidates=none": "candidates among all, near, near[+]traps, got 'none'",
    "table_mb=0": "table_mb above 0 and at most 65,536, got 0.0",
    "clock=sun": "clock among wall, cpu, got 'sun'",
    "rare=0.1": f"options among {OPTIONS}, got 'rare=0.1'",
}


def test_wrong_options_are_one_line() -> None:
    for options, message in WRONG.items():
        with pytest.raises(ValueError, match=rf"^player 'turns:reach,{options}': expected {message}$"):
            leafwise.player(f"turns:reach,{options}", SMALL)


def test_wrong_positions_are_refused() -> None:
    search = TurnSearch(SMALL, LEAF, 1)
    with pytest.raises(ValueError, match=r"^expected a decision of leafwise.game\('trap', size=4\), got "):
        search(GAME.start())


def test_what_is_known_of_misses_brings_values_nearer_to_those_of_deeper_searches() -> None:
    rng = Random(11)
    states = [crowded_state(SMALL, 3 + k % 4, rng) for k in range(20)]
    deep = TurnSearch(SMALL, LEAF, 9, late_from=None, known_from=1)
    truth = [deep(state).value for state in states]

    def distance(known_from: int | None) -> float:
        search = TurnSearch(SMALL, LEAF, 5, late_from=None, known_from=known_from)
        return sum(abs(search(state).value - value) for state, value in zip(states, truth, strict=True))

    assert distance(3) < 0.98 * distance(None)
