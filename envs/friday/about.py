"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

ABOUT = About(
    actions=(
        "`free`, `pay` draw a card; `end` ends the fight; `first`, `second` choose a hazard; `discard` rejects; "
        "`draw` draws on; `use0` to `use63` use the ability of a card on the table, `card0` to `card63` point at "
        "one. The mask says which mean anything now."
    ),
    ends="When both pirates are beaten (won), or life is short (lost).",
    rewards={
        "returns": "1 when the game is won",
        "score": "the booklet's final score, when the game ends",
        "shaped": "1 for a win, and the change of how far the game has come: beaten hazards, pirates, life",
    },
    options={
        "level": "difficulty, 1 to 4",
        "scared_stacking": 'what several cards "highest card = 0" do',
        "empty_aging": "what an empty aging pile means",
        "destroy": "where a destroyed card goes",
        "double_needs_source": "whether a doubling ends with the card that doubles",
        "start_life": "life at the start; 0: the booklet's",
    },
)
