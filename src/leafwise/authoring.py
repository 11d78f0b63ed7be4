"""Names for authors of games: a game package imports these and those of `leafwise`.

`leafwise new NAME` writes such a package; docs/howto/game.md explains what is in it. The package's own games import the modules
behind these names.
"""

from __future__ import annotations

from leafwise.envs.core.compile.cache import cache_root
from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import (
    LINE,
    NIBBLES,
    count_bits,
    flip,
    highest_rank,
    looked_up,
    mirror,
    occupied,
    sum_of_rows,
    symmetric_boards,
    transpose,
)
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import (
    CellFeatures,
    GridFeatures,
    SmallTable,
    SparseFeatures,
    rectangle_views,
    square_views,
)
from leafwise.envs.core.contract.game import (
    About,
    ExactSolver,
    Game,
    Labels,
    Observation,
    OwnSearch,
    Programs,
    SearchDefaults,
    Sizes,
    StepInfo,
    Text,
    View,
)
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Chance, Rules, Symmetries, copy_row
from leafwise.envs.core.contract.state import State, reads_back
from leafwise.envs.core.contract.stream import below, mix, new_stream, next_u64, u64, uniform
from leafwise.envs.core.contract.texts import need, typed_cells, whole_number, words_by_name
from leafwise.envs.core.errors import Forfeit
from leafwise.envs.core.fields import RULE_ONLY, SHOWN_ONLY, from_file
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.core.play.by_name import Choice
from leafwise.envs.core.play.companion import Companion, Question, read_choices
from leafwise.envs.core.play.solver import FunctionPlayer, Solution, solver_player
from leafwise.envs.core.ranges import OneOf, Range, settle_fields
from leafwise.envs.registry import listing

__all__ = [  # noqa: RUF022 - by what they are for
    # a game and its parts
    "Game", "Rules", "Chance", "Symmetries", "CHANCE", "TERMINAL", "Sizes", "Observation", "View", "StepInfo", "Labels", "Text",
    "About", "SearchDefaults", "OwnSearch", "Programs", "ExactSolver", "State", "listing",
    # compiled functions, and evaluators made of them
    "jit", "bind", "prefetch", "Evaluator", "Speed",
    # what networks see
    "CellFeatures", "SmallTable", "square_views", "rectangle_views", "GridFeatures", "SparseFeatures",
    # rows, bits, boards of sixteen cells of four bits in a word, random streams
    "u64", "copy_row", "count_bits", "LINE", "NIBBLES", "flip", "mirror", "transpose", "occupied", "highest_rank", "looked_up",
    "sum_of_rows", "symmetric_boards", "new_stream", "next_u64", "mix", "below", "uniform",
    # options, and positions as text
    "RULE_ONLY", "SHOWN_ONLY", "from_file", "Range", "OneOf", "settle_fields", "need", "whole_number", "words_by_name",
    "typed_cells", "reads_back",
    # pictures, a companion at a real table, players and solvers of the game's own
    "Canvas", "Companion", "Question", "Choice", "read_choices", "FunctionPlayer", "Forfeit", "Solution", "solver_player",
    # long work of a solver or a table: Ctrl-C, and where to keep what it made
    "stoppable", "cache_root",
]  # fmt: skip
