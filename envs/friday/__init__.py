"""Friday, Robinson's fight against hazards, age and pirates (one player). Rules and rulings: `rules`; cards: `cards`."""

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import Observation, SearchDefaults, Sizes, Text
from leafwise.envs.core.contract.rules import Chance, Rules
from leafwise.envs.core.contract.state import reads_back
from leafwise.envs.friday import (
    candidates,
    chance,
    draw,
    features,
    layout,
    options,
    rules,
    scores,
    sparse,
    tables,
    text,
)
from leafwise.envs.friday.about import ABOUT
from leafwise.envs.friday.baselines import fridai
from leafwise.envs.friday.companion import COMPANION

GAME = Game(
    name="friday",
    title="Friday, a deck against hazards and pirates (one player)",
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
            max_outcomes=38,
            max_stages=5,
            stages=rules.STAGES,
            stage=rules.stage,
        ),
        action_cost=rules.action_cost,
        candidates=candidates.candidates,
        progress=scores.how_far,
        is_valid=reads_back(text.to_text, text.parse_row),
    ),
    sizes=Sizes(width=layout.WIDTH, max_actions=len(layout.ACTIONS)),
    observation=Observation(features.observation_space, labels=features.labels),
    make_tables=tables.make_tables,
    action_names=layout.ACTIONS,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        outcome_name=text.outcome_name,
        outcome_words=text.outcome_words,
        action_words=text.action_words,
        action=text.action,
        board=draw.to_board,
        legend=text.legend,
        points=draw.points,
        about=ABOUT,
    ),
    draw=draw.draw,
    search=SearchDefaults(depth=2, nodes=20_000, decisions_per_depth=110, candidates=candidates.CANDIDATES),
    options=options.Options(),
    scores=scores.SCORES,
    rewards={"score": scores.score_reward, "shaped": scores.shaped_reward},
    ais={"fridai": fridai.named},
    companion=COMPANION,
    return_range=(0.0, 1.0),
    features={"sparse": sparse.SPARSE},
    ids={"Friday": {}, **{f"FridayLevel{level}": {"level": level} for level in (2, 3, 4)}},
)
