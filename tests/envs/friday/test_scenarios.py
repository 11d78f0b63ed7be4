"""Worked scenarios: positions written as text, with chance listed by a `Deal`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from games.deal import Deal
from leafwise.envs.core.contract.state import State
from leafwise.envs.friday import GAME
from leafwise.envs.friday.cards import AGING, CARDS, KIND, STARTING

LEVEL_1 = "aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3"


def fight(active: str = "", *, phase: str = "green", life=20, aging=LEVEL_1, game=GAME, **words: str | int) -> State:
    """Returns a fight against a hazard, or against P3 or the pirate in `fought`, with the other words as given."""
    given: dict[str, str | int] = {"turn": "fight", "phase": phase, "life": life, "free": 1, "active": active}
    given |= {"pirates": "P3,P9"} | words
    if phase == "pirates":
        given.setdefault("fought", str(given["pirates"]).split(",")[0])
    text = " ".join(f"{name}={value}" for name, value in given.items() if value not in ("", 0))
    empty = " ".join(f"{name}=none" for name in ("stack", "hazards") if not given.get(name))
    return game.parse(f"{text} {empty} {aging or 'aging=none'}")


def word(state: State, name: str) -> str:
    """Returns a word of a position, "" if it is missing or says that a pile is empty."""
    return dict(word.split("=", 1) for word in str(state).split()).get(name, "").replace("none", "")


def says(state: State, **words: str) -> None:
    """Checks some words of a position."""
    assert {name: word(state, name) for name in words} == words


def cards(state: State, name: str) -> Counter[str]:
    """Returns a pile by kind."""
    counts: Counter[str] = Counter()
    for part in filter(None, word(state, name).split(",")):
        card, _, n = part.partition("*")
        counts[card] += int(n or 1)
    return counts


def play(state: State, *actions: str, **deal: list[str]) -> State:
    """Plays actions with chance listed by stage, and checks that nothing of the list is left over."""
    dealer = Deal(**deal)
    for action in actions:
        state = dealer.settle(state.play(action))
    assert all(dealer._used[stage] == len(names) for stage, names in dealer.outcomes.items())
    return state


def removals(state: State) -> set[frozenset[str]]:
    """Returns every set of cards that may be removed, by name with a number for copies."""
    sets = set()

    def follow(at: State, removed: tuple[str, ...]) -> None:
        for name in at.legal_names:
            if name == "end":
                sets.add(frozenset(f"{card}{k}" for card, n in Counter(removed).items() for k in range(n)))
            else:
                after = at.play(name)
                gone = cards(at, "left") - cards(after, "left")
                follow(after, (*removed, *gone))

    follow(state, ())
    return sets


def start(level: int, seed: int = 3) -> State:
    return GAME.variant(level=level).new(seed)


def test_01_setup_of_level_1() -> None:
    state = start(1)
    assert cards(state, "stack") == Counter({card.name: card.copies for card in STARTING})
    assert (cards(state, "stack").total(), (cards(state, "hazards") + cards(state, "active")).total()) == (18, 30)
    assert cards(state, "aging") == Counter({c.name: c.copies for c in AGING if c.name != "G4"})
    says(state, life="20", phase="green")
    assert len(set(word(state, "pirates").split(","))) == 2


def test_01_normal_aging_cards_come_first() -> None:
    state = fight("W1", free=0, discard="S1").play("free")
    drawn = {GAME.text.outcome_name(state.row, s.row, GAME.tables())[0] for _, s in state.outcomes()}
    assert drawn == {"G"}
    state = fight("W1", free=0, discard="S1", aging="aging=D1,D2,D3").play("free")
    assert [p for p, _ in state.outcomes()] == pytest.approx([1 / 3] * 3)


def test_02_setup_of_level_4() -> None:
    for seed in range(12):
        state = start(4, seed)
        says(state, life="18")
        assert int(state.game.tables().max_life) == 20
        stack, aging = cards(state, "stack"), cards(state, "aging")
        assert [name[0] for name in stack if name[0] in "GD"] == ["G"]
        assert (stack.total(), aging.total(), (stack + aging)["G4"]) == (19, 10, 1)


def test_03_early_stop() -> None:
    state = fight("E4", stack="S3,S1", free=0, hazards="W1*2", away="F1")
    state = play(state, "free", card=["S3"])
    state = play(state, "end", hazard=["W1", "W1"])
    assert cards(state, "discard") == Counter(["S3", "E3"])
    assert cards(state, "stack") == Counter(["S1"])
    assert word(state, "life") == "20"


def test_04_no_end_before_a_draw_and_10_no_paying_while_free() -> None:
    assert fight("W8", stack="S3,S1", free=0).legal_names == ("free",)
    assert fight("F1", left="S1", stack="S2*3").legal_names == ("free", "end")


def test_05_loss_and_removal() -> None:
    state = play(fight("N2", left="S1*2,S2,S3", free=4, hazards="W1*2"), "end")
    says(state, life="15", points="5", away="N2")
    all_four = play(state, "card0", "card0", "card0", "card0")
    assert word(all_four, "left") == ""
    done = play(all_four, "end", hazard=["W1", "W1"])
    assert word(done, "discard") == ""


def test_06_aging_removal_cost() -> None:
    aging = "aging=G1,G2,G5*2,G7,G8,D1,D2,D3"
    state = play(fight("W1", phase="yellow", life=10, left="G2", aging=aging), "end")
    says(state, life="7", points="3")
    assert removals(state) == {frozenset(), frozenset({"G20"})}


def test_07_too_few_points() -> None:
    aging = "aging=G2*2,G5*2,G7,G8,D1,D2,D3"
    state = play(fight("W1", life=10, left="G1", aging=aging), "end")
    assert word(state, "life") == "9"
    assert removals(state) == {frozenset()}


@pytest.mark.parametrize(("life", "after"), [(3, "remove"), (2, "lost")])
def test_08_exact_and_fatal_payment(life: int, after: str) -> None:
    state = play(fight("N1", life=life, left="S3,S2*3", free=4), "end")
    assert word(state, "turn") == after
    assert word(state, "life") == "0"
    if after == "remove":
        assert word(state, "points") == "3"
    else:
        assert (state.is_terminal, state.returns, word(state, "debt")) == (True, 0.0, "1")


def test_09_paid_draw() -> None:
    state = fight("E1", life=1, left="S2*2", free=2, stack="S4,S1")
    assert "pay" in state.legal_names
    state = play(state, "pay", card=["S4"])
    says(state, life="0", right="S4")
    assert state.legal_names == ("end",)


def test_11_stop_left() -> None:
    state = fight("N1", free=0, stack="S2,S3,E6,G8", aging="aging=G1,G2*2,G5*2,G7,D1,D2,D3")
    state = play(state, "free", "free", card=["E6", "G8"])
    assert "free" not in state.legal_names
    assert "pay" in state.legal_names
    state = play(state, "use0", "card1")
    assert word(state, "down") == "G8"
    state = play(state, "free", "free", card=["S3", "S2"])
    assert "free" not in state.legal_names


def test_12_stop_right() -> None:
    state = fight("N1", left="S2,F3", free=2, stack="S3,G8", aging="aging=G1,G2*2,G5*2,G7,D1,D2,D3")
    state = play(state, "use1", card=["G8"])
    assert word(state, "right") == "G8"
    assert "free" in state.legal_names


def total_of(state: State) -> int:
    """Reads the total out of the board."""
    line = next(line for line in state.board().splitlines() if line.startswith("fight: total"))
    return int(line.split()[2])


LESS_SCARED = "aging=G1,G2*2,G7,G8,D1,D2,D3"
ONE_SCARED = "aging=G1,G2*2,G5,G7,G8,D1,D2,D3"
PIRATE_7 = {"phase": "pirates", "pirates": "P3,P7", "fought": "P7", "active": ""}


@pytest.mark.parametrize(
    ("left", "aging", "actions", "total", "more"),
    [
        pytest.param("C1,E3,G5", ONE_SCARED, "", 2, {}, id="13 scared"),
        pytest.param("E7,C1,G5", ONE_SCARED, "use0 card1", 1, {}, id="14 scared and double"),
        pytest.param("E3,E7,C1,G5", ONE_SCARED, "use1 card0", 5, {}, id="14 the double is the highest"),
        pytest.param("E3,N1,C1,G5*2", LESS_SCARED, "", 2, {}, id="15 two scared"),
        pytest.param("E3,N1,C1,G5*2", LESS_SCARED, "", 5, {"game": GAME.variant(scared_stacking="one")}, id="15 one"),
        pytest.param("C1,N1,E3,S2,S1,G2,G5", "aging=G1,G2,G5,G7,G8,D1,D2,D3", "", 1, PIRATE_7, id="27 pirate half"),
    ],
)
def test_13_14_15_27_totals(left: str, aging: str, actions: str, total: int, more: dict[str, Any]) -> None:
    state = fight(**{"active": "N2", "left": left, "aging": aging, **more})
    assert total_of(play(state, *actions.split())) == total


def test_16_copy_a_double() -> None:
    state = fight("N2", left="E5,E7,N1,C1", free=4)  # slots: E5 0, E7 1, N1 2, C1 3
    state = play(state, "use1", "card3")
    state = play(state, "use0")
    assert set(state.legal_names) == {"card1", "card2"}  # the weapon has nothing to copy
    state = play(state, "card1")
    assert word(state, "ability") == "double"
    assert "card2" in state.legal_names
    assert "card3" not in state.legal_names
    assert total_of(play(state, "card2")) == 16


def test_17_phase_twice() -> None:
    state = fight("N2", phase="red", left="W7,W9,F3,N4", free=4, hazards="W1*2", stack="S1")
    assert total_of(state) == 5
    once = play(state, "use1")
    assert word(play(once, "end"), "points") == "2"
    twice = play(once, "use0", "card1")
    assert word(play(twice, "end", hazard=["W1", "W1"]), "turn") == "choose"
    assert word(play(state, "end"), "points") == "6"


def test_18_phase_cancelled() -> None:
    state = fight("E1", phase="yellow", left="W9,S4", right="W8", free=2)
    state = play(state, "use1")  # S4 0, W9 1, W8 2
    assert word(state, "lowered") == "W9"
    state = play(state, "use2", "card1")
    says(state, lowered="", down="W9")
    state = play(state, "end")
    says(state, points="1", down="")


def test_19_exchange_with_empty_stack() -> None:
    state = fight("N1", left="S2,F6", discard="S1", free=2, aging="aging=G7,D1,D2,D3")
    state = state.play("use1").play("card0")
    assert state.stage == "aging"
    state = Deal(aging=["G7"]).resolve(state)
    assert cards(state, "stack") == Counter(["S1", "S2", "G7"])
    after = Deal(card=["S1"]).settle(state)
    assert cards(after, "left") == Counter(["S1", "F6!"])
    assert sum(cards(after, "stack").values()) == 2
    says(after, discard="", aging="D1,D2,D3", life="20")


def test_20_reshuffle_is_lazy() -> None:
    state = fight("W1", free=0, stack="S2", discard="S1*5,S3*3,S4,S5", hazards="W3*2")
    state = play(state, "free", "end", card=["S2"], hazard=["W3", "W3"])
    says(state, aging=LEVEL_1.removeprefix("aging="), stack="")
    assert sum(cards(state, "discard").values()) == 12
    state = play(state, "first").play("free")
    assert state.stage == "aging"
    state = Deal(aging=["G8"]).resolve(state)
    assert sum(cards(state, "stack").values()) == 13
    assert sum(cards(state, "aging").values()) == 9
    assert "G8" in {GAME.text.outcome_name(state.row, s.row, GAME.tables()) for _, s in state.outcomes()}


def test_21_empty_aging_pile() -> None:
    state = fight("W1", free=0, aging="", discard="S1*5,S2*4")
    assert state.legal_names == ("free",)
    lost = play(state, "free")
    assert (lost.is_terminal, lost.returns) == (True, 0.0)
    state = fight("N1", left="S2,F3,F6", aging="", discard="S1*5,S2*4")
    assert state.legal_names == ("end",)


def test_22_below_the_pile() -> None:
    base = fight("N1", left="S1,S2,E8", top="S3", stack="S2", free=3)
    state = play(base, "use2", "card0", "draw", card=["S3"])
    assert cards(state, "left") == Counter(["E8!", "S2", "S3"])
    says(state, stack="S2", bottom="S1")
    base = fight("N1", left="S2,E8", right="S1", top="S3", stack="S2", free=3)
    state = play(base, "use1", "card2")
    assert word(state, "turn") == "fight"
    says(state, top="S3", stack="S2", bottom="S1")


def test_23_sort() -> None:
    base = fight("N1", left="F4", stack="G2,S4,S1,S2", aging="aging=G1,G2,G5*2,G7,G8,D1,D2,D3")
    state = play(base, "use0", "draw", "draw", card=["G2", "S4", "S1"])
    assert word(state, "look") == "S1,S4,G2"
    state = play(state, "card2")  # discards G2
    assert word(state, "turn") == "order"
    state = play(state, "card1")  # S4 goes back first, S1 on top of it
    says(state, top="S1,S4", stack="S2")
    assert word(state, "discard") == "G2"
    once = play(base, "use0", "end", "end", card=["G2"])
    assert (word(once, "top"), cards(once, "stack")) == ("G2", Counter(["S4", "S1", "S2"]))


def test_24_hungry() -> None:
    aging = "aging=G1,G2*2,G5*2,G8,D1,D2,D3"
    position = {"left": "S2", "right": "G7", "aging": aging, "hazards": "W3*2"}
    state = play(fight("W1", life=1, **position), "end", hazard=["W3", "W3"])
    says(state, life="0", turn="choose")
    assert play(fight("W1", life=0, **position), "end").is_terminal
    down = fight("W1", life=0, left="S2", down="G7", aging=aging, hazards="W3*2")
    assert word(play(down, "end", hazard=["W3", "W3"]), "turn") == "choose"


def test_25_life_loss_and_defeat_together() -> None:
    state = play(fight("E1", life=10, left="S1,D1", free=2, aging="aging=D2,D3"), "end")
    says(state, life="6", points="2")
    assert removals(state) == {frozenset(), frozenset({"S10"}), frozenset({"D10"})}


def test_26_phase_change() -> None:
    away = "hazards=none away=W5*2,W7,W8,W9,E1*2,E3*2,E5"
    state = GAME.parse(f"turn=choose phase=green life=20 pirates=P1,P2 active=W1,W3 stack=S2*8,S3*3 {away} {LEVEL_1}")
    assert state.legal_names == ("first", "second")
    state = play(state, "first").play("free")
    state = Deal(card=["S3"]).settle(state).play("end")
    assert (word(state, "phase"), sum(cards(state, "hazards").values()), word(state, "away")) == ("yellow", 11, "")
    text = f"turn=choose phase=yellow life=20 pirates=P1,P2 active=W3 stack=S2*8 away=W5*2 {LEVEL_1}"
    assert GAME.parse(text).legal_names == ("first", "discard")


def test_26_one_hazard_is_left_after_five_turns() -> None:
    hazards = "hazards=W1*2,W3*2,W5*2,W7,W8,W9,E1*2"
    state = GAME.parse(f"turn=hazard phase=yellow life=20 pirates=P1,P2 stack=S2*8,S3*3 {hazards} {LEVEL_1}")
    for _ in range(5):
        while state.is_chance:
            state = state.outcomes()[0][1]
        state = state.play("first").play("free").outcomes()[0][1].play("end")
        while word(state, "turn") == "remove":
            state = state.play("end")
    state = state.outcomes()[0][1]
    assert state.legal_names == ("first", "discard")
    rejected = state.play("discard")
    assert word(rejected, "phase") == "red"
    assert word(rejected, "hazards")


def test_28_pirate_crowd() -> None:
    game = GAME.variant(double_needs_source=False)
    left = "C1^*2,N1^,N2^,N3^,N4,F1,S3,S2*2"  # ten cards, sum 40
    state = fight(phase="pirates", pirates="P3,P8", fought="P8", left=left, free=10, stack="S3,S1", life=5, game=game)
    assert total_of(state) == 50
    assert "end" not in state.legal_names
    state = play(state, "pay", card=["S3"])
    assert total_of(state) == 52
    state = play(state, "end")
    says(state, beaten="P8", fought="P3", life="4")


def test_29_pirate_rest() -> None:
    state = fight(phase="pirates", pirates="P3,P10", fought="P10", away="W8,E7,N2", left="S1", stack="S2")
    assert "against 20, free cards 1/7" in state.board()


def test_30_evaluation() -> None:
    state = fight("E1", life=13, left="S1,S4", stack="S1,F3", discard="S2,G8", aging="aging=G1,G2*2,G5*2,G7,D1,D2,D3")
    assert state.value(GAME.score("blend")) == 130_000_166


def test_the_names_are_those_of_the_lists() -> None:
    assert len(CARDS) == 38
    assert sum(card.copies for card in CARDS) == 59
    assert GAME.parse(str(fight("W6", left="S2"))).row.tobytes() == fight("W5", left="S2").row.tobytes()
    assert KIND["G4"] not in {KIND[name] for name in cards(start(1), "aging")}


def test_pictures_show_what_there_is_to_choose() -> None:
    state = fight("F2", left="E5", right="W3!,C1^E7,E7!", down="S3", free=1, stack="S2*3,S4", top="S3")
    svg = state.svg()
    for words in ("0: E5", "1: W3", "face down: S3", "x2", "100 %", "free cards 1 of 3", "life 20 of 22"):
        assert words in svg
    assert "next card: focused 100 %" in state.board()
    piles = f"stack=S2 hazards=none away=F2 {LEVEL_1}"
    choice = GAME.parse(f"turn=choose phase=green life=20 pirates=P1,P2 active=W1,C1 {piles}")
    for picture in (choice.board(), choice.svg()):
        assert "first: hazard W1" in picture
        assert "second: hazard C1" in picture
    last = GAME.parse(f"turn=choose phase=pirates life=9 pirates=P1,P2 stack=S2 {LEVEL_1}")
    assert "second: pirate P2: value 20, 6 free" in last.board()
    lost = play(fight("N1", life=2, left="S3,S2*3", free=4, hazards="W1*2"), "end")
    assert "final score -8" in lost.board()  # 1 + 0 points of cards, -3 for each of three hazards
