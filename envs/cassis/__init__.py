"""Cassis: colour the edges between n points; who completes a triangle of their own colour loses. `rules` has the rules."""

from math import factorial

from leafwise.envs.cassis import baselines, draw, features, rules, scores, tables, text
from leafwise.envs.core.contract.game import About, ExactSolver, Game, Observation, Sizes, Text, View
from leafwise.envs.core.contract.rules import Rules, Symmetries

ABOUT = About(
    actions="An action is an edge between two points: `0-1`, `0-2`, ... The edge gets the player's colour.",
    ends="A player who completes a triangle of their own colour loses. When all edges are coloured the game is a draw.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "n": "number of points",
    },
)
"""Texts for people about the environments."""

GAME = Game(
    name="cassis",
    title="Cassis, avoid a triangle of your own colour (two players)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        returns=rules.returns,
        observe=features.observe,
        is_valid=rules.is_valid,
        observe_as=features.observe_as,
    ),
    sizes=Sizes(width=2, max_actions=tables.MAX_EDGES),
    observation=Observation(
        features.observation_space,
        labels=features.labels,
        views={"onehot": View(features.onehot_space, features.onehot_as, features.onehot_labels)},
    ),
    make_tables=tables.make_tables,
    action_names=tables.action_names,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        board=draw.to_board,
        colours={r"\bx\b": "red", r"\bo\b": "blue"},
        about=ABOUT,
        action=text.edge_name,
    ),
    draw=draw.draw,
    symmetries=Symmetries(lambda options: factorial(options.n), features.transform, features.transform_action),
    options=tables.Options(),
    scores=scores.SCORES,
    ais={
        "solver": ExactSolver("leafwise.envs.cassis.solver:CassisSolver", memory_mb=lambda options: 1.0),
        "dfs": baselines.dfs_player,
    },
    features={"sparse": features.SPARSE},
    ids={"Cassis": {}, "Cassis7": {"n": 7}, "Cassis8": {"n": 8}},
)
