"""What people are told of the environments: actions, ends, rewards, options."""

from leafwise.envs.core.contract.game import About

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
        "preset": "how large ships are, and what is asked for: a name of `leafwise.envs.starship.PRESETS`",
        "parameters": (
            "what differs from the preset: a settings file, as `leafwise ship gen --save-config FILE` writes it, by its path,"
            ' its text, or a mapping such as `{"crew": {"min_seats": 12}}`; a preset that it names takes the place of the option'
        ),
        "hull": 'the hull in place of a drawn one: rows of "." and " ", booleans [grid, grid], or the path of a file of such rows',
        "targets": (
            'what the ship is to have: `{"thrust": 40, "seats": 48, "firepower": {"north": 6, "east": 2, "west": 2}}`, any of'
            " them, `firepower` also as one number; they stand in the observation, and a ship that falls short is not valid"
        ),
    },
)
