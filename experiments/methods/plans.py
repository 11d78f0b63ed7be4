"""What the comparison of methods learns in each game, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Way:
    """One way to learn a game: a method of the package, by its recipe, or one of Stable-Baselines3."""

    steps: float
    """Steps of the method in a minute of one processor core, about; of Stable-Baselines3, which is stopped by the clock, 0."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options besides the recipe's."""
    leaf: str = "search:{run},depth={depth}"
    """Player with what was learned as a leaf; "" where there is none."""
    policy: str = ""
    """Player that asks what was learned for an action without a search; "" where it says nothing of actions."""
    algorithm: str = ""
    """Of Stable-Baselines3: DQN or PPO."""
    limits: str | None = None
    """Options of its searches, where they are not the plan's."""


@dataclass(frozen=True)
class Plan:
    """What is learned in a game, and how it is judged."""

    variant: str
    hand: str
    """The best hand-made leaf."""
    ways: dict[str, Way]
    games: dict[int, int]
    """Final games by the depth of the searches; bare policies play as many as searches of depth 1."""
    unit: str
    """What a figure counts."""
    limits: str = ""
    """Options of all searches."""
    plies: int = 0
    """Random decisions of openings, in games for two."""
    env: dict[str, Any] = field(default_factory=dict)
    """Keywords of the environment of Stable-Baselines3."""


LIKELIEST = "mcts:{run},prior={run},simulations=1,proofs=0"
SB3 = {
    f"SB3 {name}": Way(0, leaf="search:sb3:{run}/model.zip,depth={depth}", policy="sb3:{run}/model.zip", algorithm=name)
    for name in ("DQN", "PPO")
}
POINTS = "share of the points against it"
MIXED = "0123 4567 0145 1256 569a 012456 45689a 012345 456789"

PLANS: dict[str, Plan] = {
    "threes": Plan(
        "",
        "openness",
        {
            "ntuple-td": Way(35e6, {"tuples": MIXED, "interval": 2_000_000}),
            "ntuple-q": Way(35e6, {"interval": 2_000_000}),
            "ppo": Way(1.6e6, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 100},
        "mean score",
    ),
    "trilobite": Plan(
        "board=7x6,k=4",
        "lines",
        {
            "value-td": Way(40, {"positions": 40_000, "plies": 16}),
            "selfplay": Way(40, {"positions": 40_000, "buffer_size": 800_000, "batch_size": 4096, "depth": 2, "plies": 16}),
            "alphazero": Way(7.5, policy=LIKELIEST),
            "dqn": Way(1.9e6),
            "ppo": Way(9e5, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        POINTS,
        plies=6,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "cassis": Plan(
        "",
        "safe_edges",
        {
            "value-td": Way(270, {"positions": 20_000, "plies": 10}),
            "selfplay": Way(280, {"positions": 20_000, "plies": 10}),
            "alphazero": Way(25, {"plies": 6, "hidden": [128, 32]}, policy=LIKELIEST),
            "dqn": Way(3e6),
            "ppo": Way(1.5e6, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        POINTS,
        plies=4,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "trap": Plan(
        "",
        "reach_open",
        {
            "value-td": Way(35, {"candidates": "near+traps", "rare": 0.25}),
            "selfplay": Way(35, {"candidates": "near+traps", "rare": 0.25}),
            "dqn": Way(8e5),
            "ppo": Way(1e6, policy=LIKELIEST),
            **{name: replace(way, limits=",candidates=near+traps") for name, way in SB3.items()},
        },
        {1: 400, 2: 200},
        POINTS,
        limits=",candidates=near+traps,rare=0.25",
        plies=4,
        env={"opponent": "greedy", "seat": "random"},
    ),
    "friday": Plan(
        "level=1",
        "pirates",
        {
            "value-td": Way(4, {"eased": 10, "credited": 30}),
            "selfplay": Way(4.2, {"eased": 10, "credited": 30}),
            "dqn": Way(3.7e5),
            "ppo": Way(1.3e5, policy=LIKELIEST),
            **SB3,
        },
        {1: 400, 2: 400},
        "share won",
        limits=",nodes=100",
        env={"reward": "shaped"},
    ),
    "starship": Plan(
        "preset=scout",
        "hopeful",
        {
            "ship-values": Way(900, leaf="build:{run},depth={depth}"),
            "ppo": Way(2.2e4, leaf="", policy="policy:{run}"),
            **{name: replace(way, leaf="") for name, way in SB3.items()},
        },
        {1: 200, 2: 50},
        "mean quality",
    ),
}  # fmt: skip
