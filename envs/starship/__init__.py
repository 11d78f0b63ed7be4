"""Generates spaceships in 14 stages, and has the game of building one (one player, chance).

The hull is a heap of circles and rectangles. The cockpit goes where it is safest, the reactor to the centre of mass, thrusters
and weapons to the rim, supplies and crew near what needs them. Armour goes wherever the crew can do without a corridor. Source:
the early ship generator of Cosmoteer, as its author told it in 14 stages. Every stage can be changed.

    >>> from leafwise.envs.starship import generate
    >>> print(generate(seed=7))

To be read in this order: `settings` (each stage's settings, presets, TOML), `catalogue` (the parts), `tables` (a ship as a row
of numbers), `board` and `hull` (cells, walls, doors), `placing` (where a part may go, and how good that is), `generator` (the
stages one after another), `quality`, `ship` (a finished one, and its file). The game: `rules`, `options`, `targets`,
`features`, `info`, `scores`, `draw`, `text`. Who builds: `heuristic_builder`, `lookahead`, `plans`. Beside them: `check` (a
second implementation of the rules, in plain Python), `statistics` of many ships, `mirror`, `pcg_problem` (the interface of the
PCG Benchmark).

A *stage* in this room is one of these 14; only `rules.CHANCE_STAGES` and the `stage=` of evaluators mean the contract's. The
game is `leafwise.game("starship")` and `leafwise/StarshipPlace-v0`; `rules` has its rules.
"""

import numpy as np

from leafwise.envs.core.contract.game import Game, Observation, OwnSearch, SearchDefaults, Sizes, Text, View
from leafwise.envs.core.contract.rules import Chance, Rules
from leafwise.envs.core.contract.state import reads_back
from leafwise.envs.starship import draw, features, heuristic_builder, info, options, rules, scores, text
from leafwise.envs.starship.check import Broken, check
from leafwise.envs.starship.features import GRID
from leafwise.envs.starship.generator import Generator, generate
from leafwise.envs.starship.lookahead import LookAhead
from leafwise.envs.starship.settings import (
    CLASSIC,
    CRUISER,
    PRESETS,
    SCOUT,
    STAGES,
    Parameters,
    from_toml,
    preset,
    switched,
    to_toml,
)
from leafwise.envs.starship.ship import Door, PlacedPart, Ship, dump, load, read, ship_hash, write
from leafwise.envs.starship.tables import SCRATCH

GAME = Game(
    name="starship",
    title="Starship, placing the parts of a ship one request at a time (one player)",
    module=__name__,
    players=1,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        returns=rules.returns,
        observe=features.observe,
        chance=Chance(
            outcomes=rules.chance_outcomes,
            sample=rules.sample_outcome,
            max_outcomes=16,
            max_stages=136,
            stages=rules.CHANCE_STAGES,
            stage=rules.stage,
        ),
        is_valid=reads_back(text.to_text, text.parse_row),
    ),
    sizes=Sizes(width=options.width, max_actions=4 * 64 * 64, dtype=np.uint16),
    observation=Observation(
        features.observation_space,
        features.Observation,
        labels=features.labels,
        info=info.INFO,
        views={"planes": View(features.planes_space, features.planes_as, features.planes_labels)},
    ),
    make_tables=options.make_tables,
    scratch=tuple(f"ship.{name}" for name in SCRATCH),
    action_names=options.names,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        board=text.to_board,
        about=options.ABOUT,
    ),
    draw=draw.picture,
    search=SearchDefaults(depth=1, best="build"),
    options=options.Options(),
    scores=scores.SCORES,
    rewards={"dense": None, "terminal": rules.final_quality},
    ais={"hand": heuristic_builder.named, "build": OwnSearch(LookAhead)},
    return_range=(0.0, 1.0),
    features={"grid": GRID},
    ids={
        "StarshipPlace": {},
        "StarshipPlaceClassic": {"preset": "classic"},
        "StarshipPlaceCruiser": {"preset": "cruiser"},
    },
)

__all__ = [
    "CLASSIC",
    "CRUISER",
    "GAME",
    "PRESETS",
    "SCOUT",
    "STAGES",
    "Broken",
    "Door",
    "Generator",
    "Parameters",
    "PlacedPart",
    "Ship",
    "check",
    "dump",
    "from_toml",
    "generate",
    "load",
    "preset",
    "read",
    "ship_hash",
    "switched",
    "to_toml",
    "write",
]
