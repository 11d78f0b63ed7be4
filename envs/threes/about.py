"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

ABOUT = About(
    actions="0 up, 1 down, 2 left, 3 right: every tile that can slides by one cell, or merges with the one before it.",
    ends='When no slide is legal; with `top="end_at_12288"` also when two 6144 have merged.',
    rewards={
        "score": "change of the board's score, 3 to the power (rank - 2) a tile, the entering tile's included",
        "merges": "the points made by merging alone",
        "survival": "1 for every move",
    },
    options={
        "bonus_value": "how the value of a bonus tile is drawn",
        "bonus_schedule": "when bonus tiles come",
        "hint": "what is shown of a bonus tile before it enters",
        "top": "what two 6144 do",
        "entry": "which lanes the next tile may enter",
        "bonus_p": 'chance of a bonus tile, where the schedule is "iid"',
    },
)
