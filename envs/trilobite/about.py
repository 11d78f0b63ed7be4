"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

ABOUT = About(
    actions="One for each column, from the left: a chip falls to its lowest free cell.",
    ends="When somebody has k in a row, or the board is full.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "board": "columns x rows",
        "k": "how many in a row win",
    },
)
