"""Games in lockstep with OpenSpiel's backgammon (`pip install open_spiel`): the same turns, the same points.

`python tests/test_openspiel.py 1000` plays a thousand games.
"""

import random
import sys
from typing import Any

import brute
import pytest
from test_backgammon import FREE, PLAYS, TO_THROW, ends, thrown

pyspiel = pytest.importorskip("pyspiel", reason="needs OpenSpiel: pip install open_spiel")


def board(theirs: Any, player: int) -> brute.Board:
    """Returns the checkers of a player and of the other in OpenSpiel's position."""
    words = theirs.observation_tensor(0)
    both = []
    for one in (0, 1):
        points = [theirs.board(one, k) for k in range(24)]
        bar, off = int(words[192 + 3 * one]), int(words[193 + 3 * one])
        both.append((off, *(points[::-1] if one == 0 else points), bar))
    return both[player], both[1 - player]


def turns(theirs: Any, player: int) -> dict[brute.Board, list[int]]:
    """Returns the actions that lead to each end of a turn of OpenSpiel's: two for a double."""
    states = {}
    for action in theirs.legal_actions():
        after = theirs.child(action)
        if not after.is_terminal() and after.current_player() == player:
            states |= {end: [action, *more] for end, more in turns(after, player).items()}
        else:
            states[board(after, player)] = [action]
    return states


def throws(theirs: Any) -> dict[str, int]:
    """Returns OpenSpiel's chance actions by dice, the higher first."""
    named = {action: theirs.action_to_string(-1, action) for action, _ in theirs.chance_outcomes()}
    return {"-".join(sorted(name.rpartition("roll: ")[2][:2], reverse=True)): action for action, name in named.items()}


def play(games: int, seed: int) -> None:
    """Plays random games on both sides."""
    rng, game = random.Random(seed), pyspiel.load_game("backgammon(scoring_type=full_scoring)")
    for _ in range(games):
        theirs = game.new_initial_state()
        dice = rng.choice(sorted(throws(theirs)))
        theirs.apply_action(throws(theirs)[dice])
        player = theirs.current_player()
        ours = thrown(FREE.parse(TO_THROW.replace("white", ("white", "black")[player])), dice)
        while True:
            options = turns(theirs, player)
            assert set(ends(ours, player)) == set(options), str(ours)
            end = rng.choice(sorted(options))
            for action in options[end]:
                theirs.apply_action(action)
            while ours.current_player == player:
                ours = next(after for after in map(ours.play, ours.legal_actions) if end in ends(after, player))
            if theirs.is_terminal():
                assert (ours.is_terminal, ours.returns) == (True, theirs.returns()[0])
                break
            player, dice = 1 - player, rng.choice(sorted(throws(theirs)))
            theirs.apply_action(throws(theirs)[dice])
            ours = thrown(ours, dice)


def test_the_first_turn_has_as_many_ends() -> None:
    start = pyspiel.load_game("backgammon(scoring_type=full_scoring)").new_initial_state()
    after_throw = {dice: start.child(action) for dice, action in throws(start).items()}
    assert {dice: len(turns(after, after.current_player())) for dice, after in after_throw.items()} == {
        dice: n
        for dice, n in PLAYS.items()
        if dice[0] != dice[2]  # who begins throws no double
    }


def test_openspiel_plays_the_same_game() -> None:
    play(3, seed=1)


if __name__ == "__main__":
    play(int(sys.argv[1]), seed=2)
