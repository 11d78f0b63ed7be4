"""Friday, Robinson's fight against hazards, age and pirates (one player). Rules and rulings: `rules`; cards: `cards`."""

from leafwise.envs.core.game import Game
from leafwise.envs.core.rules import Rules
from leafwise.envs.friday import candidates, chance, draw, features, fridai, layout, parse, rules, scores, tables, text

GAME = Game(
    name="friday",
    title="Friday, a deck against hazards and pirates (one player)",
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
        action_cost=rules.action_cost,
        candidates=candidates.candidates,
    ),
    make_tables=tables.make_tables,
    width=layout.WIDTH,
    max_actions=len(layout.ACTIONS),
    max_outcomes=38,
    max_stages=5,
    decisions_per_depth=110,
    stages=rules.STAGES,
    action_names=lambda options: layout.ACTIONS,
    observation_space=features.observation_space,
    text=text.to_text,
    parse_row=parse.parse_row,
    outcome_name=text.outcome_name,
    board=draw.to_board,
    svg=lambda row, T: draw.draw(row, T).svg(),
    rgb=lambda row, T: draw.draw(row, T).rgb(),
    defaults=tables.DEFAULTS,
    check=tables.check,
    scores=scores.SCORES,
    default_score="blend",
    rewards={"score": scores.score_reward, "shaped": scores.shaped_reward},
    candidates=candidates.CANDIDATES,
    ais={"fridai": fridai.named},
    return_range=(0.0, 1.0),
    ids={"Friday": {}, **{f"FridayLevel{level}": {"level": level} for level in (2, 3, 4)}},
)
