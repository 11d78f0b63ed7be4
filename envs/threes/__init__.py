"""Threes!: slide tiles on a 4x4 board, merge equal ones, count the cards. Rules and rulings: `rules`."""

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Rules
from leafwise.envs.threes import chance, draw, features, rules, scores, tables, text
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
        stage=rules.stage,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        chance_outcomes=chance.chance_outcomes,
        sample_outcome=chance.sample_outcome,
        returns=rules.returns,
        observe=features.observe,
        transform=features.transform,
        transform_action=features.transform_action,
    ),
    make_tables=tables.make_tables,
    width=2,
    max_actions=4,
    max_outcomes=48,
    max_stages=2,
    stages=("decision", "enter", "draw", "setup"),
    action_names=lambda options: text.ACTIONS,
    observation_space=features.observation_space,
    text=text.to_text,
    parse_row=text.parse_row,
    outcome_name=text.outcome_name,
    board=draw.to_board,
    svg=lambda row, T: draw.draw(row, T).svg(),
    rgb=lambda row, T: draw.draw(row, T).rgb(),
    defaults=tables.DEFAULTS,
    check=tables.check,
    scores=scores.SCORES,
    default_score="openness",
    rewards={"merges": rules.merge_points, "survival": rules.survival},
    cells=features.CELLS,
    ais={"threesus": threesus.named, "nneonneo": nneonneo.named},
    companion=COMPANION,
    position_words={
        "next": "the tile shown, 1, 2, 3 or +",
        "deck": "1s, 2s and 3s not yet drawn, without the tile shown (default: 4,4,4)",
    },
    symmetries=8,
    return_range=(0.0, 16.0 * 3**13),
    ids={"Threes": {}},
)
