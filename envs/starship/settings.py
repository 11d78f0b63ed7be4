"""The settings that decide a ship besides its seed: each stage's settings with their ranges, the presets, and which stages run.

Lengths are in cells, paths in crew steps. Weights are relative and need not add up to anything. Settings are read from TOML,
plain dictionaries and a command line; each wrong entry raises ValueError in one line. A setting that is left out has its
default.

The stages run in the source's order, or in that of a list:

    stages = ["Shape", "Fill Gaps", "Cockpit", "Reactor", "Weapons", "Thrusters", "Armour part=ammo_supply layers=2"]

An entry is the name of a stage, and after it the settings that differ in this run. Stages may be left out, reordered and
repeated. Those of the hull come first, Add Extra Doors last. A stage that places parts again continues: its targets count all
parts of its kinds. "Armour" lays rings round every part of a kind. Each run has its own random streams; the first run of a
stage has the same ones in every list.
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
import tomllib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Meta, inspect, to_builtins
from msgspec.structs import replace

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.starship.catalogue import BUNK, PARTS, QUARTERS, THRUSTER_SMALL

PART_NAMES = tuple(part.name for part in PARTS)
NO_LIMIT = 1000
LARGEST = 1000
"""The largest number that a setting may have."""
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, Meta(ge=1, le=LARGEST)]
OPTIONAL = frozenset({"most_north", "most_east", "most_south", "most_west", "mirrored", "order"})
"""Fields that ship files leave out if they have their defaults."""
STAGES: tuple[tuple[int, str, str], ...] = (
    (1, "shape", "Shape"),
    (2, "fill_gaps", "Fill Gaps"),
    (15, "carve", "Carve"),
    (3, "cockpit", "Cockpit"),
    (4, "reactor", "Reactor"),
    (5, "cockpit_armour", "Cockpit Armour"),
    (6, "reactor_armour", "Reactor Armour"),
    (7, "thrusters", "Thrusters"),
    (8, "weapons", "Weapons"),
    (9, "exterior_armour", "Exterior Armour"),
    (10, "ammo_supplies", "Ammo Supplies"),
    (11, "power_storage", "Power Storage"),
    (12, "crew", "Crew"),
    (13, "fill_with_armour", "Fill With Armour"),
    (14, "extra_doors", "Add Extra Doors"),
)
"""Number (of the random stream), field and name of each stage, in the order in which they run."""
STAGE_NAMED = {field: (number, title) for number, field, title in STAGES}
MOST_PARTS = 250
MOST_EXTRA_SEATS = PARTS[QUARTERS].seats - 1
"""How many more seats a ship may have than its target."""
FACINGS = ("weight_north", "weight_east", "weight_south", "weight_west")
"""Fields of a stage that are weights of facings; its other weights are of kinds."""
PART_ARMOUR = 16
"""The number of the stage that runs only if a list names it."""
FIRST_FURTHER = 17
"""The first row of runs beyond the usual ones."""
MOST_RUNS = 30
ROWS = FIRST_FURTHER + MOST_RUNS
HULL_STAGES = ("Shape", "Fill Gaps", "Carve")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all settings; `msgspec.structs.replace` returns a copy with some changed."""


class CircleModule(Settings, frozen=True):
    """A blocky disc."""

    weight: Count = 1
    """How often this kind is drawn, relative to the other kind."""
    min_radius: Count = 3
    """Smallest radius, in cells."""
    max_radius: Count = 6
    """Greatest radius, in cells."""


class RectangleModule(Settings, frozen=True):
    """A rectangle."""

    weight: Count = 1
    """How often this kind is drawn, relative to the other kind."""
    min_width: Positive = 5
    """Smallest width, in cells."""
    max_width: Positive = 12
    """Greatest width, in cells."""
    min_height: Positive = 5
    """Smallest height, in cells."""
    max_height: Positive = 12
    """Greatest height, in cells."""


class Stage(Settings, frozen=True):
    """Any stage."""

    enabled: bool = True
    """Whether the stage runs."""


class Scan(Stage, frozen=True):
    """A stage that changes cells by what stands in several directions nearby."""

    scan_range: Count = 2
    """How far each ray looks, in cells."""
    iterations: Count = 2
    """Times the scan is repeated."""
    min_directions: Annotated[int, Meta(ge=1, le=4)] = 2
    """Directions (of 4) in which what is looked for must be seen."""


class Closing(Stage, frozen=True):
    """A stage that closes floor to the crew."""

    max_detour: Count = 5
    """Longest way round that a part or an armour cell may force on the crew, in steps."""


class Rings(Closing, frozen=True):
    """A stage that lays armour in rings or layers."""

    layers: Count = 1
    """Rings of armour, or layers from the outside in."""


class Placing(Closing, frozen=True):
    """A stage that places parts."""

    strategy: str = "random"
    """How the place is chosen."""
    tie: Literal["random", "first"] = "random"
    """Which of equally good places is taken."""
    mirrored: bool = False
    """Whether each part has its mirror image beside the hull's middle column, where that may stand."""


CoreStrategy = Literal["protected", "centralized", "random", "protected_amidships", "centralized_amidships"]
MountStrategy = Literal["random", "farthest_in_facing", "protected", "centralized"]


class CorePart(Placing, frozen=True):
    """A stage that places one part inside; `..._amidships` as near to the hull's middle column as can be."""

    strategy: CoreStrategy = "protected"


class Mounts(Placing, frozen=True):
    """A stage that places directional parts at the rim until a target score is met."""

    strategy: MountStrategy = "random"
    min_score: Count = 0
    """Lowest target; below it the ship is not valid."""
    max_score: Count = 0
    """Highest target; the score never exceeds it."""
    weight_north: Count = 1
    """Firing ahead, or exhaust to the bow."""
    weight_east: Count = 1
    """Firing or exhaust to the right."""
    weight_south: Count = 1
    """Firing astern, or exhaust to the stern, which pushes the ship forward."""
    weight_west: Count = 1
    """Firing or exhaust to the left."""
    most_north: Count = NO_LIMIT
    """Greatest score of the parts that face ahead; with `min_score` it makes a facing's share exact."""
    most_east: Count = NO_LIMIT
    """Greatest score of the parts that face to the right."""
    most_south: Count = NO_LIMIT
    """Greatest score of the parts that face astern."""
    most_west: Count = NO_LIMIT
    """Greatest score of the parts that face to the left."""


class Supplies(Placing, frozen=True):
    """A stage that places supplies near what consumes them."""

    strategy: Literal["near_consumers", "random", "protected", "centralized"] = "near_consumers"
    min_count: Count = 1
    """Lowest target; below it the ship is not valid."""
    max_count: Count = 2
    """Highest target."""
    near: Count = 8
    """Greatest gap at which a consumer is supplied, in cells."""


class Shape(Stage, frozen=True):
    """Stage 1: the hull is a random configuration of overlapping modules."""

    enabled: bool = True
    """Whether the stage runs; without it a hull must be supplied."""
    min_modules: Positive = 8
    """Fewest modules."""
    max_modules: Count = 8
    """Most modules."""
    circle: CircleModule = CircleModule()
    """Circular modules."""
    rectangle: RectangleModule = RectangleModule()
    """Rectangular modules."""
    symmetry: Literal["none", "x", "pairs"] = "none"
    """x: mirror the hull left-right about the first module; pairs: about the line right of its middle column, so that parts two
    cells wide can stand amidships."""
    max_redraws: Count = 50
    """Positions tried for a module before it is dropped."""


class FillGaps(Scan, frozen=True):
    """Stage 2: cells of space with hull in several directions nearby become hull."""


class Carve(Scan, frozen=True):
    """Optional, in place of stage 2 or after it: hull with space in several directions nearby is carved away."""

    enabled: bool = False
    iterations: Count = 1


class Cockpit(CorePart, frozen=True):
    """Stage 3: the cockpit, where it is best protected."""


class Reactor(CorePart, frozen=True):
    """Stage 4: the reactor, near the centre of mass."""

    strategy: CoreStrategy = "centralized"


class CockpitArmour(Rings, frozen=True):
    """Stage 5: rings of armour round the cockpit."""

    layers: Count = 2


class ReactorArmour(Rings, frozen=True):
    """Stage 6: rings of armour round the reactor."""


class Thrusters(Mounts, frozen=True):
    """Stage 7: thrusters of random size and facing until the target score is met."""

    min_score: Count = 35
    max_score: Count = 45
    weight_small: Count = 1
    """Small thruster (score 1)."""
    weight_medium: Count = 2
    """Medium thruster (score 2)."""
    weight_large: Count = 3
    """Large thruster (score 4)."""
    weight_south: Count = 5
    """Exhaust to the stern: pushes the ship forward."""


class Weapons(Mounts, frozen=True):
    """Stage 8: cannons of random size and facing until the target score is met."""

    strategy: MountStrategy = "farthest_in_facing"
    min_score: Count = 8
    max_score: Count = 12
    weight_medium: Count = 2
    """Medium cannon (score 1)."""
    weight_large: Count = 1
    """Large cannon (score 2)."""
    weight_north: Count = 2
    """Firing ahead."""
    full_firepower: Positive = 10
    """Firepower that earns the whole fire term of the quality (the stage itself does not use it)."""


class ExteriorArmour(Rings, frozen=True):
    """Stage 9: what borders space and is still corridor becomes armour."""


class AmmoSupplies(Supplies, frozen=True):
    """Stage 10: ammo supplies near the weapons."""

    min_count: Count = 2
    max_count: Count = 3


class PowerStorage(Supplies, frozen=True):
    """Stage 11: power storage near the thrusters and ammo supplies that the reactor does not reach."""


class Crew(Placing, frozen=True):
    """Stage 12: quarters and bunks, edges lined up where possible."""

    strategy: Literal["align_edges", "random", "protected", "centralized"] = "align_edges"
    min_seats: Count = 24
    """Seats at which the stage stops; below it the ship is not valid."""
    weight_quarters: Count = 1
    """Quarters (6 seats)."""
    weight_bunk: Count = 1
    """Bunk (2 seats)."""


class FillWithArmour(Closing, frozen=True):
    """Stage 13: every corridor cell that nobody needs becomes armour."""

    order: Literal["raster", "inward"] = "raster"
    """raster: row by row from the top, which leaves more upright corridors than level ones; inward: from the rim to the middle,
    left and right in turn."""


class ExtraDoors(Stage, frozen=True):
    """Stage 14: doors through walls that would otherwise mean a long walk."""

    max_path: Count = 10
    """Longest walk from one side of a wall to the other that needs no door, in steps."""


class PartArmour(Rings, frozen=True):
    """Armour round every part of a kind: "Armour part=ammo_supply" in the list of stages."""

    part: Literal[PART_NAMES] = "cockpit"  # type: ignore[valid-type]
    """The kind."""


class StageSettings(Settings, frozen=True):
    """The settings of all stages, each checked by itself only."""

    preset: str = "classic"
    """Name of the preset these parameters started from."""
    grid: Annotated[int, Meta(ge=12, le=64)] = 48
    """Side of the square grid, in cells."""
    max_attempts: Positive = 8
    """Attempts, each with fresh random numbers, before an invalid ship is returned."""
    shape: Shape = Shape()
    fill_gaps: FillGaps = FillGaps()
    carve: Carve = Carve()
    cockpit: Cockpit = Cockpit()
    reactor: Reactor = Reactor()
    cockpit_armour: CockpitArmour = CockpitArmour()
    reactor_armour: ReactorArmour = ReactorArmour()
    thrusters: Thrusters = Thrusters()
    weapons: Weapons = Weapons()
    exterior_armour: ExteriorArmour = ExteriorArmour()
    ammo_supplies: AmmoSupplies = AmmoSupplies()
    power_storage: PowerStorage = PowerStorage()
    crew: Crew = Crew()
    fill_with_armour: FillWithArmour = FillWithArmour()
    extra_doors: ExtraDoors = ExtraDoors()
    stages: tuple[str, ...] = ()
    """The stages that run, in this order, if it is not the usual one: Weapons, "Armour part=ammo_supply layers=2"."""


class Parameters(StageSettings, frozen=True):
    """Everything but the seed that decides a ship."""

    def __post_init__(self) -> None:
        """Raises ValueError in one line that names the entry if settings contradict each other."""
        values = to_builtins(self, enc_hook=repr)
        read(values, StageSettings, "parameters")
        if len(self.preset) > 40 or not self.preset.isprintable():
            got = reprlib.repr(self.preset)
            raise UserError(f"expected preset as a name of at most 40 printable characters, got {got}")
        shape, room = self.shape, self.grid - 2
        for where, value, low, high in (
            ("shape.circle.max_radius", shape.circle.max_radius, 0, (room - 1) // 2),
            ("shape.rectangle.max_width", shape.rectangle.max_width, 1, room),
            ("shape.rectangle.max_height", shape.rectangle.max_height, 1, room),
        ):
            if value > high:
                raise UserError(f"expected {where} as an integer from {low} to {high}, got {value}")
        groups = [("shape", [shape.circle.weight, shape.rectangle.weight])]
        for name in STAGE_NAMED:
            weights = {key: weight for key, weight in values[name].items() if key.startswith("weight_")}
            facings = [weights.pop(key) for key in FACINGS if key in weights]
            groups += [(name, list(weights.values())), (name, facings)]
        for name, group in groups:
            if group and not any(group):
                raise UserError(f"expected a weight of {name} greater than 0, got {group!r}")
        _in_order("", values)
        runs(self)
        if most_parts(self) > MOST_PARTS:
            raise UserError(f"expected targets that allow at most {MOST_PARTS} parts, got up to {most_parts(self)}")


def _in_order(where: str, values: dict[str, Any]) -> None:
    """Raises ValueError unless each `min_...` is at most its `max_...`."""
    for name, value in values.items():
        top = f"max_{name[4:]}"
        if isinstance(value, dict):
            _in_order(f"{where}{name}.", value)
        elif name.startswith("min_") and top in values and value > values[top]:
            raise UserError(f"expected {where}{name} of at most {top} = {values[top]}, got {value}")


class Run(NamedTuple):
    """One run of a stage."""

    row: int
    """Its row in the matrix of parameters, which also decides its random streams."""
    number: int
    """The number of its stage."""
    title: str
    settings: Any
    """The settings of the stage in this run."""


@functools.lru_cache(maxsize=256)
def runs(parameters: Parameters) -> tuple[Run, ...]:
    """Returns the runs of the enabled stages, in order.

    Raises ValueError in one line for a list of stages that cannot run.
    """
    stage_runs = [Run(number, number, title, getattr(parameters, field)) for number, field, title in STAGES]
    if parameters.stages:
        if len(parameters.stages) > MOST_RUNS:
            raise UserError(f"expected at most {MOST_RUNS} stages, got {len(parameters.stages)}")
        stage_runs = []
        for k, entry in enumerate(parameters.stages):
            try:
                number, title, settings = _read_entry(parameters, entry)
            except UserError as problem:
                raise UserError(f"stages[{k}]: {problem}") from None
            taken = number == PART_ARMOUR or number in (run.number for run in stage_runs)
            stage_runs.append(Run(FIRST_FURTHER + k if taken else number, number, title, settings))
        _check_order([run.title for run in stage_runs])
    return tuple(run for run in stage_runs if run.settings.enabled)


def stage_field(name: str) -> str:
    """Returns the field of a stage, given by its name ("Exterior Armour") or its field (exterior_armour), in any case.

    "Armor" is also accepted, as the source spells it.
    """
    wanted = re.sub(r"armor(?=_|$)", "armour", name.strip().lower().replace(" ", "_").replace("-", "_"))
    for field, (_, title) in STAGE_NAMED.items():
        if wanted in (field, title.lower().replace(" ", "_")):
            return field
    raise UserError(f"expected stage as one of {', '.join(title for _, _, title in STAGES)}, got {reprlib.repr(name)}")


def _read_entry(parameters: Parameters, entry: str) -> tuple[int, str, Any]:
    """Returns the number, title and settings of an entry in the list of stages; raises ValueError for a wrong one."""
    words = entry.split()
    name = " ".join(word for word in words if "=" not in word)
    changes = dict(word.split("=", 1) for word in words if "=" in word)
    number, title, base = PART_ARMOUR, "Armour", cast(Any, PartArmour())
    if not re.fullmatch(r"(?i)armou?r", name):
        field = stage_field(name)
        (number, title), base = STAGE_NAMED[field], getattr(parameters, field)
    elif "part" not in changes:
        got = reprlib.repr(entry)
        raise UserError(f"expected the part that armour goes round, like 'Armour part=reactor', got {got}")
    known = [name for name in to_builtins(base) if name != "enabled"]  # a stage in the list runs
    for key in changes:
        if key not in known:
            raise UserError(f"expected a field of {title} among {', '.join(known)}, got {reprlib.repr(key)}")
    settings = read(to_builtins(base) | changes, type(base), title, strict=False)
    _in_order("", to_builtins(settings))
    return number, title, settings


def _check_order(titles: list[str]) -> None:
    """Raises ValueError unless the hull's stages come first, Shape at most once, and the extra doors last."""
    hull = [title in HULL_STAGES for title in titles]
    if sorted(hull, reverse=True) != hull:
        late = titles[max(k for k, is_of_hull in enumerate(hull) if is_of_hull)]
        raise UserError(
            f"expected stages that begin with those of the hull ({', '.join(HULL_STAGES)}), got {late} after others"
        )
    if "Shape" in titles[1:]:
        raise UserError("expected Shape once in stages, as the first, got it later")
    if "Add Extra Doors" in titles[:-1]:
        raise UserError("expected Add Extra Doors once in stages, as the last, got it earlier")


@functools.lru_cache(maxsize=256)
def final(parameters: Parameters) -> Parameters:
    """Returns the settings that a finished ship has to meet: those of each stage's last run, disabled if it never runs."""
    if not parameters.stages:
        return parameters
    last = {run.number: run.settings for run in runs(parameters)}
    stages = {
        field: last.get(number, replace(getattr(parameters, field), enabled=False)) for number, field, _ in STAGES
    }
    return replace(parameters, stages=(), **stages)


def most_parts(parameters: Parameters) -> int:
    """Returns an upper bound of the number of parts that a ship with these parameters can have."""

    def greatest(field: str, name: str) -> int:
        """Returns the largest value of a stage's setting over its runs and its own table."""
        further = [run.settings for run in runs(parameters) if run.number == STAGE_NAMED[field][0]]
        return max(getattr(settings, name) for settings in (getattr(parameters, field), *further))

    return (
        2
        + greatest("thrusters", "max_score") // PARTS[THRUSTER_SMALL].points
        + greatest("weapons", "max_score")
        + greatest("ammo_supplies", "max_count")
        + greatest("power_storage", "max_count")
        + (greatest("crew", "min_seats") + MOST_EXTRA_SEATS) // PARTS[BUNK].points
    )


def read(values: Any, kind: Any, name: str, *, strict: bool = True) -> Any:
    """Returns plain data as a `kind`.

    Raises ValueError that names the entry (or `name`), what it should be and what it is. Unless it is `strict`, texts may stand
    for numbers.
    """
    try:
        return msgspec.convert(values, kind, strict=strict)
    except msgspec.ValidationError as problem:
        if isinstance(problem.__cause__, UserError):  # each value is right, but they contradict each other
            raise problem.__cause__ from None
        raise UserError(_explained(str(problem), values, inspect.type_info(kind), name)) from None


def _explained(problem: str, values: Any, kind: Any, name: str) -> str:
    """Returns msgspec's message, `WHAT` or `` WHAT - at `$.thrusters.min_score` ``, in the form of this package's errors."""
    message, separator, path = problem.rpartition(" - at `$")
    where = ""
    for step in re.findall(r"[^.\[\]`]+|\.\.\.", path if separator else ""):
        if isinstance(kind, inspect.StructType) and step in values:
            where, kind = f"{where}.{step}", next(field.type for field in kind.fields if field.name == step)
        elif isinstance(kind, inspect.ListType | inspect.TupleType | inspect.VarTupleType):
            where, step = f"{where}[{step}]", int(step)
            kind = kind.item_types[step] if isinstance(kind, inspect.TupleType) else kind.item_type
        else:
            break
        values = values[step]
    where = where.removeprefix(".") or name
    field = re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", message or problem, re.DOTALL)
    if field and isinstance(kind, inspect.StructType):
        known = ", ".join(known.name for known in kind.fields)
        if field[1] == "missing required":
            return f"expected {where} with {known}, got no {field[2]!r}"
        return f"expected a field of {where} among {known}, got {reprlib.repr(field[2])}"
    return f"expected {where} as {_expected(kind)}, got {reprlib.repr(values)}"


def _expected(kind: inspect.Type) -> str:
    """Returns a description of the values of a type."""
    match kind:
        case inspect.IntType(ge=low, le=None):
            return f"an integer from {low} on"
        case inspect.IntType(ge=low, le=high):
            return f"an integer from {low} to {high}"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.ListType(min_length=length, max_length=most):
            return f"a list of {length}" if length == most else f"a list of at most {most}"
        case inspect.VarTupleType():
            return "a list of texts"
        case inspect.TupleType(item_types=kinds):
            return f"a list of {len(kinds)}"
        case inspect.StrType(max_length=None):
            return "a text"
        case inspect.StrType(max_length=length):
            return f'{length} characters "." or " "'
    return "true or false" if isinstance(kind, inspect.BoolType) else "an object"


def switched(parameters: Parameters, names: Iterable[str], enabled: bool) -> Parameters:
    """Returns the parameters with the named stages enabled or disabled."""
    fields = [stage_field(name) for name in names]
    return replace(parameters, **{field: replace(getattr(parameters, field), enabled=enabled) for field in fields})


def _merged(base: Any, changes: Any) -> Any:
    """Returns nested dictionaries with some entries replaced."""
    if not (isinstance(base, dict) and isinstance(changes, Mapping)):
        return changes
    return base | {name: _merged(base.get(name), change) for name, change in changes.items()}


def toml_values(text: str) -> dict[str, Any]:
    """Returns the entries of a settings file; raises ValueError in one line if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ) as problem:  # TOML's own ValueError, or that of a number with thousands of digits
        raise UserError(f"expected parameters in TOML: {problem}") from None


def from_toml(text: str) -> Parameters:
    """Returns parameters from TOML: `preset` names the base (classic if absent), and each changed stage has a table."""
    return changed("classic", toml_values(text))


def changed(preset: str | Parameters, changes: Mapping[str, Any]) -> Parameters:
    """Returns parameters with some entries of nested dictionaries replaced; raises ValueError in one line for a wrong entry.

    `preset` is the base. If it is a name, `changes` may name another preset.
    """
    if isinstance(preset, str):
        preset = PRESETS.get(str(changes.get("preset", preset)), CLASSIC)
    return cast(Parameters, read(_merged(to_builtins(preset), changes), Parameters, "parameters"))


def changes_from(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the changes that `changed` needs to turn the nested dictionaries `base` into `other`."""
    return {
        name: changes_from(base[name], value) if isinstance(value, dict) else value
        for name, value in other.items()
        if value != base[name]
    }


def to_toml(parameters: Parameters) -> str:
    """Returns all parameters as TOML that `from_toml` can read."""
    lines: list[str] = []

    def write(table: str, values: Mapping[str, Any]) -> None:
        if table:
            lines.extend(["", f"[{table}]"])
        inner = {name: value for name, value in values.items() if isinstance(value, dict)}
        lines.extend(f"{n} = {json.dumps(v, ensure_ascii=False)}" for n, v in values.items() if n not in inner)
        for name, value in inner.items():
            write(f"{table}.{name}" if table else name, value)

    write("", to_builtins(parameters))
    return "\n".join(lines) + "\n"


CLASSIC = Parameters()
SCOUT = Parameters(
    preset="scout",
    grid=24,
    shape=Shape(
        min_modules=5,
        max_modules=5,
        circle=CircleModule(min_radius=3, max_radius=4),
        rectangle=RectangleModule(min_width=5, max_width=9, min_height=5, max_height=9),
    ),
    cockpit_armour=CockpitArmour(layers=1),
    thrusters=Thrusters(min_score=8, max_score=12),
    weapons=Weapons(min_score=3, max_score=5, full_firepower=4),
    ammo_supplies=AmmoSupplies(min_count=1, max_count=1),
    power_storage=PowerStorage(min_count=1, max_count=1),
    crew=Crew(min_seats=8),
)
CRUISER = Parameters(
    preset="cruiser",
    grid=64,
    shape=Shape(
        circle=CircleModule(min_radius=4, max_radius=7),
        rectangle=RectangleModule(min_width=6, max_width=14, min_height=6, max_height=14),
    ),
)


def _symmetrical(name: str, base: Parameters, supplies: int) -> Parameters:
    """Returns parameters of ships with two equal sides, as far as their parts come in pairs."""
    return replace(
        base,
        preset=name,
        shape=replace(base.shape, symmetry="pairs"),
        carve=replace(base.carve, enabled=True, scan_range=1),
        cockpit=replace(base.cockpit, strategy="protected_amidships"),
        reactor=replace(base.reactor, strategy="centralized_amidships"),
        thrusters=replace(base.thrusters, mirrored=True),
        weapons=replace(base.weapons, mirrored=True),
        ammo_supplies=replace(base.ammo_supplies, mirrored=True, min_count=supplies, max_count=supplies),
        power_storage=replace(base.power_storage, mirrored=True, min_count=1, max_count=2),
        crew=replace(base.crew, mirrored=True),
        fill_with_armour=replace(base.fill_with_armour, order="inward"),
    )


CORVETTE, FRIGATE = _symmetrical("corvette", SCOUT, 1), _symmetrical("frigate", CLASSIC, 2)
PRESETS = {"classic": CLASSIC, "scout": SCOUT, "cruiser": CRUISER, "corvette": CORVETTE, "frigate": FRIGATE}
SIZES = {
    "classic": "ships on 48 x 48 cells",
    "scout": "small ships on 24 x 24 cells",
    "cruiser": "large ships on 64 x 64 cells",
    "corvette": "a scout with two equal sides",
    "frigate": "a classic ship with two equal sides",
}
"""What each preset is, as a text for people."""


def preset(name: str) -> Parameters:
    """Returns the parameters of a preset; raises ValueError for an unknown name."""
    need_among(name, PRESETS, "preset")
    return PRESETS[name]
