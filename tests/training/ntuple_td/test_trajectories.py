"""Where the games begin from which n-tuple networks learn."""

from dataclasses import replace

import leafwise
from leafwise.training.games import HERE
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ntuple_td.kernels import FRESH_GAMES, GAMES, RESTARTED

GAME = leafwise.game("threes")
CONFIG = td.Config(
    game="threes",
    tuples="0123 4567",
    carousel="24 96",
    total_steps=60_000,
    interval=20_000,
    evaluate_every=100,
    evaluate_games=4,
)
RANKS = [6, 8]


def highest(row):
    return max(int(row[0]) >> shift & 15 for shift in range(0, 64, 4))


def test_a_carousel_begins_in_turn_at_a_start_and_where_its_tiles_were_first_met(tmp_path):
    learner = td.NTupleTd(replace(CONFIG, run=str(tmp_path / "run")))
    actor, turns = learner.actors[0], []
    for _ in range(400):
        met, games, turn = actor.met.copy(), int(actor.counts[GAMES]), int(actor.counts[RESTARTED])
        if turn:
            kept = actor.firsts[turn - 1, : met[turn - 1]]
            assert (kept == actor.S[HERE]).all(1).any()
        learner.kernels.td_games(
            actor, 1, 0.001, 0.5, 100, learner.T
        )  # one trajectory, before it those that are over at once
        if actor.counts[GAMES] == games + 1:
            turns.append(turn)
            assert actor.counts[RESTARTED] == (turn + 1 if turn < 2 and actor.met[turn] else 0)
    learner.folder.lock.release()
    assert actor.met.min() > 20
    for k, rank in enumerate(RANKS):
        assert {highest(row) for row in actor.firsts[k, : actor.met[k]]} == {rank}
    assert min(turns.count(turn) for turn in (0, 1, 2)) > 80
    assert turns.count(0) <= actor.counts[FRESH_GAMES] < actor.counts[GAMES] / 2, (
        "games of the network begin at a start"
    )
