"""Trap: move, then throw a trap; a player who cannot move loses (two players, chance). `rules` has the rules."""

from leafwise.envs.core.contract.game import (
    About,
    ExactSolver,
    Game,
    Observation,
    OwnSearch,
    Programs,
    SearchDefaults,
    Sizes,
    Text,
    View,
)
from leafwise.envs.core.contract.rules import Chance, Rules, Symmetries
from leafwise.envs.trap import draw, expected, features, rules, scores, tables, text
from leafwise.envs.trap.baselines.course import players
from leafwise.envs.trap.turns import OPTIONS, TurnPlayer

ABOUT = About(
    actions=(
        "`N` to `NW` move to a neighbouring cell. `row,column` throws a trap at a cell, counted from 0 at the top left."
        " A turn is a move and a throw."
    ),
    observation=(
        "The observation does not show how many turns are left until the draw. With the option `observe_turn` a fifth "
        "plane shows this number."
    ),
    ends="A player who cannot move loses. After `max_turns` turns the game is a draw.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "size": "cells on each side of the board",
        "self_trap": "when you lose, if your own throw leaves you no move and your opponent can still move",
        "max_turns": "turns after which the game is a draw; `None`: 4 times the number of cells",
        "observe_turn": "whether one more plane of the observation shows the turns left until the draw",
    },
)
"""Texts for people about the environments."""

ON_BOARD = r"(?<=[^\d\s] ){0}\b|(?<!^)\b{0}(?= [^\d\s])|(?<=^\d ){0}\b"
"""Matches a player's number on the board, but not that of a row or a column."""
GAME = Game(
    name="trap",
    title="Trap, a duel of moves and thrown traps (two players, with chance)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        returns=rules.returns,
        observe=features.observe,
        observe_as=features.observe_as,
        chance=Chance(
            outcomes=rules.chance_outcomes,
            sample=rules.sample_outcome,
            max_outcomes=9,
            stages=("decision", "landing"),
            stage=rules.stage,
            make_expected=expected.make_expected,
        ),
        key=rules.key,
        candidates=rules.candidates,
        is_valid=rules.is_valid,
    ),
    sizes=Sizes(width=2, max_actions=8 + tables.MAX_SIZE**2),
    observation=Observation(
        features.observation_space,
        labels=features.labels,
        views={"planes": View(features.observation_space, features.observe_as, features.labels)},
    ),
    make_tables=tables.make_tables,
    action_names=tables.action_names,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        board=draw.to_board,
        colours={ON_BOARD.format("1"): "red", ON_BOARD.format("2"): "blue"},
        about=ABOUT,
    ),
    draw=draw.draw,
    symmetries=Symmetries(8, features.transform, features.transform_action),
    search=SearchDefaults(candidates=rules.CANDIDATES, best="turns"),
    options=tables.Options(),
    scores=scores.SCORES,
    ais={
        "solver": ExactSolver("leafwise.envs.trap.solver:TrapSolver", memory_mb=tables.solver_mb),
        "course": Programs(players.named, tuple(players.RECIPES), levels={name: name for name in players.LEVELS}),
        "turns": OwnSearch(TurnPlayer, OPTIONS, compiled=True),
    },
    features={"sparse": features.SPARSE, "reach": features.REACH},
    ids={"Trap": {}},
)
