"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

ABOUT = About(
    actions=(
        "0 to 7 move to the neighbour in the north, north-east, ... (`N`, `NE`, ...); the others throw a trap at a"
        " cell, `row,column` from 0 at the top left. A turn is a move and a throw."
    ),
    observation=(
        "It does not tell the turn, and so not how near the draw is; with the option `observe_turn` a fifth plane does."
    ),
    ends="When a player cannot move and has lost; after `max_turns` turns it is a draw.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "size": "cells of a side",
        "self_trap": "whether who traps himself alone loses at once or when he is to move",
        "max_turns": "turns after which it is a draw; none: four for each cell",
        "observe_turn": "whether the observation tells the turns left until the draw, in a plane of its own",
    },
)
