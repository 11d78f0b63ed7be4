"""Threes!: slide tiles on a 4x4 board, merge equal ones, count the cards. Rules and rulings: `rules`."""

from leafwise.envs.core.contract.game import Game, Observation, SearchDefaults, Sizes, Text
from leafwise.envs.core.contract.rules import Chance, Rules, Symmetries
from leafwise.envs.threes import chance, draw, features, options, rules, scores, tables, text, valid
from leafwise.envs.threes.about import ABOUT
from leafwise.envs.threes.baselines import nneonneo, threesus
from leafwise.envs.threes.companion import COMPANION

GAME = Game(
    name="threes",
    title="Threes!, sliding tiles with a card deck (one player)",
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
            outcomes=chance.chance_outcomes,
            sample=chance.sample_outcome,
            max_outcomes=48,
            max_stages=2,
            stages=("decision", "enter", "draw", "setup"),
            stage=rules.stage,
            afterstates=rules.afterstates,
            apply_outcome=rules.apply_outcome,
        ),
        is_valid=valid.is_valid,
    ),
    sizes=Sizes(width=2, max_actions=4),
    observation=Observation(features.observation_space, labels=features.labels),
    make_tables=tables.make_tables,
    action_names=text.ACTIONS,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        board=draw.to_board,
        words={
            "next": "the tile shown, 1, 2, 3 or +",
            "deck": "1s, 2s and 3s not yet drawn, without the tile shown (default: 4,4,4)",
        },
        about=ABOUT,
    ),
    draw=draw.draw,
    search=SearchDefaults(simulations=500, best="mcts"),
    symmetries=Symmetries(8, features.transform, features.transform_action),
    options=options.Options(),
    scores=scores.SCORES,
    rewards={"merges": rules.merge_points, "survival": rules.survival},
    ais={"threesus": threesus.named, "nneonneo": nneonneo.named},
    companion=COMPANION,
    return_range=(0.0, 16.0 * 3**13),
    features={"ntuple": features.CELLS},
    ids={"Threes": {}},
)
