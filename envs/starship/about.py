"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.parts import About

ABOUT = About(
    actions=(
        "(rotation * grid + y) * grid + x: where the top-left cell of the requested part goes, and where its front"
        " faces; `x,yN` for north."
    ),
    ends=(
        "When the last request is placed and the ship is finished, or as soon as a stage falls short of its minimum."
    ),
    rewards={
        "score": "the gain in quality, as it would be if the ship stood as it is; also called dense",
        "dense": "the same",
        "terminal": "the quality, when the ship is finished",
    },
    options={
        "preset": "how large ships are, and what is asked for",
    },
)
