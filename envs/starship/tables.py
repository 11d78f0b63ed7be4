"""What compiled code reads and writes: catalogue, parameters and scratch in one tuple, and the layout of a state row.

A state is one row of 16-bit words: a header, one word for each cell of the grid in raster order, and two words for
each part in placement order.

- header: the words named below; `POINTS + stage` and `TARGET + stage` hold a stage's progress and its target. The
  words from PHASE on belong to the building game (see `rules`); the generator leaves them 0.
- cell: SPACE, ARMOUR, CORRIDOR or ROOM + part, with DOOR_EAST and DOOR_SOUTH for the cell's own east and south edge.
- part: first word `part | rotation << 4 | door slot << 8`, second word `x | y << 8` of its top-left cell.

Compiled functions of this room take: `S` the rows, uint16 [rows, words], and `i`, `j` indices of some; `T` the `Tables` (the
contract's `GameTables` in `rules` and where `T.ship` is passed on); `A` actions, int64 [max_actions]; `P` probabilities,
float64 [rows]; `R` a random stream, uint64 [2]; `planes` is `T.planes`; `x`, `y` a column and a row of the grid from 0 on, of which
row y of a plane is at y + 1. Other modules import this one as `at`: its constants say where in a row or a table things are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Bools, Bytes, Floats, Floats32, Ints, Words
from leafwise.envs.starship import catalogue
from leafwise.envs.starship.settings import FACINGS as FACING_FIELDS
from leafwise.envs.starship.settings import (
    MOST_PARTS,
    NO_LIMIT,
    PART_ARMOUR,
    ROWS,
    STAGES,
    Parameters,
    Run,
    most_parts,
    runs,
)

Rows = NDArray[np.uint16]
"""State rows [n, words], or one of them."""

PARTS_PLACED, REASONS, SKIPS, EXHAUSTED = 0, 1, 2, 3
POINTS, TARGET = 4, 20
PHASE, TURN, QUEUE, DIGITS, KEY = 36, 37, 38, 41, 42
"""The placing stage that runs; who acts next; the requests in sight, plus 1; the hull's number and its digits so far."""
PREVIEW = 3
"""Requests in sight: the current one and two more."""
HEADER = 46
DOOR_EAST, DOOR_SOUTH, VALUE = 0x4000, 0x8000, 0x3FFF

STAGE_SHAPE, STAGE_FILL, STAGE_COCKPIT, STAGE_REACTOR, STAGE_COCKPIT_ARMOUR, STAGE_REACTOR_ARMOUR = 1, 2, 3, 4, 5, 6
STAGE_THRUSTERS, STAGE_WEAPONS, STAGE_EXTERIOR, STAGE_AMMO, STAGE_POWER, STAGE_CREW = 7, 8, 9, 10, 11, 12
STAGE_ARMOUR, STAGE_DOORS, STAGE_CARVE, STAGE_PART_ARMOUR = 13, 14, 15, PART_ARMOUR
HULL_STAGES = (STAGE_SHAPE, STAGE_FILL, STAGE_CARVE)

REASON_NAMES = (
    "shape_failed",
    "no_cockpit",
    "no_reactor",
    "thrust_below_min",
    "weapons_below_min",
    "ammo_below_min",
    "power_below_min",
    "crew_below_min",
)
"""Why a ship is not valid, by bit of the REASONS word."""
REASON_BIT = (-1, 0, 0, 1, 2, -1, -1, 3, 4, -1, 5, 6, 7, -1, -1, 0, -1)
"""The bit that a stage sets when it fails, -1 where it cannot; by stage number."""

STRATEGIES = (
    *("random", "protected", "centralized", "farthest_in_facing", "near_consumers", "align_edges"),
    *("protected_amidships", "centralized_amidships"),
)
RANDOM, PROTECTED, CENTRALIZED, FARTHEST, NEAR, ALIGN, PROTECTED_AMIDSHIPS, CENTRALIZED_AMIDSHIPS = range(8)
SYMMETRIES = ("none", "x", "pairs")
MIRROR_X, MIRROR_PAIRS = 1, 2

# Columns of the parameter matrix. The first five mean the same for every stage that has them.
LIMIT, STRATEGY, FIRST_TIE, LOW, HIGH = range(5)
REACH, LAYERS = 6, 7
"""REACH: near, scan range, longest path or redraws; LAYERS: layers, iterations, or how the hull is mirrored."""
FULL = REACH
"""In the weapons' row: the firepower that earns the whole fire term."""
WEIGHTS = 8
"""Weights of three kinds, then of the facings N, E, S, W; in the row of the shape, the sizes of its modules."""
FACINGS = 11
MOST = 16
"""The greatest scores of the facings N, E, S, W."""
ROUND, MIRRORED, ORDER = 20, 21, 22
"""The part that armour goes round; whether parts have mirror images; in which order cells are filled."""
COLUMNS = 23
ORDERS = ("raster", "inward")

KINDS = {
    STAGE_COCKPIT: (catalogue.COCKPIT,),
    STAGE_REACTOR: (catalogue.REACTOR,),
    STAGE_THRUSTERS: catalogue.THRUSTERS,
    STAGE_WEAPONS: catalogue.WEAPONS,
    STAGE_AMMO: (catalogue.AMMO_SUPPLY,),
    STAGE_POWER: (catalogue.POWER_STORAGE,),
    STAGE_CREW: catalogue.CREW_ROOMS,
}
"""The parts that each stage places, in the order of their weights."""

TARGETS = 7
"""How many targets there are; see `targets`."""
MARGIN_ROWS = 66
"""Rows of a bit plane: row y of the grid is at y + 1, so that both neighbours of every row exist."""
OUTLINE_MAPS = 8
NO_ROW = 0xFFFF
"""A word that no row has."""
HULL, FLOOR, EAST, SOUTH, ANCHORS, SEEN, SPARE, OTHER = range(8)
"""Bit planes, bit x for column x: hull; corridor; one may walk from (x, y) east, south; three for scratch."""


class Tables(NamedTuple):
    """Catalogue, parameters and scratch of one generator; one set per thread.

    Its type is the same for all leaves of a search, so that what takes it is compiled once.
    """

    grid: int
    number: int
    """The number of the parameters; `parameters_of` returns them."""
    hull: Words
    """The hull that is given in place of the drawn one, a bit plane; all 0 where it is drawn; shape [MARGIN_ROWS]."""
    order: Ints
    """The runs of stages, as rows of `kinds` and `stages`; shape [runs]."""
    turn_of: Ints
    """Where in `order` a row stands, -1 if it never runs; shape [row]."""
    base: Ints
    """The stage that a row is a run of; shape [row]."""
    asked: Ints
    """The targets that `targets` sets, in the order of `targets.NAMES`, -1 for none; shape [targets]."""
    size: Ints
    """Footprints; shape [part, rotation, 2]."""
    slots: Ints
    """Door slots; shape [part, rotation, slot, 3]."""
    facts: Ints
    """Numbers of the parts; shape [part, 9]."""
    kinds: Ints
    """Parts that a stage places, -1 past the last; shape [row, 3]."""
    stages: Ints
    """Parameters; shape [row, COLUMNS]. The row of a stage's first run is the stage's number."""
    planes: Words
    """Bit planes; shape [8, MARGIN_ROWS]."""
    loaded: Rows
    """The cells of which `planes` has HULL, FLOOR, EAST and SOUTH; shape [grid * grid]."""
    depth: Ints
    """Steps from each cell to the nearest SPACE; shape [grid * grid]."""
    notes: Ints
    """What a strategy measures once before it scores places; shape [4 + parts]."""
    request: Words
    """Stream of the requests; shape [2]."""
    place: Words
    """Stream of the places; shape [2]."""
    outlined: Words
    """The plane HULL that `outline` is of; shape [MARGIN_ROWS]."""
    outline: Floats32
    """Maps that follow from the hull alone, see `features`; shape [grid * grid, OUTLINE_MAPS]."""
    box: Ints
    """The hull's left, top, right and bottom; shape [4]."""
    terms: Floats
    """The six terms of the quality; shape [6]."""
    placed: Rows
    """The row that `places` is of; shape [words]."""
    places: Words
    """Bit planes of the legal places of a row's current request by rotation; shape [4, MARGIN_ROWS]."""


class GameTables(NamedTuple):
    """What the functions of the game's contract take; they pass `ship` on."""

    ship: Tables
    stop: Bytes
    """Not 0 once a search is to stop; shape [1]."""
    leaf: Any = ()
    """The weights of a leaf evaluator."""


SCRATCH = (
    *("planes", "loaded", "depth", "notes", "request", "place", "outlined", "outline", "box", "terms"),
    *("placed", "places"),
)
"""The fields that compiled code writes: each thread needs its own."""


NUMBERS: dict[Parameters, int] = {}
"""The parameters that tables were made of, and their numbers, since compiled code cannot hold parameters."""


def number_of(parameters: Parameters) -> int:
    """Returns the number of parameters; new ones get the next."""
    return NUMBERS.setdefault(parameters, len(NUMBERS))


def parameters_of(T: Tables) -> Parameters:
    """Returns the parameters that tables were made of."""
    return list(NUMBERS)[T.number]


def new_tables(parameters: Parameters, *, hull: Bools | None = None, asked: Sequence[int] = (-1,) * TARGETS) -> Tables:
    """Returns new tables for these parameters.

    `hull` [grid, grid] takes the place of the drawn hull, and `asked` has the targets in the order of `targets.NAMES`.
    """
    stage_runs = runs(parameters)
    base, turn_of = np.arange(ROWS), np.full(ROWS, -1)
    hull_plane = np.zeros(MARGIN_ROWS, np.uint64)
    for turn, run in enumerate(stage_runs):
        base[run.row], turn_of[run.row] = run.number, turn
    kinds = np.full((ROWS, 3), -1, np.int64)
    for stage, parts in KINDS.items():
        kinds[base == stage, : len(parts)] = parts
    if hull is not None:
        columns = np.uint64(1) << np.arange(parameters.grid, dtype=np.uint64)
        hull_plane[1 : parameters.grid + 1] = (hull * columns).sum(axis=1, dtype=np.uint64)
    return Tables(
        grid=parameters.grid,
        number=number_of(parameters),
        hull=hull_plane,
        order=np.array([run.row for run in stage_runs], np.int64),
        turn_of=turn_of,
        base=base,
        asked=np.array(asked, np.int64),
        size=catalogue.SIZE,
        slots=catalogue.SLOTS,
        facts=catalogue.FACTS,
        kinds=kinds,
        stages=encode(parameters),
        planes=np.zeros((8, MARGIN_ROWS), np.uint64),
        loaded=np.full(parameters.grid**2, NO_ROW, np.uint16),
        depth=np.zeros(parameters.grid**2, np.int64),
        notes=np.zeros(4 + MOST_PARTS, np.int64),
        request=np.zeros(2, np.uint64),
        place=np.zeros(2, np.uint64),
        outlined=np.zeros(MARGIN_ROWS, np.uint64),
        outline=np.zeros((parameters.grid**2, OUTLINE_MAPS), np.float32),
        box=np.zeros(4, np.int64),
        terms=np.zeros(6),
        placed=np.full(row_length(parameters), NO_ROW, np.uint16),
        places=np.zeros((4, MARGIN_ROWS), np.uint64),
    )


def row_length(parameters: Parameters) -> int:
    """Returns the number of words of a state row."""
    return HEADER + parameters.grid**2 + 2 * most_parts(parameters)


def new_rows(parameters: Parameters, count: int) -> Rows:
    """Returns `count` empty state rows (all SPACE, no parts); shape [count, words]."""
    return np.zeros((count, row_length(parameters)), np.uint16)


FIELDS = {
    LIMIT: ("max_detour",),
    LOW: ("min_modules", "min_directions", "min_score", "min_count", "min_seats"),
    HIGH: ("max_modules", "max_score", "max_count", "min_seats"),
    REACH: ("scan_range", "max_redraws", "near", "full_firepower", "max_path"),
    LAYERS: ("layers", "iterations"),
    MIRRORED: ("mirrored",),
    **{FACINGS + facing: (field,) for facing, field in enumerate(FACING_FIELDS)},
    **{MOST + facing: (field.replace("weight", "most"),) for facing, field in enumerate(FACING_FIELDS)},
}
"""The fields of the stages in each column. Weights of kinds stand from WEIGHTS on in their own order."""


def encode(parameters: Parameters) -> Ints:
    """Returns the parameters as the matrix that compiled code reads; shape [ROWS, COLUMNS]."""
    matrix = np.zeros((ROWS, COLUMNS), np.int64)
    for number, name, title in STAGES:
        encode_run(matrix, Run(number, number, title, getattr(parameters, name)))
    for run in runs(parameters):
        encode_run(matrix, run)
    shape, circle, rectangle = parameters.shape, parameters.shape.circle, parameters.shape.rectangle
    matrix[STAGE_SHAPE, LAYERS] = SYMMETRIES.index(shape.symmetry)
    matrix[STAGE_SHAPE, WEIGHTS:MOST] = [
        *(circle.weight, rectangle.weight, circle.min_radius, circle.max_radius),
        *(rectangle.min_width, rectangle.max_width, rectangle.min_height, rectangle.max_height),
    ]
    return matrix


def encode_run(matrix: Ints, run: Run) -> None:
    """Writes the settings of one run into its row of the matrix."""
    row, values = matrix[run.row], asdict(run.settings)
    row[[LOW, HIGH, WEIGHTS, FACINGS]] = 1
    row[MOST : MOST + 4] = NO_LIMIT
    for column, fields in FIELDS.items():
        for field in values.keys() & set(fields):
            row[column] = values[field]
    row[STRATEGY] = STRATEGIES.index(values.get("strategy", "random"))
    row[FIRST_TIE] = values.get("tie") == "first"
    row[ORDER] = ORDERS.index(values.get("order", "raster"))
    row[ROUND] = catalogue.PART_NUMBERS[
        values.get("part", "reactor" if run.number == STAGE_REACTOR_ARMOUR else "cockpit")
    ]
    kinds = [x for field, x in values.items() if field.startswith("weight_") and field not in FACING_FIELDS]
    row[WEIGHTS : WEIGHTS + len(kinds)] = kinds
