"""Threes!: slide tiles on a 4x4 board, merge equal ones, count the cards. `rules` has the rules and rulings."""

from leafwise.envs.core.contract.game import About, Game, Observation, SearchDefaults, Sizes, Text, View
from leafwise.envs.core.contract.rules import Chance, Rules, Symmetries
from leafwise.envs.threes import baselines, draw, features, rules, scores, tables, text
from leafwise.envs.threes.companion import COMPANION

ABOUT = About(
    actions=(
        "An action is a slide in one direction. Each tile moves by one cell if it can, or merges with the tile ahead of it."
    ),
    ends='The game ends when no slide is legal. With `top="end_at_12288"` it also ends when two tiles 6144 merge.',
    rewards={
        "score": (
            "change of the board's score, which also counts the tiles that enter; a tile of rank r >= 3 counts 3 to the power "
            "r - 2"
        ),
        "merges": "points of the merges alone",
        "survival": "1 for every move",
    },
    options={
        "bonus_value": "how the value of a bonus tile is drawn",
        "bonus_schedule": "when bonus tiles come",
        "hint": "what the player sees of a bonus tile before it enters",
        "top": "what happens when two tiles 6144 meet",
        "entry": "where the next tile may enter",
        "bonus_p": 'chance that a draw is a bonus tile, with `bonus_schedule="iid"`',
    },
)
"""Texts for people about the environments."""

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
            outcomes=rules.chance_outcomes,
            sample=rules.sample_outcome,
            max_outcomes=48,
            max_stages=2,
            stages=("decision", "enter", "draw", "setup"),
            stage=rules.stage,
            afterstates=rules.afterstates,
            apply_outcome=rules.apply_outcome,
        ),
        is_valid=rules.is_valid,
    ),
    sizes=Sizes(width=2, max_actions=4),
    observation=Observation(
        features.observation_space,
        labels=features.labels,
        views={"planes": View(features.planes_space, features.planes_as, features.planes_labels)},
    ),
    make_tables=tables.make_tables,
    action_names=text.ACTIONS,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        board=draw.to_board,
        colours={r"(?<= )1(?= \|)": "blue", r"(?<= )2(?= \|)": "red"},
        points=text.points,
        words={
            "next": "the tile shown, 1, 2, 3 or +",
            "deck": "1s, 2s and 3s not yet drawn, without the tile shown (default: 4,4,4)",
        },
        about=ABOUT,
    ),
    draw=draw.draw,
    search=SearchDefaults(simulations=500, best="mcts"),
    symmetries=Symmetries(8, features.transform, features.transform_action),
    options=tables.Options(),
    scores=scores.SCORES,
    rewards={"merges": rules.merge_points, "survival": rules.survival},
    ais={"threesus": baselines.threesus_player, "nneonneo": baselines.nneonneo_player},
    companion=COMPANION,
    return_range=(0.0, 16.0 * 3**13),
    features={"ntuple": features.CELLS},
    ids={"Threes": {}},
)
