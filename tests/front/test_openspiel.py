"""Our games, players and leaves in OpenSpiel; its Connect Four beside ours."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games.refusals import one_line

pyspiel = pytest.importorskip("pyspiel", reason="no open_spiel")

from open_spiel.python.algorithms import generate_playthrough, mcts, minimax  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
QUICK = ("cassis", "friday", "threes", "trap", "trilobite", "pig", "race")
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("2048", "backgammon")]


def registered(game: Any, name: str) -> Any:
    """Returns a game of OpenSpiel, registered once a process."""
    if name not in pyspiel.registered_names():
        assert leafwise.openspiel.register(game, name) == name
    return pyspiel.load_game(name)


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns one of the package's games or of the examples' in OpenSpiel."""
    if name in leafwise.games():
        return registered(name, f"leafwise_{name}")
    monkeypatch.syspath_prepend(str(EXAMPLES / name))
    return registered(importlib.import_module(f"leafwise_{name}").GAME, f"leafwise_{name}")


@pytest.mark.parametrize("name", [*QUICK, "starship", *SLOW])
def test_games_pass_openspiels_own_test(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = loaded(name, monkeypatch)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
    rng, state = np.random.default_rng(1), game.new_initial_state()
    for _ in range(20):
        if state.is_terminal():
            break
        state.apply_action(int(rng.choice(state.legal_actions())))
    again = game.deserialize_state(state.serialize())
    assert str(again) == str(state)
    assert again.state == state.state
    assert str(game.new_initial_state({"position": str(state)})) == str(state)
    if not state.is_terminal() and not state.is_chance_node():
        acting = state.current_player()
        seen: Any = leafwise.GameEnv(state.state.game).observation_space
        sizes = [int(np.prod(box.shape)) for box in getattr(seen, "values", lambda: [seen])()]
        assert len(state.observation_tensor(acting)) == sum(sizes)
    clone = state.clone()
    assert clone.state is state.state


@pytest.mark.parametrize("name", [*QUICK, pytest.param("starship", marks=pytest.mark.long), *SLOW])
def test_a_playthrough_lists_the_whole_api(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(name, monkeypatch)
    lines = generate_playthrough.playthrough(f"leafwise_{name}", None, seed=1).splitlines()
    assert f'GameType.short_name = "leafwise_{name}"' in lines
    assert any(line.startswith("ObservationTensor(0)") for line in lines)
    if name in QUICK:
        assert lines == generate_playthrough.playthrough(f"leafwise_{name}", None, seed=1).splitlines()


def in_lockstep(games: range) -> None:
    ours, theirs = leafwise.game("trilobite", board="7x6", k=4), pyspiel.load_game("connect_four")
    for seed in games:
        rng, state, other = np.random.default_rng(seed), ours.start(), theirs.new_initial_state()
        while not state.is_terminal:
            assert (state.current_player, list(state.legal_actions)) == (other.current_player(), other.legal_actions())
            column = int(rng.choice(state.legal_actions))
            state = state.play(column)
            other.apply_action(column)
        assert other.is_terminal()
        assert other.returns() == [state.returns, -state.returns]


def test_connect_four_is_theirs() -> None:
    in_lockstep(range(30))


@pytest.mark.long
def test_connect_four_is_theirs_in_a_thousand_games() -> None:
    in_lockstep(range(1_000))


def test_their_alpha_beta_solves_our_game_and_their_search_takes_our_leaf() -> None:
    ours, game = leafwise.game("trilobite"), registered("trilobite", "leafwise_trilobite")
    solver = leafwise.player("solver", ours)
    for moves in ("", "1", "2213"):
        state = game.new_initial_state()
        for move in moves:
            state.apply_action(int(move) - 1)
        player = state.current_player()
        value, action = minimax.alpha_beta_search(game, state, maximizing_player_id=player)
        solution = solver.solver.solve(state.state)  # type: ignore[attr-defined]
        assert value == np.sign(solution.value)
        assert ours.actions[action] in solution.best_actions
    for leaf in ("lines", ours.score("lines")):
        search = mcts.MCTSBot(game, 1.0, 50, leafwise.openspiel.evaluator(leaf), random_state=np.random.RandomState(0))
        won = game.new_initial_state({"position": ".../xo./xo."})
        assert ours.actions[search.step(won)] == "1"


def test_a_leaf_is_worth_what_our_search_says() -> None:
    """At a decision, where chance acts, and for a leaf that is asked after the action."""
    threes = leafwise.game("threes")
    game = registered(threes, "leafwise_threes")
    state = game.new_initial_state({"position": str(threes.new(1))})
    rows, leaf = leafwise.openspiel.evaluator("rows"), threes.score("rows")
    assert rows.evaluate(state)[0] == pytest.approx(leafwise.Search(threes, leaf, 1)(state.state).value)
    state.apply_action(state.legal_actions()[0])
    assert state.is_chance_node()
    worth = leafwise.Search(threes, leaf, 1)(threes.new(1)).values[threes.new(1).legal_actions[0]]
    assert rows.evaluate(state)[0] == pytest.approx(worth)
    assert sum(p for _, p in rows.prior(state)) == pytest.approx(1)


def test_bots_play_by_name() -> None:
    game = registered("cassis", "leafwise_cassis")
    bots = [leafwise.openspiel.bot("greedy", seed) for seed in (1, 2)]
    state = game.new_initial_state()
    for bot in bots:
        bot.restart()
    while not state.is_terminal():
        state.apply_action(bots[state.current_player()].step(state))
    assert sum(state.returns()) == 0
    with one_line("expected a state of a game that leafwise.openspiel registered, got "):
        bots[0].step(pyspiel.load_game("tic_tac_toe").new_initial_state())


def test_names_are_given_once_and_observations_have_no_parameters() -> None:
    registered("trilobite", "leafwise_trilobite")
    with one_line("expected a name that OpenSpiel does not have, got 'leafwise_trilobite': name a variant"):
        leafwise.openspiel.register("trilobite")
    with one_line(r"expected max_game_length of 1 to 2\*\*31 - 1, got 0"):
        leafwise.openspiel.register("trilobite", "leafwise_other", max_game_length=0)
    with one_line("expected no parameters of an observation"):
        pyspiel.load_game("leafwise_trilobite").make_py_observer(None, {"a": 1})


def test_the_example_plays(capfd: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, str(EXAMPLES / "openspiel/alpha_beta.py"), "--games", "1", "--depth", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(("1 won", "0 won"))


def test_who_has_no_openspiel_is_told() -> None:
    code = "import sys; sys.modules['pyspiel'] = None; import leafwise; leafwise.openspiel"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: leafwise.openspiel needs pyspiel: pip install 'leafwise[openspiel]'" in done.stderr
