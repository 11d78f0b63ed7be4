"""The public program's search: its evaluation and filters, one deal for all lines, and no look at what is hidden."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.friday import GAME
from leafwise.envs.friday import baselines as tree
from leafwise.envs.friday.baselines import BestFirst, Fridai, HiddenDeal
from leafwise.envs.friday.bench import FRIDAI_POSITIONS
from leafwise.search.players import player

SEARCH = BestFirst(GAME, 300)


def fight(words: str) -> State:
    return GAME.parse(f"turn=fight phase=green life=20 pirates=P3,P9 active=N1 aging=G1,D1,D2,D3 hazards=none {words}")


def test_equal_public_history_gives_equal_rows_and_equal_choices() -> None:
    """What chance does after the history has no effect: the streams differ, and only they."""
    seen: dict[tuple[str, ...], tuple[bytes, int]] = {}
    met = 0
    fridai = player("fridai:states=40", GAME)
    for key, start in product(range(6), FRIDAI_POSITIONS.values()):
        state, stream, history = GAME.parse(start), new_stream(key), [start]
        for _ in range(3):
            if state.is_terminal:
                break
            if state.is_chance:
                after = state.sample(stream)
                history.append(GAME.text.outcome_name(state.row, after.row, GAME.tables()))
            else:
                action = fridai.choose(state)
                met += tuple(history) in seen
                known = seen.setdefault(tuple(history), (state.row.tobytes(), action))
                assert known == (state.row.tobytes(), action)
                history.append(GAME.actions[action])
                after = state.play(action)
            state = after
    assert met >= 15


def test_a_deal_is_one_order_for_every_line_of_play() -> None:
    for seed in range(5):
        state = fight("left=S4 stack=S1*3,S2*4,S3*2,W1,W8,E5 free=1")
        order = []
        for actions in (["free", "free", "free"], ["free", "end"]):
            cards, at, drawn = HiddenDeal(seed), state, []
            for action in actions[:2]:
                after = cards.settle(at.play(action), at)
                drawn.append(sum((after.row[3:7] - at.row[3:7]).tolist()))
                at = after
            order.append(drawn[0])
        assert order[0] == order[1]


def test_a_deal_is_fair() -> None:
    """Every card is next with the probability that the rules give it."""
    state = fight("left=S4 stack=S1*3,S2*4,S3*2 free=1").play("free")
    n = dict.fromkeys(("S1", "S2", "S3"), 0)
    draws = 900
    for seed in range(draws):
        after = HiddenDeal(seed).settle(state, state)
        n[GAME.text.outcome_name(state.row, after.row, GAME.tables())] += 1
    for name, p in (("S1", 3 / 9), ("S2", 4 / 9), ("S3", 2 / 9)):
        assert abs(n[name] / draws - p) < 4.5 * np.sqrt(p * (1 - p) / draws)


def test_a_clairvoyant_player_knows_the_card() -> None:
    """A player who knows the deal pays for a card only if that card wins."""
    state = GAME.parse(
        "turn=fight phase=green life=20 pirates=P3,P9 active=F1 free=3 left=S2*3 stack=S2*4,S4 hazards=W1*2 aging=G1,D1,D2,D3"
    )
    choices = set()
    for seed in range(40):
        cards = HiddenDeal(seed)
        after = cards.settle(state.play("pay"), state)
        wins = " right=S4" in str(after)
        best = SEARCH(state, HiddenDeal(seed)).actions
        if wins:
            assert best == ("pay",)
        choices.add((wins, best))
    assert len({wins for wins, _ in choices}) == 2


def test_of_cards_with_one_ability_one_is_used_and_doubling_goes_to_the_best() -> None:
    state = fight("left=E3,F1,E7,W1,W8 stack=S1*4 free=4")
    steps = set(SEARCH(state, HiddenDeal(1)).scores)
    used = {step[0] for step in steps if step[0].startswith("use")}
    names = {name: slot for slot, name in enumerate(["W1", "W8", "E3", "E7", "F1"])}
    assert f"use{names['W1']}" in used
    assert f"use{names['F1']}" not in used  # the same ability
    doubled = [step for step in steps if step[0] == f"use{names['E7']}"]
    assert doubled == [(f"use{names['E7']}", f"card{names['E3']}")]
    destroyed = [step for step in steps if step[0] == f"use{names['W8']}"]
    assert len(destroyed) == 4


def test_removal_is_one_step_of_sets() -> None:
    state = GAME.parse(
        "turn=remove phase=green life=9 pirates=P3,P9 points=3 left=S1*2,S2,S3,G1 hazards=W1*2 away=N1 aging=D1"
    )
    result = SEARCH(state, HiddenDeal(1))
    assert all(step[-1] == "end" for step in result.scores)
    # from the worst: both S1 fit into 3 points, G1 (cost 2) does not any more, S2 does; sets by kind
    steps = {" ".join(step) for step in result.scores}
    expected = "end|card0 end|card2 end|card0 card0 end|card0 card1 end|card0 card0 card0 end"
    assert steps == set(expected.split("|"))
    at = state
    for action in result.actions:
        at = at.play(action)
    assert str(at).startswith("turn=hazard")


def test_a_pirate_that_can_be_beaten_is() -> None:
    state = GAME.parse(
        "turn=fight phase=pirates life=9 pirates=P2,P5 fought=P2 left=C1*2,N1,N2,N3,N4,E3 free=6 stack=S1*3 aging=G1,D1,D2,D3"
    )
    assert "end" in state.legal_names
    assert set(SEARCH(state, HiddenDeal(3)).scores) == {("end",)}


def test_a_doubling_that_is_worth_nothing_is_played_all_the_same() -> None:
    """The only action was to use the card, and no card has a value above 0, so the filters leave no target."""
    state = GAME.parse(
        "turn=target phase=pirates life=16 pirates=P2,P9 fought=P2 discard=S3,W3,W5,G1,D3 away=W1*2 stack=none aging=none "
        "left=S5!,W3,W5!,F5! free=4 uses=4 ability=double acting=left:F5"
    )
    result = SEARCH(state, HiddenDeal(1))
    assert (result.actions, result.generated) == (("card0",), 0)
    assert result.score == state.value(GAME.score("blend"))


def test_back_up_is_the_best_of_everything_below() -> None:
    """The value of a step is the largest static score among the leaves of its subtree, computed again in plain Python."""
    state = GAME.parse(FRIDAI_POSITIONS["yellow"])
    cards = HiddenDeal(7)
    search = BestFirst(GAME, 60)
    result = search(state, cards)
    store = search._tree
    n = int(store.counts[tree.COUNT])
    assert result.generated == n - 1
    assert result.expanded == 61
    parents = store.parent[:n].tolist()
    children: dict[int, list[int]] = {}
    for node in range(1, n):
        children.setdefault(parents[node], []).append(node)
    blend = GAME.score("blend")
    value = blend.value
    assert value is not None
    T = GAME.tables(blend)

    def static(node: int) -> int:
        row = np.array([store.S[node, : GAME.width]])
        return int(value(row, np.uint64(0), T))

    def best(node: int) -> int:
        return max(map(best, children[node])) if node in children else static(node)

    for child in children[0]:
        assert int(store.score[child]) == best(child)
    assert result.score == max(map(best, children[0]))


def test_the_queue_gives_the_best_first() -> None:
    """Of equal ones, the last in comes first."""
    store = tree.make_tree(64)
    rng = Random(2)
    scores = [rng.randrange(-20, 20) for _ in range(60)]
    for node, score in enumerate(scores):
        tree.push(store, node, score)
    taken = [int(tree.pop(store)) for _ in scores]
    assert taken == sorted(range(60), key=lambda node: (scores[node], node), reverse=True)


def test_a_tree_that_fills_up_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    state = GAME.parse(FRIDAI_POSITIONS["yellow"])
    roomy = BestFirst(GAME, 400)(state, HiddenDeal(2))
    tight = BestFirst(GAME, 400)
    tight._tree = tree.make_tree(tree.RESERVE + 200)
    result = tight(state, HiddenDeal(2))
    assert len(tight._tree.parent) > tree.RESERVE + 200
    assert (result.scores, result.expanded, result.generated) == (roomy.scores, roomy.expanded, roomy.generated)


def test_whole_games() -> None:
    for words in ("fridai:states=30", "fridai:states=30,info=clairvoyant"):
        fridai = player(words, GAME)
        assert isinstance(fridai, Fridai)
        for seed in range(2):
            stream = new_stream(seed)
            dealer = fridai.dealer(seed)

            def settle(state: State, dealer: Any = dealer, stream: Any = stream) -> State:
                return dealer(state) if dealer else state.settle(stream)

            state = settle(GAME.start())
            first = state
            while not state.is_terminal:
                state = settle(state.play(fridai.choose(state)))
            again = fridai.dealer(seed)
            assert again is None or again(GAME.start()) == first


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("fridai:states=x", "expected a number of states, got 'x'"),
        ("fridai:states=0", "expected states of 1 to 10,000,000, got 0"),
        ("fridai:info=psychic", "expected info among fair, clairvoyant, got 'psychic'"),
        ("fridai:depth=3", "expected no options but states=N and info=fair|clairvoyant, got 'depth=3'"),
    ],
)
def test_wrong_words(words: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^player '{words}': ") as refusal:
        player(words, GAME)
    assert problem in str(refusal.value)
