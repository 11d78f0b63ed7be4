"""Trilobite: drop chips into columns, k in a row win (Connect Four at 7x6 with k = 4). `rules` has the rules."""

from leafwise.envs.core.contract.game import About, ExactSolver, Game, Observation, SearchDefaults, Sizes, Text, View
from leafwise.envs.core.contract.rules import Rules, Symmetries
from leafwise.envs.trilobite import baselines, draw, features, rules, scores, tables, text

ABOUT = About(
    actions="An action is a column, counted from the left. The chip falls to the lowest free cell of the column.",
    ends="A player with k chips in a row wins. When the board is full the game is a draw.",
    rewards={
        "score": "1 for a win, 0 for a draw, -1 for a loss, when the game ends",
    },
    options={
        "board": "columns x rows; 3 to 8 of each, at most 56 cells",
        "k": "how many chips in a row win, at most the longer side of the board",
    },
)
"""Texts for people about the environments."""

GAME = Game(
    name="trilobite",
    title="Trilobite, k chips in a row on an upright board (two players)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=rules.initial_state,
        current_player=rules.current_player,
        legal_actions=rules.legal_actions,
        apply_action=rules.apply_action,
        returns=rules.returns,
        observe=features.observe,
        is_valid=rules.is_valid,
        observe_as=features.observe_as,
        candidates=rules.candidates,
    ),
    sizes=Sizes(width=2, max_actions=8),
    observation=Observation(
        features.observation_space,
        labels=features.labels,
        views={"planes": View(features.planes_space, features.planes_as, features.planes_labels)},
    ),
    make_tables=tables.make_tables,
    action_names=tables.action_names,
    text=Text(
        write=text.to_text,
        parse=text.parse_row,
        action=text.column,
        board=draw.to_board,
        colours={r"\bx\b": "red", r"\bo\b": "yellow"},
        about=ABOUT,
    ),
    draw=draw.draw,
    symmetries=Symmetries(2, features.transform, features.transform_action),
    options=tables.Options(),
    search=SearchDefaults(candidates=rules.CANDIDATES),
    scores=scores.SCORES,
    ais={
        "solver": ExactSolver(
            "leafwise.envs.trilobite.solver:TrilobiteSolver",
            memory_mb=lambda options: 4.0,
            labels="leafwise.envs.trilobite.solver:TrilobiteLabels",
        ),
        "minimax": baselines.minimax_player,
    },
    features={"sparse": features.SPARSE, "parity": features.PARITY},
    ids={
        "Trilobite": {},
        "Trilobite5x5": {"board": "5x5", "k": 4},
        "Trilobite7x6": {"board": "7x6", "k": 4},
    },
)
