"""Following a game of Friday at a table."""

from __future__ import annotations

import pytest

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.companion import Following
from leafwise.envs.friday import GAME
from leafwise.envs.friday.cards import CARDS
from leafwise.envs.friday.text import TITLES, number, value

FIGHT = (
    "turn=fight phase=green life=20 pirates=P3,P7 stack=S1*2,S2*7,S3*3,S4,S5 discard=G1 hazards=W1,W3*2 away=W1 "
    "aging=G2*2,D1 active=N1 left=S2,S1*2,W8 free=3"
)


def by_life(state: State) -> dict[int, float]:
    """Returns the life after each action as its value: a stand-in for a search."""
    return {a: float(number(state.play(a).row, "life")) - 0.01 * (a == 2) for a in state.legal_actions}


def test_a_game_is_typed_from_the_level_on() -> None:
    following = Following(GAME)
    assert following.question.asks == "the level"
    with pytest.raises(ValueError, match="expected a level among 1, 2, 3, 4 or a position, got '7'"):
        following.enter("7")
    following.enter("2")
    assert following.game.options.level == 2
    assert following.question.choices[8].number == 9
    answer = following.enter("10, 3, very ti, raft food, N1")
    assert "pirate 10" in answer
    assert (
        "very tired 0 (stop) (14.3 %), with the raft to the wreck (value 0, 1 free) for food 0 (+1 life) (6.67 %)"
        in answer
    )
    assert following.question.asks == "the hazard that you fight"
    assert following.state is not None
    assert following.state.legal_names == ("first", "second")
    assert following.enter("fight wild, free, weak") == (
        "fight wild animals (value 4, 4 free) for realization 3 (destroy), draw a free card (1 of 4), weak 0 (42.1 %)"
    )
    saved = Following.load(GAME, following.text)
    assert saved.game == GAME.variant(level=2)
    assert saved.state == following.state
    assert all(following.undo() for _ in range(3))
    assert following.state is None


def test_what_cannot_have_fallen_is_refused_with_what_can() -> None:
    following = Following(GAME, GAME.parse(FIGHT))
    with pytest.raises(ValueError, match=r"expected one of weak 0 \[S2\], .*, got 'suicidal'"):
        following.enter("free, suicidal")
    assert str(following.state) == str(GAME.parse(FIGHT))
    with pytest.raises(ValueError, match="expected what you did in the fight, got nothing"):
        following.enter("")
    assert following.enter("", best="free") == "draw a free card (4 of 4)"


def test_every_option_is_told_in_words() -> None:
    following = Following(GAME, GAME.parse(FIGHT))
    advice = following.advise(by_life, "{:.1f}".format)
    words = {option.name: option.words for option in advice.options}
    assert words["free"] == "draw on (4 of 4)"
    assert words["end"].startswith("lose 6 life and remove distracted")
    assert "use realization 0 (destroy)" in words.values()
    assert advice.best != "end"
    assert advice.notes == (
        "ending the fight now: lose 6 life",
        "next card: weak 50 %, focused 21 %, distracted 14 %, genius 7 %, eating 7 %",
    )
    following.enter("use realization")
    state = following.state
    assert state is not None
    assert set(map(state.action_words, state.legal_names)) == {
        "destroy distracted -1 on the left",
        "destroy weak 0 on the left",
    }
    following.enter("destroy dis, end, rem dis, end")
    assert following.state is not None
    assert (following.state.stage, number(following.state.row, "life")) == ("hazard", 15)


def test_a_single_outcome_need_not_be_typed() -> None:
    known = GAME.parse(FIGHT.replace("stack=S1*2,S2*7,S3*3,S4,S5", "stack=S2*3"))
    following = Following(known.game, known)
    assert following.enter("free") == "draw a free card (4 of 4), weak 0 (100 %)"
    assert following.undo()
    assert following.state == known


def test_a_pirate_is_fought_to_the_end() -> None:
    text = "turn=fight phase=pirates life=2 pirates=P2,P3 fought=P3 beaten=P2 stack=S1 left=C1*2,E3*2,F1,F2,F3,N1,S4 free=7 "
    text += "aging=none"
    following = Following(GAME, GAME.parse(text))
    advice = following.advise(by_life, str)
    assert "ending the fight now: not possible against a pirate, 2 points short" in advice.notes
    assert {option.words for option in advice.options} >= {"pay 1 life for a card", "use food 2 (+1 life)"}
    last = Following(GAME, GAME.parse(text.replace("S4", "S4,N2")))
    assert last.enter("end") == "end the fight: beat pirate 3"
    assert last.question.asks.startswith("game over, won, final score ")
    assert last.question.choices == ()
    with pytest.raises(ValueError, match=r"expected no more input \(game over, won"):
        last.enter("free")


def test_cards_have_names_of_their_own() -> None:
    assert len(set(TITLES)) == len(CARDS)
    legend = GAME.parse(FIGHT).legend()
    assert "N1 realization 3 (destroy)" in legend.replace("\n", " ")
    assert "S2 weak 0" in legend
    assert "C1" not in legend


def test_a_typed_position_is_completed_in_the_first_turn() -> None:
    first = GAME.parse("turn=choose phase=green life=20 pirates=P3,P7 active=W1,N1 away=none")
    whole = "stack=S1*5,S2*8,S3*3,S4,S5 aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3"
    assert all(word in str(first).split() for word in whole.split())
    assert sum(value(first.row, "hazards").values()) == 28
    last = GAME.parse(FIGHT.replace("hazards=W1,W3*2 ", "hazards=none "))
    assert "hazards=none" in str(last).split()
    assert GAME.parse(str(last)) == last
    over = GAME.parse("turn=lost phase=red life=0 pirates=P3,P7 active=N1 left=S2 free=1")
    assert "none" not in str(over)


PIRATE_5 = "turn=fight phase=pirates fought=P5"


@pytest.mark.parametrize(
    ("words", "others", "problem"),
    [
        ("hazards=W1,W3*2 ", "", r"hazards=, as W1,W3\*2,W5\*2,.*C1\*2 lie nowhere \(hazards=none says that"),
        ("aging=G2*2,D1 ", "", "aging=, as .* lie nowhere"),
        ("stack=S1*2,S2*7,S3*3,S4,S5 ", "", "stack=, as .* lie nowhere"),
        ("S4,S5", "S4,none", r"cards like S1 or W8\*2 in stack, got 'none'"),
        ("P3,P7", "P4,P4", "two different pirates .*, got 'pirates=P4,P4'"),
        ("turn=fight phase=green", PIRATE_5, r"fought and beaten among the pirates P3,P7, got 'P5'"),
    ],
)
def test_what_is_missing_or_wrong_is_told_as_typed(words: str, others: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"expected {problem}"):
        GAME.parse(FIGHT.replace(words, others))


def test_an_action_may_be_typed_with_a_space() -> None:
    state = GAME.parse(FIGHT)
    assert state.play("use 3") == state.play("use3")
    with pytest.raises(ValueError, match="got 'use 99'"):
        state.play("use 99")
