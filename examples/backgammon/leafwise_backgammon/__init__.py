"""Backgammon without a cube, for two players: `leafwise.game("backgammon")`.

`rules` has the rules, `text` the notation and the board. The option `order` sets the allowed orders of a turn's moves: `canonical`
(one order for each position, for searches and learning) or `free` (any order, for people).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import gymnasium as gym
import numpy as np

from leafwise.authoring import (
    RULE_ONLY,
    About,
    Chance,
    Evaluator,
    Game,
    Labels,
    Observation,
    OneOf,
    OwnSearch,
    Rules,
    SearchDefaults,
    Sizes,
    SparseFeatures,
    Text,
    jit,
    reads_back,
    settle_fields,
)
from leafwise_backgammon import features, rules, text

ORDERS = {"canonical": "one order, so each position is reached in one way", "free": "any order"}


@dataclass(frozen=True)
class Options:
    """Options of the game."""

    order: Annotated[str, OneOf.described(ORDERS)] = field(default="canonical", metadata=RULE_ONLY)

    def __post_init__(self) -> None:
        settle_fields(self, "backgammon")


@jit
def race(S, i, T):
    """Values a position by the remaining pips of both players, in points between -1 and 1."""
    pips = 0
    for point in range(1, rules.BAR + 1):
        pips += point * (rules.count(S, i, 1, point) - rules.count(S, i, 0, point))
    value = pips / (50.0 + abs(pips))
    return -value if S[i, rules.PHASE] == rules.MOVE and S[i, rules.MOVER] == 1 else value


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the meanings of an observation's numbers."""
    points = ("off", *(f"point_{point}" for point in range(1, rules.BAR)), "bar")
    meaning = "checkers, 0 to 15, counted from their owner's side"
    return {
        "": (
            Labels(tuple(f"own_{point}" for point in points), meaning),
            Labels(tuple(f"other_{point}" for point in points), meaning),
            Labels(tuple(f"moves_by_{pips}" for pips in range(1, 7)), "moves left by so many pips, 0 to 4"),
            Labels(("acts",), "1: it is the turn of who looks"),
        )
    }


def turn_search(*arguments, **options):
    """Returns the search of whole turns; see `leafwise_backgammon.turns`."""
    from leafwise_backgammon.turns import TurnSearch

    return TurnSearch(*arguments, **options)


GAME = Game(
    name="backgammon",
    title="Backgammon without a cube (two players)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        returns=rules.returns,
        observe=rules.observe,
        observe_as=rules.observe_as,
        chance=Chance(
            outcomes=rules.chance_outcomes,
            sample=rules.sample_outcome,
            max_outcomes=30,
            stages=("decision", "opening", "throw"),
            stage=rules.stage,
        ),
        action_cost=rules.action_cost,
        key=rules.key,
        is_valid=reads_back(text.write, text.parse),
    ),
    sizes=Sizes(width=rules.WIDTH, max_actions=rules.PASS + 1, dtype=np.int8),
    observation=Observation(lambda options: gym.spaces.Box(0, 15, (59,), np.float32), labels=labels),
    make_tables=lambda options: rules.Tables(options.order == "canonical", np.zeros(1, dtype=np.uint8), ()),
    action_names=text.action_names(),
    text=Text(
        write=text.write,
        parse=text.parse,
        outcome_name=text.outcome_name,
        action_words=text.action_words,
        board=text.board,
        action=lambda typed: typed.rstrip("*"),
        whole_turns=True,
        about=About(
            actions="One move of one checker, as point and pips, or pass.",
            ends="The game ends when a player has borne off all checkers.",
            rewards={"points": "points won or lost: 1, for a gammon 2, for a backgammon 3"},
            options={"order": "in which orders the moves of a turn are legal"},
        ),
    ),
    draw=text.draw,
    search=SearchDefaults(depth=1, decisions_per_depth=4),
    options=Options(),
    scores={"race": lambda options: Evaluator("race", race, stage="throw", low=-1.0, high=1.0)},
    return_range=(-3.0, 3.0),
    features={
        "sparse": SparseFeatures(
            features.active,
            lambda options: features.SIZE,
            lambda options: features.MOST,
            side=features.side,
            stage="throw",
        )
    },
    ais={"turns": OwnSearch(turn_search, {"depth": int, "width": int}, compiled=True)},
    ids={"Backgammon": {}, "BackgammonFree": {"order": "free"}},
)
