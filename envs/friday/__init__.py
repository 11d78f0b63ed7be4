"""Friday: Robinson's fight against hazards, age and pirates (one player). `rules` has rules and rulings, `cards` the cards."""

from leafwise.envs.core.contract.game import About, Game, Observation, SearchDefaults, Sizes, Text, View
from leafwise.envs.core.contract.rules import Chance, Rules
from leafwise.envs.friday import (
    baselines,
    draw,
    features,
    figures,
    layout,
    rules,
    scores,
    tables,
    text,
    valid,
)
from leafwise.envs.friday.companion import COMPANION

ABOUT = About(
    actions=(
        "`free` draws a free card; `pay` pays life to draw a card; `end` ends the fight, an ability or the removal of "
        "cards. `first` and `second` choose a hazard; `discard` rejects the only hazard; `draw` draws another card for an "
        "ability. `use0` to `use63` use the ability of a card on the table, and "
        "`card0` to `card63` choose a card. `action_mask` says which are legal."
    ),
    observation=(
        "Each kind of card has a number and a code. The number is its index in `leafwise.envs.friday.cards.CARDS`. The letter "
        "of the code says where the card comes from. S: Robinson's starting cards. G: normal aging cards. D: difficult aging "
        "cards. The player wins the other cards from hazards. W: the wreck. E: exploring. F: further exploring. N: wild "
        "animals. C: cannibals. In a fight, free cards lie on the left of the table, and paid cards on the right."
    ),
    ends="You win when both pirates are beaten. You lose as soon as you must pay a life that you do not have.",
    rewards={
        "returns": "1 when the game is won",
        "score": "the final score by the game's rule booklet, when the game ends",
        "shaped": "1 for a win, plus progress: beaten hazards and pirates, and life",
    },
    options={
        "level": "difficulty",
        "scared_stacking": 'what several cards with "highest card = 0" do in one fight',
        "empty_aging": "what happens when you must shuffle and no aging card is left",
        "destroy": "what happens to a destroyed card",
        "double_needs_source": "whether a card stays doubled only while the card that doubles it is on the table",
        "start_life": "life at the start; 0: the life of the level",
    },
)
"""Texts for people about the environments."""

GAME = Game(
    name="friday",
    title="Friday, improving a deck of cards to beat hazards and pirates (one player)",
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
            max_outcomes=38,
            max_stages=5,
            stages=rules.STAGES,
            stage=rules.stage,
        ),
        action_cost=rules.action_cost,
        candidates=rules.candidates,
        progress=scores.how_far,
        is_valid=valid.is_valid,
        figures=figures.write_figures,
    ),
    sizes=Sizes(width=layout.WIDTH, max_actions=len(layout.ACTIONS)),
    observation=Observation(
        features.observation_space,
        labels=features.labels,
        views={"onehot": View(features.onehot_space, features.onehot_as, features.onehot_labels)},
    ),
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
        figures=figures.Figures._fields,
        tables=text.tables,
        about=ABOUT,
    ),
    draw=draw.draw,
    search=SearchDefaults(depth=2, nodes=20_000, decisions_per_depth=110, candidates=rules.CANDIDATES),
    options=tables.Options(),
    scores=scores.SCORES,
    rewards={"score": scores.score_reward, "shaped": scores.shaped_reward},
    ais={"fridai": baselines.fridai_player},
    companion=COMPANION,
    return_range=(0.0, 1.0),
    features={"sparse": features.SPARSE},
    ids={"Friday": {}, **{f"FridayLevel{level}": {"level": level} for level in (2, 3, 4)}},
)
