"""Cassis: colour the edges between n points, whoever completes a triangle of their own loses. Rules: `rules`."""

from leafwise.envs.cassis import draw, features, rules, scores, tables, text
from leafwise.envs.cassis.baselines import dfs
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Rules
from leafwise.envs.core.play.solver import solver_player

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
        transform=features.transform,
        transform_action=features.transform_action,
    ),
    make_tables=tables.make_tables,
    width=2,
    max_actions=tables.MAX_EDGES,
    max_outcomes=0,
    max_stages=0,
    action_names=tables.action_names,
    observation_space=features.observation_space,
    text=text.to_text,
    parse_row=text.parse_row,
    board=draw.to_board,
    svg=lambda row, T: draw.draw(row, T).svg(),
    rgb=lambda row, T: draw.draw(row, T).rgb(),
    defaults=tables.DEFAULTS,
    check=tables.check,
    scores=scores.SCORES,
    default_score="safe_edges",
    ais={"solver": solver_player, "dfs": dfs.named},
    symmetries_of=features.symmetries,
    sparse=features.SPARSE,
    ids={"Cassis": {}, "Cassis7": {"n": 7}, "Cassis8": {"n": 8}},
)
