"""Trap: move, then throw a trap; who can no longer move has lost (two players, chance). Rules: `rules`."""

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Rules
from leafwise.envs.core.play.solver import solver_player
from leafwise.envs.trap import draw, features, rules, scores, sparse, tables, text
from leafwise.envs.trap.baselines.course import players

GAME = Game(
    name="trap",
    title="Trap, move and throw until the other cannot move (two players, with chance)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        stage=rules.stage,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        chance_outcomes=rules.chance_outcomes,
        sample_outcome=rules.sample_outcome,
        returns=rules.returns,
        observe=features.observe,
        key=rules.key,
        candidates=rules.candidates,
        transform=features.transform,
        transform_action=features.transform_action,
    ),
    make_tables=tables.make_tables,
    width=2,
    max_actions=8 + tables.MAX_SIZE**2,
    max_outcomes=9,
    max_stages=1,
    stages=("decision", "landing"),
    action_names=tables.action_names,
    observation_space=features.observation_space,
    text=text.to_text,
    parse_row=text.parse_row,
    outcome_name=text.outcome_name,
    board=draw.to_board,
    svg=lambda row, T: draw.draw(row, T).svg(),
    rgb=lambda row, T: draw.draw(row, T).rgb(),
    defaults=tables.DEFAULTS,
    rule_options=("self_trap", "max_turns"),
    check=tables.check,
    scores=scores.SCORES,
    default_score="reach",
    ais={"solver": solver_player, "course": players.named},
    sparse=sparse.SPARSE,
    candidates=rules.CANDIDATES,
    symmetries=8,
    ids={"Trap": {}},
)
