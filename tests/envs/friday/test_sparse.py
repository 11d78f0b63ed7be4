"""The features that networks see of Friday, against the text of positions."""

from __future__ import annotations

from collections import Counter

import numpy as np

from contract.cases import positions
from leafwise.envs.core.contract.state import State
from leafwise.envs.friday import GAME
from leafwise.envs.friday import features as see
from leafwise.envs.friday.cards import CARDS, KINDS, PHASES
from leafwise.envs.friday.text import TURNS, word_values

PILES = {1: ("top", "stack", "bottom"), 2: ("discard",), 7: ("hazards",), 8: ("away",), 9: ("aging",)}


def features(state: State) -> list[int]:
    F = np.full(see.MOST, -1, dtype=np.int64)
    n = int(see.active(state.row[None], np.uint64(0), F, state.game.tables()))
    assert (F[n:] == -1).all()
    assert len(set(F[:n].tolist())) + 6 >= n  # a kind may be doubled, looked at or known more than once
    return F[:n].tolist()


def pile(counts: Counter[int], number: int) -> set[int]:
    return {see.PILE * number + see.COPIES * kind + n - 1 for kind, n in counts.items()}


def test_each_group_says_what_it_should() -> None:
    for state in positions(GAME):
        values, active = word_values(state.row, GAME.tables()), set(features(state))
        piles: dict[int, Counter[int]] = {
            number: sum((Counter(values[name]) for name in names), Counter()) for number, names in PILES.items()
        }
        for k in range(4):
            side = values[("left", "right")[k // 2]]
            piles[3 + k] = Counter(kind for kind, used, _ in side if used == k % 2)
        piles[0] = sum((piles[k] for k in (1, 2, 3, 4, 5, 6)), Counter())
        expected = set().union(*(pile(counts, number) for number, counts in piles.items()))
        assert {f for f in active if f < see.NEXT} == expected, str(state)
        doubled = {see.TWICE + kind for side in ("left", "right") for kind, _, by in values[side] if by}
        assert {f for f in active if see.TWICE <= f < see.SEEN} == doubled
        assert {f - see.SEEN for f in active if see.SEEN <= f < see.LIFE} == set(values["look"])
        now = PHASES.index(values["phase"])
        single = {see.LIFE + 32 * now + values["life"], see.MODE + TURNS.index(values["turn"])}
        single |= {see.POINTS + values["points"], see.LEFT_OVER + 31 * now + sum(piles[7].values())}
        assert single <= active
        hazards = {see.ACTIVE + KINDS * now + kind for kind in values["active"]}
        assert {f for f in active if see.ACTIVE <= f < see.LACK} == hazards
        pirates, beaten = values["pirates"], values["beaten"]
        if len(pirates) == 2:
            assert {f - see.BEAT for f in active if see.BEAT <= f < see.FOUGHT} == set(pirates) - set(beaten)
            assert {f - see.FOUGHT for f in active if see.FOUGHT <= f < see.PAIR} == set(values["fought"])
        fights = [line.split() for line in state.board().splitlines() if line.startswith("fight: total")]
        lack = {f - see.LACK for f in active if see.LACK <= f < see.LEFT_OVER}
        if fights:
            made, free = map(int, fights[0][-1].split("/"))
            short = max(-see.MARGIN, min(see.MARGIN, int(fights[0][4].rstrip(",")) - int(fights[0][2])))
            assert lack == {see.FREE * (short + see.MARGIN) + max(0, min(see.FREE - 1, free - made))}
        else:
            assert not lack
        assert max(active) < see.SIZE
        cards, stack = list(piles[0].elements()), list(piles[1].elements())
        mean = 10 * sum(CARDS[kind].value for kind in cards) // max(len(cards), 1) + 20
        sums = {see.VALUES + see.STRENGTH * now + mean, see.OWNED + len(cards), see.STACKED + len(stack)}
        sums |= {see.AGES + 12 * now + sum(piles[9].values()), see.MOST_LIFE + 22}
        assert sums <= active
        later = set(values["top"][1:]) | set(values["bottom"])
        assert {f - see.LATER for f in active if see.LATER <= f < see.VALUES} == later
        if len(pirates) == 2:
            spare = next(f for f in active if see.SPARE <= f < see.UNBEATEN) - see.SPARE - 32
            hand_made = state.value(GAME.score("pirates"))
            if not state.is_terminal and not values["look"]:
                assert spare == max(-32, min(31, int(hand_made + 32) - 32))
