"""Games of a search with itself: the values and outcomes are those that `Search` and the rules tell."""

from dataclasses import replace

import numpy as np
import pytest

from games import dice, solitaire
from leafwise.envs.core.contract.game import Game
from leafwise.search import Search
from leafwise.training.publish.units import Config, valued_piece


@pytest.mark.parametrize("game", [dice.GAME, solitaire.GAME], ids=repr)
def test_values_and_outcomes_belong_together(game: Game) -> None:
    score, config = game.score(), Config("", plies=2, every=1)
    played = valued_piece(game, score, config, range(30))
    assert len(played.values) == len(played.outcomes) == len(played.games) > 60
    assert played.games.tolist() == sorted(played.games.tolist())
    assert set(played.games.tolist()) == set(range(30))
    for number in range(30):
        own = played.outcomes[played.games == number]
        assert len(set(np.abs(own).tolist())) == 1  # one return, for either player
    low, high = game.return_range
    assert ((low <= played.outcomes) & (played.outcomes <= high)).all()
    assert np.corrcoef(played.values, played.outcomes)[0, 1] > 0.1
    again = valued_piece(game, score, config, range(10, 30))
    assert again.values.tolist() == played.values[played.games >= 10].tolist()  # a game is its seed's
    odd, even = played.share(odd=True), played.share(odd=False)
    assert len(odd.values) + len(even.values) == len(played.values)
    assert set(odd.games.tolist()) == set(range(1, 30, 2))
    thin = valued_piece(game, score, replace(config, every=3), range(30))
    assert len(thin.values) == pytest.approx(len(played.values) / 3, abs=3)


def test_a_limit_of_work_is_that_of_the_search() -> None:
    game, told = solitaire.GAME, []
    for nodes in (0, 4, 12, 40):
        played = valued_piece(game, game.score(), Config("", depth=2, nodes=nodes, every=1), range(1))
        found = Search(game, game.score(), 2, nodes=nodes)(game.new(950_000))
        assert played.values[0] == pytest.approx(found.value, abs=1e-12)
        assert not nodes or found.nodes <= nodes
        told.append(found.value)
    assert told[1] != told[0], told
