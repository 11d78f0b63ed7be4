"""Self-play: it learns without labels, and one sign convention holds."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.play.solver import UNKNOWN
from leafwise.envs.trilobite.solver import TrilobiteSolver
from leafwise.models import load_sparse
from leafwise.models.sparse import SparseNetwork
from leafwise.training import games
from leafwise.training.evaluation import matches
from leafwise.training.evaluation.agreement import critical_positions
from leafwise.training.evaluation.statistics import SequentialTest, expected_share
from leafwise.training.execution.executor import LocalRef
from leafwise.training.games import AFTERSTATE, CONTINUED, EXPLORED, guide_of, make_write_targets, new_record, new_table
from leafwise.training.networks import SparseModule, fit
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.files import Curves
from leafwise.training.selfplay import selfplay
from leafwise.training.selfplay.games import SearchRecorder, kernels, row_kernels
from running.networks import random_network
from running.training import cut_and_compare

GAME = leafwise.game("trilobite")
EVERY_STAGE = -1
"""As bits."""
SMALL: dict[str, Any] = {
    "game": "trilobite", "total_steps": 6, "positions": 3000, "buffer_size": 20_000, "epochs": 8.0, "plies": 7,
    "batch_size": 512, "hidden": (16, 8),
    "match_pairs": 200, "solver_positions": 60, "solver_opening_plies": (1, 7), "checkpoint_seconds": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return selfplay.train(selfplay.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def test_it_learns_to_keep_the_value(run) -> None:
    judged = critical_positions(GAME, 150, 5, (1, 7))
    learned = judged.share(leafwise.load(run))
    untrained = np.mean([judged.share(random_network(GAME, seed=seed).evaluator("x")) for seed in range(4)])
    assert learned > 0.9
    assert learned > untrained + 0.15
    events = Curves(run).read()
    assert len(events["eval/elo"]) == len(events["eval/keeps_value"]) == 6
    results = json.loads((run / "results.json").read_text())
    assert results["elo"] == results["score"]["elo"] > 0


def test_a_run_with_a_guide_reference_players_and_a_model_to_start_from(run, tmp_path) -> None:
    options = {**SMALL, "total_steps": 2, "solver_positions": 0, "match_pairs": 100}
    guided = selfplay.Config(
        run=str(tmp_path / "guided"), guide=GAME.default_score, guide_depth=2, **options,
        reference_players=("random", "greedy"), reference_pairs=20,
    )  # fmt: skip
    learner = selfplay.SelfPlay(guided)
    played = learner.play()
    assert played["rollout/ep_len_mean"] > 0
    assert learner.recorder.table.counts.sum() == 0  # the guide played at a table of its own
    path = selfplay.train(replace(guided, run=str(tmp_path / "whole")))
    events = Curves(path).read()
    assert events["eval/points_random"][-1][1] > 0.5
    assert [step for step, _ in events["eval/ladder_elo"]] == [1, 2]
    later = selfplay.Config(run=str(tmp_path / "later"), init_from=str(run), **options)
    learner = selfplay.SelfPlay(later)
    before = load_sparse(run / "model.safetensors", GAME).tensors
    assert all(np.array_equal(before[name], learner.newest.tensors[name]) for name in before)
    assert learner.description()["start"]["steps"] > 0
    with pytest.raises(ValueError, match=r"^expected --hidden 16 8 as in --init-from, or wider, got 8 8$"):
        selfplay.SelfPlay(replace(later, run=str(tmp_path / "other"), hidden=(8, 8)))


@pytest.mark.long
def test_a_wider_run_for_chances_goes_on_from_anothers_positions(run, tmp_path) -> None:
    options: dict[str, Any] = {
        **SMALL, "total_steps": 2, "positions": 500, "epochs": 2.0, "evaluate_every": 2, "match_pairs": 100, "solver_positions": 0,
        "head": "wdl", "hidden": (24, 8), "init_from": str(run), "replay_from": str(run), "surprise_repeats": 3,
        "buffer_size": 40_000,
    }  # fmt: skip
    learner = selfplay.SelfPlay(selfplay.Config(run=str(tmp_path / "cut"), **options))
    before = learner.replay.filled
    earlier = leafwise.models.files.load_tensors(run / "state.safetensors")[0]
    assert before == len(earlier["rows"])
    assert np.sort(learner.replay["targets"][:before]).tolist() == np.sort(earlier["targets"]).tolist()
    assert (learner.newest.head, learner.newest.hidden) == ("wdl", (24, 8))
    room = learner.recorder.room
    learner.play()
    rows, targets = room.rows[:200].copy(), room.targets[:200].copy()
    off = np.abs(learner.newest.batch(rows, learner.recorder.tables(learner.newest, GAME)) - targets) > 0.5
    assert 0 < off.sum() < 200
    place = learner.replay.next
    learner.keep(0, rows, targets, repeats=3)
    times = np.where(off, 3, 1)
    assert np.array_equal(learner.replay["rows"][place : learner.replay.next], rows.repeat(times, axis=0))
    assert np.array_equal(learner.replay["targets"][place : learner.replay.next], targets.repeat(times))
    learner.folder.lock.release()
    whole = selfplay.train(selfplay.Config(run=str(tmp_path / "whole"), **options))
    cut_and_compare(selfplay.SelfPlay, selfplay.Config(run=str(tmp_path / "again"), **options), whole)
    assert leafwise.load(whole).compiled is not leafwise.load(run).compiled


def test_the_replay_of_another_variant_is_refused(run, tmp_path) -> None:
    config = selfplay.Config(run=str(tmp_path / "run"), replay_from=str(run), **SMALL, variant="board=5x5,k=4")
    with pytest.raises(ValueError, match=r"^expected --replay-from of trilobite board=5x5,k=4 by this method, got "):
        selfplay.SelfPlay(config)
    with pytest.raises(ValueError, match=r"^expected a run with a state as --replay-from, got 'nowhere'$"):
        selfplay.SelfPlay(replace(config, run=str(tmp_path / "other"), replay_from="nowhere"))


def test_swapping_the_players_of_a_match_negates_it() -> None:
    one, other = (GAME.tables(random_network(GAME, seed=seed).evaluator("x")) for seed in (1, 2))
    play = games.kernels(GAME, random_network(GAME, seed=1).evaluator("x")).play_matches
    keys = np.arange(40, dtype=np.uint64)
    first, second = np.zeros((40, 2)), np.zeros((40, 2))
    play(new_table(GAME, 1, 0), keys, first, 1, 4, None, one, other)
    play(new_table(GAME, 1, 0), keys, second, 1, 4, None, other, one)
    assert np.array_equal(first, -second[:, ::-1])
    assert np.abs(first).sum() > 10


@pytest.mark.parametrize("decay", [0.0, 0.6, 1.0])
def test_targets_are_for_the_player_who_acts_and_swapping_the_seats_negates_them(decay: float) -> None:
    write_targets, rng = make_write_targets(GAME), np.random.default_rng(3)
    D, T = new_record(GAME, 6), GAME.tables()
    state = GAME.start()
    for t, move in enumerate("123321"):
        D.rows[t] = state.row
        state = state.play(move)
    D.values[:] = rng.uniform(-1, 1, 6)
    D.kinds[2] = EXPLORED
    values = D.values.copy()
    write_targets(D, 0, 6, 1.0, decay, T)
    targets = D.targets.copy()
    expected, following = np.zeros(6), 1.0
    for t in reversed(range(6)):
        following = values[t] if t == 2 else (1 - decay) * values[t] + decay * following
        expected[t] = following if t % 2 == 0 else -following
    assert targets == pytest.approx(expected)
    D.values[:] = -values
    write_targets(D, 0, 6, -1.0, decay, T)
    assert D.targets == pytest.approx(-targets)


def test_recorded_targets_of_won_positions_are_wins() -> None:
    network = random_network(GAME, seed=4)
    T, D = GAME.tables(network.evaluator("x")), new_record(GAME, 600)
    run = kernels(GAME, network.evaluator("x")).record_games
    n = run(new_table(GAME, 1, 5), D, 500, 1, 6, np.inf, 0.0, 0.0, 0.0, False, 0.0, False, EVERY_STAGE, T, T)
    assert n >= 500
    wins = 0
    for row, target in zip(D.rows[:n], D.targets[:n], strict=True):
        state = leafwise.State(GAME, row)
        after = [state.play(a) for a in state.legal_actions]
        if any(s.is_terminal and s.returns == 1 - 2 * state.current_player for s in after):
            assert target == 1.0
            wins += 1
        else:
            assert target < 1.0
    assert wins > 20


def recorder(**options: Any) -> SearchRecorder:
    config = selfplay.Config(game="trilobite", **{"plies": 3, "pool_share": 0.3, "exploration": 0.3, **options})
    return SearchRecorder([GAME], random_network(GAME, seed=4), config, positions=400)


def test_positions_that_are_solved_have_their_true_values_as_targets() -> None:
    network, solver = random_network(GAME, seed=4), TrilobiteSolver(GAME, 4)
    exact = recorder(exact_nodes=10_000).piece(GAME, 400, network, network, 3)
    played = recorder().piece(GAME, 400, network, network, 3)
    assert (exact.rows == played.rows).all()
    assert [int(target) for target in exact.targets] == [solver.value(leafwise.State(GAME, row)) for row in exact.rows]
    assert np.abs(exact.targets - played.targets).max() > 0.5


@pytest.mark.parametrize("by_turns", [False, True])
def test_states_of_chance_alone_may_be_recorded_and_lambda_may_count_turns(by_turns: bool) -> None:
    """In the dice race a turn is several actions, with throws between; `wild` alone goes on without one."""
    game, decay = dice.seen(dice.side_in_turn), 0.5
    network = random_network(game, seed=4)
    T, run = game.tables(network.evaluator("x")), kernels(game, network.evaluator("x")).record_games
    whole, some = new_record(game, 3000), new_record(game, 3000)
    arguments = 1, 6, np.inf, 0.1, 0.0, decay, False, 0.0, by_turns
    n = run(new_table(game, 1, 5), whole, 600, *arguments, EVERY_STAGE, T, T)
    m = run(new_table(game, 1, 5), some, 50, *arguments, 1 << game.stages.index("die"), T, T)
    chance = np.flatnonzero(whole.kinds[:n] == AFTERSTATE)[:m]
    assert len(chance) >= 50
    assert np.array_equal(some.rows[: len(chance)], whole.rows[chance])
    assert np.array_equal(some.targets[: len(chance)], whole.targets[chance])
    wild = game.actions.index("wild")
    continued = np.flatnonzero(whole.kinds[:n] == CONTINUED)
    assert bool(len(continued)) == by_turns
    for t in continued:  # the same player decided before, no throw between, and its own value does not count
        before, here = (leafwise.State(game, row) for row in whole.rows[t - 1 : t + 1])
        assert before.play(wild) == here
        worth = [
            whole.targets[k] * (1 - 2 * max(leafwise.State(game, whole.rows[k]).current_player, 0)) for k in (t, t + 1)
        ]
        assert t + 1 == n or whole.first[t + 1] != whole.first[t] or worth[0] == worth[1]


@pytest.mark.parametrize("decay", [0.0, 0.6])
def test_targets_before_a_solved_position_are_those_of_a_game_that_ends_with_its_value(decay: float) -> None:
    write, rng = row_kernels(GAME.with_defaults).write_all_targets, np.random.default_rng(3)
    D, T, state = new_record(GAME, 6), GAME.tables(), GAME.start()
    for t, move in enumerate("123321"):
        D.rows[t] = state.row
        state = state.play(move)
    D.values[:] = rng.uniform(-1, 1, 6)
    D.outcomes[:] = 1.0
    exact = np.full(6, UNKNOWN, dtype=np.int8)
    exact[3], values = -1, D.values.copy()  # a win for the first player, as it is the second's turn
    write(D, 6, exact, decay, T)
    following = 1.0
    for t in reversed(range(3)):
        following = (1 - decay) * values[t] + decay * following
        assert D.targets[t] == pytest.approx(following if t % 2 == 0 else -following)
    assert D.targets[3] == -1.0


def test_openings_may_be_even() -> None:
    network = random_network(GAME, seed=4)
    for even in (1.0, 0.2):
        games = recorder(max_opening_value=even, plies=5, pool_share=0.0)
        n = len(games.piece(GAME, 300, network, network, 3).rows)
        starts = np.unique(games.room.first[:n])
        values = np.abs(games.room.values[starts])
        assert (values.max() > 0.2) == (even == 1.0)


def test_the_sequential_test_errs_as_seldom_as_it_says() -> None:
    test = SequentialTest(0.0, 60.0, 0.05)
    rng = np.random.default_rng(1)

    def decide(elo: float) -> bool:
        pairs = np.zeros(0)
        while (answer := test.decision(pairs)) is None:
            games = rng.random((50, 2)) < expected_share(elo)
            pairs = np.concatenate([pairs, games.mean(axis=1)])
        return answer

    assert np.mean([decide(0.0) for _ in range(200)]) <= 0.09
    assert np.mean([decide(60.0) for _ in range(200)]) >= 0.91
    assert test.decision(np.full(2000, 0.5)) is False
    assert test.decision(np.ones(100)) is True
    assert test.decision(np.ones(10)) is None


@pytest.mark.parametrize("steps", range(1, 9))
def test_an_iteration_may_be_of_any_few_steps(steps: int) -> None:
    game = leafwise.game("cassis")
    module = SparseModule(SparseNetwork.create(game, (8, 8)))
    features = np.zeros((4, game.features["sparse"].most(game.options)), dtype=np.int64)
    loss = fit(module, lambda: (features, np.zeros(4, dtype=np.float32)), steps, 0.01)
    assert loss == pytest.approx(np.log(2), abs=0.05)


def test_a_share_of_a_match_begins_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def play_matches(table, keys, results, depth, plies, options, new, old):
        asked.append((keys.tolist(), plies))
        results[:] = plies

    monkeypatch.setattr(matches, "new_table", lambda *_, **limits: None)
    monkeypatch.setattr(matches, "kernels", lambda *_: SimpleNamespace(play_matches=play_matches))
    results = matches.play_pairs(
        LocalRef((random_network(GAME, seed=0), random_network(GAME, seed=1))), range(4), 1, 6, 0.0, None, 0.25
    )
    assert asked == [([SELECTION_SEED], 0), ([SELECTION_SEED + k for k in (1, 2, 3)], 6)]
    assert results[:, 0].tolist() == [0, 6, 6, 6]


def test_a_guide_is_a_score_or_a_model() -> None:
    trap = leafwise.game("trap")
    score, model = guide_of(trap, "reach"), guide_of(trap, "trap")
    assert guide_of(trap, "") is None
    assert score is not None
    assert score.name == "reach"
    assert model is not None
    assert model.weights.sizes[-1] == 1
    with pytest.raises(ValueError, match="'nobody'"):
        guide_of(trap, "nobody")
