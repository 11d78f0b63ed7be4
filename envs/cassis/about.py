"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

ABOUT = About(
    actions="One for each edge between two points, `0-1`, `0-2`, ...: it takes the player's colour.",
    ends="When a player completes a triangle of their own colour, and has lost; or all edges are coloured.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "n": "points",
    },
)
