"""The single environment: gymnasium's rules, illegal actions, rewards, opponents, keywords, and what wrappers rely on."""

from __future__ import annotations

import inspect
import itertools
import pickle
import warnings
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

import leafwise
from games import dice
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream, u64
from leafwise.envs.core.fields import docs_of, types_of
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.env_page import table
from leafwise.envs.core.gym.keywords import EnvOptions, Kind, fields_of
from leafwise.envs.core.gym.observation import Observation
from leafwise.envs.core.gym.stepper import _rebuild
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.play.players import compiled_greedy, rows_needed

# The single environment: gymnasium's rules, illegal actions, rewards, opponents, and states that go on.


DEAD = "1 1 2 2/2 2 1 1/1 1 2 2/2 2 1 1 deck=4,4,4"


def boxed(obs: Observation) -> np.ndarray[Any, Any]:
    """Returns the observation of a game that has one array only."""
    assert isinstance(obs, np.ndarray)
    return obs


def play_episode(env: GameEnv, random: np.random.Generator, **reset: Any) -> list[tuple[Any, ...]]:
    """Plays random legal actions to the end; returns the result of every call, arrays as bytes."""
    obs, info = env.reset(**reset)
    steps: list[tuple[Any, ...]] = [(boxed(obs).tobytes(), info["action_mask"].tobytes())]
    terminated = False
    while not terminated:
        action = random.choice(np.flatnonzero(info["action_mask"]))
        obs, reward, terminated, truncated, info = env.step(action)
        steps.append((boxed(obs).tobytes(), reward, terminated, truncated, info["action_mask"].tobytes()))
    return steps


@pytest.mark.parametrize("env_id", [name for name in gym.registry if name.startswith("leafwise/")])
def test_every_id_passes_gymnasiums_check(env_id: str) -> None:
    check_env(gym.make(env_id).unwrapped, skip_render_check=True)  # test_window.py has the window
    made = gym.make(env_id, render_mode="ansi")
    made.reset(seed=1)
    made.step(made.action_space.sample())
    assert isinstance(made.render(), str)


@pytest.mark.parametrize("game", [leafwise.game("threes"), dice.GAME], ids=lambda game: game.name)
def test_a_seed_tells_the_whole_future(game: leafwise.Game) -> None:
    first, second = GameEnv(game), GameEnv(game)
    stories = [
        [
            play_episode(env, np.random.default_rng(0), **reset)
            for reset in ({"seed": 5}, {}, {}, {"seed": 6}, {"seed": 5})
        ]
        for env in (first, second)
    ]
    assert stories[0] == stories[1]
    one, *others, again = stories[0]
    assert again == one
    assert one not in others


def test_environments_without_a_seed_differ() -> None:
    boards = {boxed(GameEnv("threes").reset()[0]).tobytes() for _ in range(4)}
    assert len(boards) == 4


def test_returned_arrays_never_share_memory() -> None:
    env = GameEnv("threes")
    obs, info = env.reset(seed=0)
    arrays = [obs, info["action_mask"], env.action_masks()]
    for _ in range(3):
        obs, _, _, _, info = env.step(int(np.argmax(info["action_mask"])))
        arrays += [obs, info["action_mask"], env.action_masks(), *env.get_state().values()]
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))


@pytest.mark.parametrize("game", [leafwise.game("threes"), dice.GAME], ids=lambda game: game.name)
def test_masks_show_the_legal_actions_and_are_all_ones_at_the_end(game: leafwise.Game) -> None:
    env = GameEnv(game)
    random = np.random.default_rng(1)
    _, info = env.reset(seed=3)
    terminated = False
    while not terminated:
        assert info["action_mask"].dtype == np.int8
        assert tuple(np.flatnonzero(info["action_mask"])) == env.state.legal_actions
        assert env.action_masks().dtype == np.bool_
        assert (env.action_masks() == info["action_mask"]).all()
        _, _, terminated, _, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
    assert env.state.is_terminal
    assert info["action_mask"].all()
    assert env.action_masks().all()


@pytest.mark.parametrize("names", [{}, {"observation": "obs", "mask": "mask"}])
def test_the_mask_stands_in_the_observation_under_the_names_asked_for(names: dict[str, str]) -> None:
    made = leafwise.MaskedObservation(gym.make("leafwise/Trilobite-v0"), **names)
    first, second = names.get("observation", "observation"), names.get("mask", "action_mask")
    for env in (made, gym.make(made.spec)):  # type: ignore[arg-type]
        plain = GameEnv("trilobite")
        steps: list[Any] = [(env.reset(seed=3), plain.reset(seed=3)), (env.step(2), plain.step(2))]
        for (seen, *_, info), (plain_obs, *_, plain_info) in steps:
            assert env.observation_space.contains(seen)
            assert list(seen) == [first, second]
            assert (seen[first] == plain_obs).all()
            assert (seen[second] == plain_info["action_mask"]).all()
            assert (info["action_mask"] == plain_info["action_mask"]).all()


def test_score_sums_to_the_return() -> None:
    env = GameEnv("threes")
    for seed in range(3):
        story = play_episode(env, np.random.default_rng(seed), seed=seed)
        assert sum(step[1] for step in story[1:]) == env.state.returns > 0


def test_other_rewards() -> None:
    survival, merges, score = (GameEnv("threes", reward=name) for name in ("survival", "merges", "score"))
    story = play_episode(survival, np.random.default_rng(0), seed=0)
    assert [step[1] for step in story[1:]] == [1.0] * (len(story) - 1)
    merged = play_episode(merges, np.random.default_rng(0), seed=0)
    scored = play_episode(score, np.random.default_rng(0), seed=0)
    assert [step[0] for step in merged] == [step[0] for step in scored] == [step[0] for step in story]
    # a step's score is its merges and the points of the tile that enters: 3 for a 3 or (6, 12, ...) a bonus
    entered = {a[1] - b[1] for a, b in zip(scored[1:], merged[1:], strict=True)}
    assert {0.0, 3.0} <= entered <= {0.0, 3.0, 9.0, 27.0}


@pytest.mark.parametrize("seat", ["first", "second"])
def test_two_players_lose_by_an_illegal_action(seat: str) -> None:
    env = GameEnv(dice.GAME, seat=seat)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(dice.HOLD)  # there is nothing to hold at the start of a turn
    assert (reward, terminated) == (-1.0, True)
    assert info["illegal"] == "dice: 'hold' is not legal here, the game is lost"


ENV, BATCH, TURNS, OPPONENT = (
    GameEnv,
    partial(GameVectorEnv, 2),
    leafwise.aec,
    "expected opponent among random, greedy, ",
)
PLAYERS = ".*search:LEAF,depth=3, .*, a Player or a function of the state"


@pytest.mark.parametrize(
    ("make", "game", "keywords", "message"),
    [
        (ENV, "chess", {}, r"expected a game among .*threes.*, got 'chess'"),
        (ENV, "threes", {"hint": "none"}, r"threes: expected hint among plus, .*, got 'none'"),
        (ENV, "threes", {"reward": "fun"}, r"threes: expected reward among score, merges, survival, got 'fun'"),
        (ENV, "threes", {"illegal": "ignore"}, r"threes: expected illegal among lose, noop, raise, got 'ignore'"),
        (TURNS, "threes", {"illegal": "ignore"}, r"threes: expected illegal among lose, noop, raise, got 'ignore'"),
        (
            ENV,
            "threes",
            {"render_mode": "film"},
            r"threes: expected render_mode among human, ansi, rgb_array, got 'film'",
        ),
        (
            TURNS,
            "threes",
            {"render_mode": "film"},
            r"threes: expected render_mode among human, ansi, rgb_array, got 'film'",
        ),
        (BATCH, "threes", {"render_mode": "human"}, r"threes: expected render_mode among ansi, rgb_array, got 'human'"),
        (
            BATCH,
            "threes",
            {"autoreset_mode": "Never"},
            r"threes: expected autoreset_mode among NextStep, .*, got 'Never'",
        ),
        (BATCH, dice.GAME, {"autoreset_mode": None}, r"dice: expected autoreset_mode among NextStep, .*, got None"),
        (partial(GameVectorEnv, 0), "threes", {}, r"threes: expected num_envs of 1 to 2\*\*63 - 1, got 0"),
        (partial(GameVectorEnv, "8"), "threes", {}, r"threes: expected num_envs of 1 to 2\*\*63 - 1, got '8'"),  # type: ignore[arg-type]
        (ENV, "threes", {"seat": "second"}, r"threes: expected no seat in a single-player game, got 'second'"),
        (ENV, dice.GAME, {"seat": 1}, r"dice: expected seat among first, second, random, got 1"),
        (ENV, dice.GAME, {"seat": None}, r"dice: expected seat among first, second, random, got None"),
        (ENV, "threes", {"opponent": "random"}, r"threes: expected no opponent in a single-player game, got 'random'"),
        (ENV, dice.GAME, {"opponent": "lead"}, rf"dice: {OPPONENT}greedy:lead, .*'lead'"),
        (ENV, dice.GAME, {"opponent": "greedy:"}, rf"dice: {OPPONENT}.*, got 'greedy:'"),
        (ENV, dice.GAME, {"opponent": 3}, rf"dice: {OPPONENT}.*, got 3"),
        (
            ENV,
            "trilobite",
            {"opponent": "dfs"},
            rf"trilobite: {OPPONENT}greedy:lines, solver, minimax, {PLAYERS}, got 'dfs'",
        ),
        (
            ENV,
            "trilobite",
            {"opponent": "search:lines,depth=0"},
            "trilobite: opponent 'search:lines,depth=0': .*expected depth of 1 to 64.*",
        ),
        (ENV, "trilobite", {"opponent": "greedy:nonsense"}, ".*expected a leaf among best, lines, .*, got 'nonsense'"),
        (ENV, "cassis", {"opponent": "solver:level=x"}, ".*expected level among easy, medium, hard, best, got 'x'"),
        (ENV, "cassis", {"opponent": "dfs:x"}, ".*expected key among board, degree, colours, canonical, got 'x'"),
        *(
            (
                ENV,
                "threes",
                {"max_episode_steps": steps},
                r"threes: expected max_episode_steps of 1 to 2\*\*62 - 1, got .*",
            )
            for steps in (0, -1, 2.5, "9", True, 2**62)
        ),
        *(
            (ENV, "threes", {"plies": plies}, rf"threes: expected plies of 0 to 1,000, got {plies!r}")
            for plies in (-1, 1001, 2.0, True, "3", None)
        ),
    ],
)
def test_wrong_keywords_get_one_line(make: Any, game: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make(game, **keywords)


def test_pictures() -> None:
    env = GameEnv("threes", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == env.state.board()
    env = GameEnv("threes", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert GameEnv("threes").render() is None


def test_seats() -> None:
    seats: dict[str, set[int]] = {}
    for seat in ("first", "second", "random"):
        env = GameEnv(dice.GAME, opponent="random", seat=seat)
        env.reset(seed=0)
        seats[seat] = set()
        for _ in range(20):
            env.reset()
            terminated = False
            while not terminated:
                mover = env.state.current_player
                _, reward, terminated, _, _ = env.step(env.state.legal_actions[0])
                seats[seat].add(mover)
            assert reward == (-1.0 if mover else 1.0) * env.state.returns
    assert seats == {"first": {0}, "second": {1}, "random": {0, 1}}


def naive_values(state: State, evaluator: Evaluator) -> dict[int, float]:
    """Returns each action's expected value for the acting player, by plain recursion."""

    def value(after: State) -> float:
        """Player 0's."""
        if after.is_terminal and evaluator.terminal == "returns":
            return after.returns
        if after.is_terminal and isinstance(evaluator.terminal, tuple):
            win, draw, loss = evaluator.terminal
            return win if after.returns > 0 else loss if after.returns < 0 else draw
        if after.is_chance and after.stage != evaluator.stage:
            return sum(p * value(outcome) for p, outcome in after.outcomes())
        number = after.value(evaluator) * (-1 if after.current_player == 1 else 1)
        return number + (after.returns if evaluator.to_go else 0)

    sign = -1 if state.current_player == 1 else 1
    return {action: sign * value(state.play(action)) for action in state.legal_actions}


@pytest.mark.parametrize(
    "evaluator",
    [
        dice.GAME.score("lead"),
        dice.GAME.score("lead_at_die"),
        leafwise.game("threes").score("openness"),
        leafwise.game("threes").score("rows"),
        Evaluator("lead_to_go", dice.lead, to_go=True, terminal="evaluate"),
    ],
    ids=lambda evaluator: evaluator.name,
)
def test_greedy_takes_the_best_expected_value(evaluator: Evaluator) -> None:
    game = leafwise.game("threes") if evaluator.name in ("openness", "rows") else dice.GAME
    greedy, tables = compiled_greedy(game, evaluator), game.tables(evaluator)
    rows, stream = game.rows(1 + rows_needed(game)), new_stream(7)
    legal, P = np.zeros(game.max_actions, dtype=np.int64), np.zeros(len(rows))
    taken: set[bool] = set()
    random = np.random.default_rng(0)
    for seed in range(3):
        state = game.new(seed)
        for _ in range(12):
            if state.is_terminal:
                break
            rows[0] = state.row
            values = naive_values(state, evaluator)
            best = {a for a, v in values.items() if v == pytest.approx(max(values.values()), abs=1e-9)}
            chosen = {int(greedy(rows, u64(0), u64(1), legal, P, stream, tables)) for _ in range(30)}
            assert chosen <= best
            taken.add(len(chosen) > 1)
            state = state.play(int(random.choice(state.legal_actions))).settle(stream)
    assert False in taken


def test_greedy_breaks_ties_at_random() -> None:
    game, evaluator = dice.GAME, dice.GAME.score("lead")
    greedy, tables = compiled_greedy(game, evaluator), game.tables(evaluator)
    rows, stream = game.rows(1 + rows_needed(game)), new_stream(0)
    rows[0] = game.new(0).row  # left and right are alike at the start
    legal, P = np.zeros(game.max_actions, dtype=np.int64), np.zeros(len(rows))
    chosen = [int(greedy(rows, u64(0), u64(1), legal, P, stream, tables)) for _ in range(2000)]
    values = naive_values(game.new(0), evaluator)
    best = [a for a, v in values.items() if v == pytest.approx(max(values.values()))]
    assert len(best) > 1
    for action in best:
        assert chosen.count(action) == pytest.approx(2000 / len(best), rel=0.15)


def test_a_greedy_opponent_beats_a_random_agent() -> None:
    total = {}
    for opponent in ("greedy", "random"):
        env = GameEnv(dice.GAME, opponent=opponent, seat="random")
        random = np.random.default_rng(0)
        stories = [play_episode(env, random, **({"seed": 0} if n == 0 else {})) for n in range(400)]
        total[opponent] = sum(story[-1][1] for story in stories)
    assert total["greedy"] < total["random"] - 50


# Every option of environments stands twice: in `EnvOptions`, and with the same type and default in the signatures that take it.


ROOT = Path(__file__).resolve().parents[4]
THREES = leafwise.game("threes")
SPEC = gym.spec("leafwise/Threes-v0")
assert SPEC.entry_point is not None
assert SPEC.vector_entry_point is not None
SIGNATURES: dict[str, tuple[Any, Kind]] = {
    "GameEnv": (GameEnv, "single"),
    "GameVectorEnv": (GameVectorEnv, "batch"),
    "aec": (leafwise.aec, "turns"),
    "make": (load_env_creator(SPEC.entry_point), "single"),  # type: ignore[arg-type]
    "make_vec": (load_env_creator(SPEC.vector_entry_point), "batch"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("which", SIGNATURES)
def test_signatures_and_options_are_the_same(which: str) -> None:
    call, kind = SIGNATURES[which]
    keywords = [p for p in inspect.signature(call).parameters.values() if p.kind is p.KEYWORD_ONLY]
    types = types_of(EnvOptions)
    options = [(one.name, types[one.name], one.default) for one in fields_of(kind)]
    assert [(p.name, p.annotation, p.default) for p in keywords] == options


def test_every_option_is_explained() -> None:
    docs = docs_of(EnvOptions)
    assert list(docs) == [one.name for one in fields(EnvOptions)]
    for environment, kind in ((GameEnv, "single"), (GameVectorEnv, "batch")):
        for one in fields_of(kind):  # type: ignore[arg-type]
            assert f"        {one.name}: {docs[one.name].splitlines()[0]}" in str(environment.__doc__)


def test_the_documentation_has_the_table_of_keywords() -> None:
    text = (ROOT / "docs/howto/environments.md").read_text(encoding="utf-8")
    says = {name: text.partition("\n\n")[0] for name, text in docs_of(EnvOptions).items()}
    rows = [[f"`{one.name}`", ", ".join(one.metadata["kinds"]), says[one.name]] for one in fields(EnvOptions)]
    assert f"\n{table(['keyword', 'environments', 'meaning'], rows)}\n" in text


def test_a_default_says_what_it_is_in_a_game() -> None:
    def made(game: leafwise.Game, kind: Kind) -> EnvOptions:
        return EnvOptions().checked(game, kind)

    assert made(THREES, "single") == EnvOptions(None, "score", "noop", "greedy")
    assert [made(game, "batch").illegal for game in (THREES, dice.GAME)] == ["noop", "lose"]
    assert [made(game, "turns").illegal for game in (THREES, dice.GAME)] == ["lose", "lose"]
    assert EnvOptions(autoreset_mode="SAME_STEP").checked(THREES, "batch").autoreset_mode is AutoresetMode.SAME_STEP
    plies = EnvOptions(plies=np.uint8(3)).checked(THREES, "single").plies  # type: ignore[arg-type]
    assert (plies, type(plies)) == (3, int)


def test_compiled_code_sees_numbers() -> None:
    given = EnvOptions(illegal="raise", seat="random", autoreset_mode="Disabled", max_episode_steps=9, plies=4)
    numbers = {"illegal": 2, "seat": 2, "autoreset_mode": 0, "max_episode_steps": 9, "plies": 4}
    assert given.checked(dice.GAME, "batch").compiled()._asdict() == numbers
    assert pickle.loads(pickle.dumps(given.checked(dice.GAME, "batch").compiled())).plies == 4


def test_an_environment_that_an_older_version_pickled_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^threes: expected an environment pickled by this version of leafwise, got "):
        _rebuild(THREES, 1, {"plies": 0}, {})  # type: ignore[arg-type]


# What wrappers and learners of others rely on: unknown keywords, seeds, Gymnasium's wrappers of batches.


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (lambda **keywords: GameEnv("threes", **keywords), "render_mode, .*, max_episode_steps, .*, hint"),
        (lambda **keywords: GameVectorEnv(2, "threes", **keywords), "num_envs, .*, autoreset_mode, .*, hint"),
        (lambda **keywords: gym.make("leafwise/Threes-v0", **keywords), "render_mode, .*, hint"),
        (lambda **keywords: gym.make_vec("leafwise/Threes-v0", num_envs=2, **keywords), "num_envs, .*, hint"),
        (lambda **keywords: leafwise.aec("threes", **keywords), "render_mode, illegal, .*, hint"),
    ],
    ids=["env", "batch", "make", "make_vec", "aec"],
)
def test_unknown_keywords_are_type_errors(make: Callable[..., Any], known: str) -> None:
    """As wrappers wait for that try a keyword out: TorchRL's GymEnv goes on without `frameskip` then."""
    message = f"^threes: got an unexpected keyword argument 'frameskip', expected some of {known}"
    with pytest.raises(TypeError, match=message):
        make(frameskip=1)


@pytest.mark.parametrize("name", [*leafwise.games(), "dice"])
def test_a_seed_is_the_same_game_everywhere(name: str) -> None:
    game = dice.GAME if name == "dice" else leafwise.game(name)
    env, table = GameEnv(game), leafwise.aec(game)
    batch = GameVectorEnv(2, game)
    batch.reset(seed=6)
    for seed in (0, 7, 2**64 - 1):
        env.reset(seed=seed)
        table.reset(seed=seed)
        assert env.state == table.position == game.new(seed)
    assert batch.state(1) == game.new(7)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "DictInfoToList": wrappers.DictInfoToList,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda batch: wrappers.ClipReward(batch, -1.0, 1.0),
    "TransformObservation": lambda batch: wrappers.TransformObservation(batch, lambda obs: obs),
    "VectorizeTransformObservation": lambda batch: wrappers.VectorizeTransformObservation(
        batch, gym.wrappers.TransformObservation, func=lambda obs: obs, observation_space=None
    ),
    "FlattenObservation": wrappers.FlattenObservation,
    "RescaleObservation": lambda batch: wrappers.RescaleObservation(batch, 0.0, 1.0),
    "DtypeObservation": lambda batch: wrappers.DtypeObservation(batch, np.float64),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_wrappers_take_a_batch(name: str) -> None:
    batch = gym.make_vec("leafwise/Trap-v0", num_envs=3, opponent="random", max_episode_steps=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of casts, which are Gymnasium's own
        wrapped = WRAPPERS[name](batch)
        obs, _ = wrapped.reset(seed=0)
        for _ in range(30):
            obs, _, terminated, truncated, infos = wrapped.step(batch.action_masks().argmax(axis=1))  # type: ignore[attr-defined]
            assert len(obs) == 3
            if name == "RecordEpisodeStatistics" and (terminated | truncated).any():
                assert (infos["episode"]["l"][terminated | truncated] <= 12).all()
                break
        else:
            assert name != "RecordEpisodeStatistics"
    wrapped.close()
