"""Trap: move, then throw a trap; who can no longer move has lost (two players, chance). Rules: `rules`."""

from leafwise.envs.core.contract.game import Game, Observation, OwnSearch, Programs, SearchDefaults, Sizes, Text
from leafwise.envs.core.contract.rules import Chance, Rules, Symmetries
from leafwise.envs.core.play.solver import solver_player
from leafwise.envs.trap import draw, features, options, reach, rules, scores, sparse, tables, text
from leafwise.envs.trap.about import ABOUT
from leafwise.envs.trap.baselines.course import players
from leafwise.envs.trap.turns.player import OPTIONS, TurnPlayer

GAME = Game(
    name="trap",
    title="Trap, move and throw until the other cannot move (two players, with chance)",
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
        ),
        key=rules.key,
        candidates=rules.candidates,
        is_valid=rules.is_valid,
    ),
    sizes=Sizes(width=2, max_actions=8 + options.MAX_SIZE**2),
    observation=Observation(features.observation_space, labels=features.labels),
    make_tables=tables.make_tables,
    action_names=tables.action_names,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        board=draw.to_board,
        about=ABOUT,
    ),
    draw=draw.draw,
    symmetries=Symmetries(8, features.transform, features.transform_action),
    search=SearchDefaults(candidates=rules.CANDIDATES, best="turns"),
    options=options.Options(),
    scores=scores.SCORES,
    ais={
        "solver": solver_player,
        "course": Programs(players.named, tuple(players.RECIPES), levels={name: name for name in players.LEVELS}),
        "turns": OwnSearch(TurnPlayer, OPTIONS, compiled=True),
    },
    features={"sparse": sparse.SPARSE, "reach": reach.REACHING},
    ids={"Trap": {}},
)
