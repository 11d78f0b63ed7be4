"""Views: what each player sees at each time, views of rows, and the labels of all numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from games import dice, nim
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.check.rule_caller import PLAIN
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream, u64
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.observation import Observer, new_observations
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.friday import layout
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_KNOWLEDGE
from leafwise.envs.starship.tables import PARTS_PLACED
from leafwise.training.dataset import collect_dataset
from leafwise.training.sb3 import Sb3VecEnv

# Every player of a two-player game sees the game from its own side: at every time, and at the end of it.


GAMES = [leafwise.game("trilobite"), leafwise.game("cassis", n=5), leafwise.game("trap", size=3), dice.GAME, nim.GAME]


def view(state: State, player: int) -> Any:
    """Returns what a player sees, read from the text of a position or, of the dice race, from its row."""
    name, text = state.game.name, str(state)
    if name == "trilobite":
        return [{".": 0, "xo"[player]: 1, "xo"[1 - player]: -1}[cell] for cell in text.replace("/", "")]
    if name == "cassis":
        return [int(state.row[player]) >> e & 1 or -(int(state.row[1 - player]) >> e & 1) for e in range(10)]
    if name == "trap":
        board = text.split()[0].replace("/", "")
        planes = [[int(cell == mark) for cell in board] for mark in (*("12", "21")[player], "#")]
        throwing = bool(int(state.row[1]) >> 31 & 3)
        return np.array([*planes, [int(throwing)] * 9]).reshape(4, 3, 3).tolist()
    seen = np.asarray(Observer(state.game)(state.row[None]).obs)[0]
    if name == "dice" and player != max(state.current_player, 0):
        seen = seen[[2, 3, 0, 1, 4, 5, 6, 7]]
    return seen.tolist()


def draw(random: np.random.Generator, mask: NDArray[Any]) -> int:
    return int(random.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_agents_of_pettingzoo_see_their_own_side(game: leafwise.Game) -> None:
    env: Any = leafwise.aec(game)
    random, ends = np.random.default_rng(1), 0
    for seed in range(12):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            for player, name in enumerate(env.possible_agents):
                assert env.observe(name)["observation"].tolist() == view(env.position, player)
            obs, _, terminated, _, _ = env.last()
            assert obs["observation"].tolist() == view(env.position, env.possible_agents.index(agent))
            ends += terminated
            env.step(None if terminated else draw(random, obs["action_mask"]))
    assert ends == 24


# Other views show what the game's own observation shows, written otherwise.


def threes_numbers(planes: Any) -> Any:
    """Returns the observation that the planes of Threes describe."""
    tile, bonus = planes[16:21, 0, 0], np.flatnonzero(planes[21:33, 0, 0])
    shown = 16 * (bonus[0] + 4) + bonus[-1] + 4 if len(bonus) else (np.argmax(tile) + 1) * tile.max()
    return np.array([*planes[:16].argmax(axis=0).ravel(), shown, *(4 * planes[33:, 3, 3])])


def ship_numbers(seen: Any) -> Any:
    """Returns the observation that planes describe; each number has the same value in every cell."""
    assert (seen[25:] == seen[25:, :1, :1]).all()
    return np.concatenate([seen[:25].ravel(), seen[25:, 0, 0]])


def friday_numbers(seen: Any) -> Any:
    """Returns the observation that numbers of 0 and 1 describe."""
    kinds = seen[356:].reshape(22, -1)
    at = [
        k
        for k, name in enumerate(names(leafwise.game("friday")))
        if re.match("bottom|top|looked|first h|second h|doubled|acting card", name)
    ]
    seen[at] = (kinds.argmax(axis=1) + 1) * kinds.max(axis=1)
    return seen[:356]


VIEWS: list[Any] = [
    ("trilobite", "planes", {"board": "7x6", "k": 4}, lambda seen: (seen[0] - seen[1]).ravel()),
    ("cassis", "onehot", {"n": 5}, lambda seen: seen[:10] - seen[10:]),
    ("trap", "planes", {"size": 3}, lambda seen: seen),
    ("threes", "planes", {}, threes_numbers),
    ("threes", "planes", {"hint": "window3", "bonus_value": "window3"}, threes_numbers),
    ("friday", "onehot", {}, friday_numbers),
    pytest.param("starship", "planes", {"targets": '{"thrust": 40}'}, ship_numbers, marks=pytest.mark.long),
]


def flat(obs: Any) -> Any:
    """Returns observations [n, ...], or a dict of them, as one array [n, numbers]."""
    arrays = obs.values() if isinstance(obs, dict) else [obs]
    return np.concatenate([array.reshape(4, -1) for array in arrays], axis=1)


@pytest.mark.parametrize(("name", "which", "options", "numbers"), VIEWS)
def test_a_view_shows_what_the_observation_shows(name: str, which: str, options: dict[str, Any], numbers: Any) -> None:
    """In batches too, with the last observation."""
    game, random = leafwise.game(name, **options), np.random.default_rng(0)
    how: dict[str, Any] = {
        "autoreset_mode": "SameStep",
        **({"seat": "random", "opponent": "random"} if game.players == 2 else {}),
    }
    plain, other = (GameVectorEnv(4, game, observation=view, **how) for view in ("default", which))
    (known, _), (obs, info) = plain.reset(seed=1), other.reset(seed=1)
    ends = 0
    for _ in range(300):
        assert other.observation_space.contains(obs)
        assert np.array_equal([numbers(one).ravel() for one in obs.copy()], flat(known))
        actions = np.array([draw(random, mask) for mask in info["action_mask"]])
        (known, _, over, _, before), (obs, _, _, _, info) = plain.step(actions), other.step(actions)
        for e in np.flatnonzero(over):
            last = before["final_obs"][e]
            last = np.concatenate([a.ravel() for a in (last.values() if isinstance(last, dict) else [last])])
            assert np.array_equal(numbers(info["final_obs"][e]).ravel(), last)
            ends += 1
    assert ends


def test_planes_of_threes_tell_what_a_bonus_may_be() -> None:
    game = leafwise.game("threes", hint="window3", bonus_value="window3")
    row = game.parse(THREES.replace("48 24", "768 24").replace("next=1", "next=6|12|24")).row[None]
    planes, known = (Observer(game, view)(row).obs for view in ("planes", "default"))
    assert np.array_equal(threes_numbers(planes[0]), known[0])  # type: ignore[index]
    assert known[0][16] == 16 * 4 + 6  # type: ignore[index]


def test_views_of_environments_alone_and_in_turns() -> None:
    seen = gym.make("leafwise/Trilobite-v0", observation="planes").reset(seed=0)[0]
    assert (seen.shape, seen.dtype, seen.any()) == ((2, 3, 3), np.float32, False)
    env = leafwise.aec("trilobite", observation="planes")
    env.reset(seed=0)
    env.step(0)
    first, second = (env.observe(agent)["observation"] for agent in env.possible_agents)
    assert env.observation_space("player_0")["observation"].contains(first)
    assert first[0, 2, 0] == second[1, 2, 0] == first.sum() == second.sum() == 1
    expected = r"^friday: expected observation among default, onehot, got 'planes'$"
    with pytest.raises(ValueError, match=expected):
        GameEnv("friday", observation="planes")


def test_the_winner_sees_its_own_chips() -> None:
    env = leafwise.aec("trilobite")
    env.reset(seed=0)
    for column in (0, 1, 0, 1, 0):
        env.step(column)
    assert str(env.position) == "x../xo./xo."
    assert env.observe("player_0")["observation"].tolist() == [1, 0, 0, 1, -1, 0, 1, -1, 0]
    assert env.observe("player_1")["observation"].tolist() == [-1, 0, 0, -1, 1, 0, -1, 1, 0]
    with pytest.raises(ValueError, match=r"^trilobite: expected agent among player_0, player_1, got 'player_2'$"):
        env.observe("player_2")


KEYWORDS: list[dict[str, Any]] = [
    {"opponent": "random", "seat": "random"},
    {"opponent": "random", "seat": "second", "max_episode_steps": 2},
    {"opponent": "greedy", "seat": "random", "illegal": "lose", "max_episode_steps": 3},
]


def ended(game: leafwise.Game, seed: int, keywords: dict[str, Any]) -> tuple[NDArray[Any], State, list[int]]:
    """Plays an episode and checks its last observation; returns that, its end, and its actions."""
    env, random = GameEnv(game, **keywords), np.random.default_rng(seed)
    actions: list[int] = []
    obs, info = env.reset(seed=seed)
    seat, over = int(env.get_state()["seats"][0]), False
    while not over:
        assert obs.tolist() == view(env.state, seat)  # type: ignore[union-attr]
        illegal = keywords.get("illegal") == "lose" and len(actions) == 1 and seed % 2 == 0
        actions.append(0 if illegal else draw(random, info["action_mask"]))
        obs, _, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
    assert obs.tolist() == view(env.state, seat)  # type: ignore[union-attr]
    return np.asarray(obs), env.state, actions


@pytest.mark.parametrize("keywords", KEYWORDS, ids=["random", "truncated", "illegal"])
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_the_last_observation_is_the_agents(game: leafwise.Game, keywords: dict[str, Any]) -> None:
    """In single environments, in batches of every mode, and through SB3's adapter."""
    known = [ended(game, 5 + e, keywords) for e in range(6)]
    for mode in ("NextStep", "SameStep", "Disabled"):
        batch = GameVectorEnv(6, game, autoreset_mode=mode, **keywords)
        batch.reset(seed=5)
        for e, obs in enumerate(last_observations(batch, [actions for _, _, actions in known])):
            assert obs.tolist() == known[e][0].tolist(), (mode, e)
    assert any(state.is_terminal for _, state, _ in known) or "max_episode_steps" in keywords


def last_observations(batch: GameVectorEnv, actions: list[list[int]]) -> list[NDArray[Any]]:
    """Returns the last observation of the first episode of each environment of a batch that takes these actions."""
    adapter = Sb3VecEnv(batch) if batch.autoreset_mode.name == "SAME_STEP" else None
    observations: dict[int, NDArray[Any]] = {}
    for k in range(max(map(len, actions))):
        taken = np.array(
            [
                action_list[k] if k < len(action_list) else int(mask.argmax())
                for action_list, mask in zip(actions, batch.action_masks(), strict=True)
            ]
        )
        if adapter is not None:
            obs, _, done, infos = adapter.step(taken)
            last: Any = {e: infos[e]["terminal_observation"] for e in np.flatnonzero(done)}
        else:
            obs, _, terminated, truncated, _ = batch.step(taken)
            last = {e: obs[e] for e in np.flatnonzero(terminated | truncated)}  # type: ignore[index]
            if batch.autoreset_mode.name == "DISABLED" and last:
                batch.reset(options={"reset_mask": terminated | truncated})
        for e, seen in last.items():
            observations.setdefault(int(e), np.array(seen))
    return [observations[e] for e in range(batch.num_envs)]


@pytest.mark.parametrize("game", [GAMES[0], dice.GAME], ids=repr)
def test_recorded_players_see_their_own_side(game: leafwise.Game) -> None:
    dataset = collect_dataset(
        game, "greedy:ties=first", games=6, exploration=0.0
    )  # draws nothing: all that is drawn is chance
    arrays, end = dataset.arrays, 0
    assert len(arrays["final_observations"]) == arrays["terminations"].sum() > 6
    for number in range(6):
        of_game = np.flatnonzero(arrays["games"] == number)
        stream = new_stream(number)
        state = game.start().settle(stream)
        for n in of_game:
            assert arrays["observations"][n].tolist() == view(state, int(arrays["players"][n]))
            state = state.play(int(arrays["actions"][n])).settle(stream)
        assert state.is_terminal
        for n in of_game[arrays["terminations"][of_game]]:
            assert arrays["final_observations"][end].tolist() == view(state, int(arrays["players"][n]))
            end += 1


@jit
def turned(S, i, player, O, e, T):
    O[e, 0] = S[i, nim.STONES] if player == 0 else 7 - S[i, nim.STONES]


@jit
def out_of_space(S, i, player, O, e, T):
    O[e, 0] = S[i, nim.STONES] + 8 * (S[i, nim.PLAYER] != player)


@pytest.mark.parametrize(
    ("observe_as", "said"),
    [
        (turned, r"observe_as', 'expected what observe writes where player 1 acts, got another"),
        (out_of_space, r"observe_as', 'expected O\[e, 0\] in 0..7 \(observation space\), got 15"),
    ],
)
def test_a_view_that_is_wrong_is_found(observe_as: Any, said: str) -> None:
    game = replace(nim.GAME, rules=replace(nim.GAME.rules, observe_as=observe_as))
    with pytest.raises(Exception, match=said):
        inspect_game(game, {PLAIN: 0.3})


# Rows turned into observations are what `step` shows, in every game.


STEPS = 40


def equal(a: Any, b: Any) -> bool:
    """Returns whether two observations are equal in values and types."""
    if isinstance(a, dict):
        return set(a) == set(b) and all(equal(a[name], b[name]) for name in a)
    return bool(a.dtype == b.dtype and np.array_equal(a, b))


QUICK = ("trilobite", "threes", "dice")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in (*leafwise.games(), "dice")],
)
def test_rows_are_seen_as_step_shows_them(name: str) -> None:
    game: Game = dice.GAME if name == "dice" else leafwise.game(name)
    seat = "random" if game.players == 2 else "first"
    envs = GameVectorEnv(4, game, autoreset_mode="SameStep", seat=seat)
    observer, random, ends = Observer(game), np.random.default_rng(0), 0
    obs, info = envs.reset(seed=3)
    for _ in range(STEPS):
        seen = observer(np.array([envs.state(e).row for e in range(4)]))
        assert equal(seen.obs, obs)
        assert np.array_equal(seen.mask, info["action_mask"])
        assert list(seen.player) == [envs.state(e).current_player for e in range(4)]
        assert list(seen.returns) == [envs.state(e).returns for e in range(4)]
        actions = np.array([random.choice(np.flatnonzero(mask)) for mask in info["action_mask"]])
        befores, seats = [envs.state(e) for e in range(4)], envs.get_state()["seats"]
        obs, _, over, _, info = envs.step(actions)
        for e in np.flatnonzero(over):
            after = befores[e].play(int(actions[e]))
            if after.is_terminal:  # neither chance nor the opponent moved
                last = observer(after.row[None], viewers=seats[e : e + 1].astype(np.int8))
                one = {key: a[0] for key, a in last.obs.items()} if isinstance(last.obs, dict) else last.obs[0]
                assert equal(one, info["final_obs"][e])
                assert last.player[0] == TERMINAL
                assert last.mask.all()
                ends += 1
    assert ends or name not in ("trilobite", "cassis")


def test_a_chance_stage_shows_nothing_but_itself() -> None:
    state = dice.GAME.new(0)
    after = state.play(state.legal_actions[0])
    assert after.is_chance
    seen = Observer(dice.GAME)(after.row[None])
    assert seen.player[0] == CHANCE
    assert isinstance(seen.obs, np.ndarray)
    assert not seen.obs.any()


# What is said of every number of an observation is so: counted, and tried by changing one thing.


VARIANTS = [(name, short) for name in leafwise.games() for short in leafwise.game(name).ids]


def names(game: leafwise.Game, key: str = "") -> list[str]:
    """Returns the names of all entries of an observation, or of one of its arrays."""
    assert game.observation.labels is not None
    return [name for group in game.observation.labels(game.options)[key] for name in group.names]


def seen(state: State, row: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Returns the observation of a state, or of a row of its game, as one array."""
    game = state.game
    obs = new_observations(game, 1)
    game.rules.observe((state.row if row is None else row)[None].copy(), u64(0), obs, 0, game.tables())
    return np.asarray(obs[0], dtype=np.float64)


def moved(state: State, other: NDArray[np.float64]) -> set[str]:
    """Returns the names of the entries in which the state differs from another observation."""
    differs = (seen(state) != other).reshape(len(other), -1).any(axis=1)
    return {name for name, changed in zip(names(state.game), differs, strict=True) if changed}


@pytest.mark.parametrize(("name", "short"), VARIANTS, ids=[short for _, short in VARIANTS])
def test_every_number_has_a_name(name: str, short: str) -> None:
    game = leafwise.game(name)
    variant = game.variant(**game.ids[short])
    for view in variant.view_names:
        space, labels = variant.observation_space(view), variant.view(view).labels
        assert labels is not None
        boxes: Any = dict(space.items()) if hasattr(space, "items") else {"": space}
        label_groups = labels(variant.options)
        assert set(label_groups) == set(boxes)
        for key, box in boxes.items():
            label_names = [name for group in label_groups[key] for name in group.names]
            assert len(label_names) == len(set(label_names)) == box.shape[0]
            assert all(group.meaning for group in label_groups[key])


THREES = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (THREES.replace(" 6/", " 3/"), {"row 1, column 4"}),
        (THREES.replace("/2 0", "/0 2"), {"row 4, column 1", "row 4, column 2"}),
        (THREES.replace("next=1", "next=+"), {"tile shown"}),
        (THREES.replace("deck=0", "deck=1"), {"1s"}),
        (THREES.replace("0,2,1", "0,1,2"), {"2s", "3s"}),
    ],
)
def test_threes(text: str, names: set[str]) -> None:
    game = leafwise.game("threes")
    assert moved(game.parse(THREES), seen(game.parse(text))) == names


def test_trilobite() -> None:
    start = leafwise.game("trilobite").new(0).play("1")
    assert moved(start.play("2"), seen(start.play("3"))) == {"row 3, column 2", "row 3, column 3"}


def test_cassis() -> None:
    start = leafwise.game("cassis").new(0).play("0-1")
    assert moved(start.play("0-2"), seen(start.play("3-4"))) == {"edge 0-2", "edge 3-4"}


def test_trap() -> None:
    start = leafwise.game("trap").new(0)
    assert moved(start, seen(start.play("S"))) == {"own cell", "throw due"}
    thrown = start.play("S").play("3,3")
    landings = [outcome for _, outcome in thrown.outcomes()]
    assert moved(landings[0], seen(landings[1])) == {"traps"}


def test_friday() -> None:
    """Every field of a row, changed alone, changes the number named after it."""
    state = leafwise.game("friday").new(3)
    before, kinds = seen(state), [card.name for card in CARDS]

    def change(word: int, at: int) -> set[str]:
        row = state.row.copy()
        row[word] ^= u64(1) << u64(at)
        return moved(state, seen(state, row))

    assert moved(state, before) == set()
    for kind, name in enumerate(kinds):
        shift = layout.SHIFTS[kind]
        assert change(layout.STACK, shift) == {f"stack {name}"}
        assert change(layout.DISCARD, shift) == {f"discard {name}"}
        derived = {"total", "free cards", "hazard value"}
        for word, pile in ((layout.LEFT, "left"), (layout.RIGHT, "right"), (layout.LEFT_USED, "left used")):
            assert change(word, shift) - derived == {f"{pile} {name}"}
        if FIRST_KNOWLEDGE <= kind < FIRST_AGING:
            place = shift - int(layout.HAZARD_SHIFT)
            assert change(layout.HAZARDS, place) == {f"hazard stack {name}"}
            assert change(layout.HAZARDS, place + int(layout.AWAY_AT.shift)) == {f"hazard discard {name}"}
        elif kind >= FIRST_AGING:
            place = shift - int(layout.AGING_SHIFT) + int(layout.AGING_AT.shift)
            assert change(layout.STATUS, place) == {f"aging pile {name}"}
    for k in range(10):
        called = f"bottom {k + 1}" if k < 7 else f"top {k - 6}"
        assert change(layout.KNOWN, 6 * k) == {called}
    for k in range(6):
        assert change(layout.DOUBLED, 10 * k + 4) >= {f"doubled {k + 1}"}
    for field, name in (
        (layout.FREE_AT, "free draws made"),
        (layout.USES_AT, "abilities used"),
        (layout.POINTS_AT, "removal points"),
    ):
        assert name in change(int(field.word), int(field.shift))
    assert change(layout.STATUS, int(layout.LIFE_AT.shift)) == {"life"}
    assert "phase" in change(layout.STATUS, int(layout.PHASE_AT.shift))
    assert change(layout.STATUS, int(layout.HAZARD_AT.shift)) >= {"first hazard"}


def test_starship() -> None:
    env = GameEnv("starship")
    called = names(env.game, "vec")
    obs, info = env.reset(seed=5)
    over = False
    while not over:
        assert isinstance(obs, dict)
        vec = dict(zip(called, obs["vec"].tolist(), strict=True))
        part, _, facing = info["request"].partition(" ")
        wanted = [f"requested {part}"] + ([f"facing {facing}"] if facing else [])
        assert [name for name in called[:15] if vec[name]] == wanted
        assert vec["parts placed"] == pytest.approx(min(1.0, int(env.state.row[PARTS_PLACED]) / 60), abs=1e-6)
        assert vec["hull area"] == pytest.approx(obs["grid"][0].sum() / obs["grid"][0].size)
        assert vec["unused"] == 0
        after = [name.removeprefix("next ") for name in called[15:26] if vec[name]]
        obs, _, over, _, info = env.step(int(np.argmax(info["action_mask"])))
        if after and info["request"] and vec["stage"] == pytest.approx(float(obs["vec"][37])):
            assert info["request"].partition(" ")[0] in (
                *after,
                *(n.removeprefix("after next ") for n in called[26:37] if vec[n]),
            )
