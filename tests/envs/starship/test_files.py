"""Ship files: identity, the check's result for mutated ships (V18), hostile files."""

import dataclasses
import hashlib
import json
import math
import os
import random

import pytest

from leafwise.envs.starship import Door, PlacedPart, Ship, check, dump, generate, load, read, ship_hash, write
from leafwise.envs.starship.ship import LARGEST_FILE


@pytest.fixture(scope="module")
def ship() -> Ship:
    return generate(7)


changed = dataclasses.replace


@pytest.mark.parametrize("preset", ["classic", "scout", "cruiser"])
def test_load_undoes_dump(preset):
    for seed in range(5):
        ship = generate(seed, preset)
        assert load(dump(ship)) == ship
        assert dump(load(dump(ship).encode())) == dump(ship)


def test_a_file_is_canonical_and_mostly_integers(ship):
    fields = json.loads(dump(ship))
    assert dump(ship) == json.dumps(fields, sort_keys=True, separators=(",", ":"))
    stats = fields.pop("stats")
    assert "." not in json.dumps({**fields, "hull": []})
    assert all(value == round(value, 6) for value in stats.values())
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert ship_hash(ship) == hashlib.sha256(plain.encode()).hexdigest()


def test_write_leaves_one_whole_file(ship, tmp_path):
    write(ship, tmp_path / "ship.json")
    write(ship, tmp_path / "ship.json")
    assert os.listdir(tmp_path) == ["ship.json"]
    assert read(tmp_path / "ship.json") == ship
    with pytest.raises(FileNotFoundError):
        write(ship, tmp_path / "nowhere" / "ship.json")


def rules(ship: Ship) -> set[str]:
    return {fault.rule for fault in check(load(dump(ship)))}


def test_v18_thruster_score_46(ship):
    missing = 46 - int(ship.stats["thrust_score"])
    added = tuple(PlacedPart("thruster_small", 2, x, y) for x, y in ship.armour[:missing])
    faults = check(changed(ship, parts=ship.parts + added, armour=ship.armour[missing:]))
    assert "V4: thruster score should be 35 to 45, got 46" in map(str, faults)


def test_v18_overlapped_parts(ship):
    first = ship.parts[0]
    moved = ship.parts[1]._replace(x=first.x, y=first.y)
    faults = check(changed(ship, parts=(first, moved, *ship.parts[2:])))
    assert {fault.rule for fault in faults} == {"V2"}
    assert f"({first.x}, {first.y})" in str(faults[0])


def test_v18_armour_closing_a_door(ship):
    letters = ship.text.split("\n")
    corridor = next((d.x, d.y) for d in ship.doors if d.side == "E" and letters[d.y][d.x] == ".")
    broken = changed(ship, armour=tuple(sorted({*ship.armour, corridor}, key=lambda c: (c[1], c[0]))))
    assert "V9" in rules(broken)
    assert any(f"({corridor[0]}, {corridor[1]}, 'E')" in fault.where for fault in check(broken))


def test_v18_every_moved_door_is_found(ship):
    for k, door in enumerate(ship.doors):
        for dx, dy, side in ((1, 0, door.side), (0, -1, door.side), (0, 0, "S" if door.side == "E" else "E")):
            moved = Door(door.x + dx, door.y + dy, side, door.initial)
            doors = (*ship.doors[:k], moved, *ship.doors[k + 1 :])
            assert rules(changed(ship, doors=doors)) & {"V9", "V10", "V13"}, (door, moved)


def test_other_broken_rules_are_named(ship):
    def without(*names: str) -> set[str]:
        parts = tuple(part for part in ship.parts if part.id not in names)
        return {str(fault).partition(",")[0] for fault in check(changed(ship, parts=parts))}

    assert "V3: cockpits should be 1 to 1" in without("cockpit")
    assert "V5: weapon score should be 8 to 12" in without("cannon_med", "cannon_large")
    assert "V6: ammo supplies should be 2 to 3" in without("ammo_supply")
    assert "V7: seats should be 24 to 29" in without("quarters", "bunk")
    rows = list(ship.hull)
    assert rules(changed(ship, hull=("." * 48, *rows[1:]))) == {"V1"}
    y = next(k for k, line in enumerate(rows) if "." in line) - 2
    assert rules(changed(ship, hull=(*rows[:y], " " * 24 + "." + " " * 23, *rows[y + 1 :]))) == {"V1"}
    extra = next(door for door in ship.doors if not door.initial)
    assert rules(changed(ship, doors=tuple(d for d in ship.doors if d != extra))) == {"V13"}
    cannon = next(k for k, part in enumerate(ship.parts) if part.id == "cannon_med" and part.r == 0)
    parts = (*ship.parts[:cannon], ship.parts[cannon]._replace(r=2), *ship.parts[cannon + 1 :])
    assert "V8" in rules(changed(ship, parts=parts))
    assert rules(changed(ship, stats={**ship.stats, "quality": 0.9})) == {"stats"}
    assert rules(changed(ship, valid=False)) == {"valid"}


def edited(ship: Ship, **fields: object) -> str:
    return json.dumps({**json.loads(dump(ship)), **fields})


HOSTILE = {
    "empty": (b"", "in JSON"),
    "not text": (b"\xff\xfe\x00", "expected UTF-8 text, got a byte 0xff at 0"),
    "half": (b'{"schema": "starship/1", ', "in JSON"),
    "a list": (b"[]", "an object in a ship file"),
    "a number": (b"7", "an object in a ship file"),
    "huge": (b" " * (LARGEST_FILE + 1), "at most 1048576 bytes"),
    "deep": (b"[" * 400_000, "deeper nesting"),
    "NaN": (b'{"schema": NaN}', "^expected finite numbers, got NaN$"),
    "long number": (b"9" * 20_000, "in JSON"),
    "twice": (b'{"schema": 1, "schema": 2}', "each key of an object once"),
    "missing": (b"{}", "got no 'schema'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_one_clear_line(name):
    data, message = HOSTILE[name]
    with pytest.raises(ValueError, match=message) as caught:
        load(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("schema", "starship/2", "schema as one of starship/1, got 'starship/2'"),
        ("seed", -1, "seed as an integer from 0"),
        ("seed", 1.0, "seed as an integer"),
        ("seed", 1 << 64, "seed as an integer from 0 to 2\\*\\*64 - 1"),
        ("seed", 10**400, "seed as an integer from 0 to 2\\*\\*64 - 1, got 1000"),
        ("attempt", True, "attempt as an integer"),
        ("grid", 10**9, "grid as an integer from 12 to 64"),
        ("grid", 24, "hull|armour|on the grid|from 0 to 23"),
        ("valid", 1, "valid as true or false"),
        ("reasons", ["bad luck"], "reasons\\[0\\] as one of"),
        ("reasons", ["no_reactor", "no_reactor"], "each of reasons once"),
        ("hull", ["." * 48] * 47, "hull as a list of 48, got"),
        ("hull", ["x" * 48] * 48, "hull\\[0\\] as 48 characters"),
        ("hull", {"0": "."}, "hull as a list"),
        ("armour", [[1, 2, 3]], "armour\\[0\\] as a list of 2"),
        ("armour", [[1, 99]], "armour\\[0\\]\\[1\\] as an integer from 0 to 47"),
        ("armour", [[1, 1]] * 3000, "list of at most 2304"),
        ("parts", [{"id": "laser", "r": 0, "x": 1, "y": 1}], "parts\\[0\\].id as one of"),
        ("parts", [{"id": "bunk", "r": 2, "x": 1, "y": 1}], "parts\\[0\\].r as an integer from 0 to 1"),
        ("parts", [{"id": "bunk", "r": 0, "x": 47, "y": 1}], "on the grid"),
        ("parts", [{"id": "bunk", "r": 0, "x": 1}], "got no 'y'"),
        ("parts", [[]], "parts\\[0\\] as an object"),
        ("doors", [[1, 1, "N", 0]], "as one of E, S"),
        ("doors", [[1, 1, "E", 2]], "as an integer from 0 to 1"),
        ("stages", [], "stages as a list of 15, got \\[\\]"),
        ("stats", {"quality": "high"}, "as a finite number"),
        ("stats", {"price": 1, "quality": 10**400}, "stats.'quality' as a finite number, got 1000"),
        ("stats", {"quality": True}, "stats.'quality' as a finite number, got True"),
        ("stats", [], "stats as an object"),
        ("hull", ["." * 47 + "\n"] * 48, "hull\\[0\\] as 48 characters"),
        ("preset", 3, "preset as a text"),
        ("preset", "a\nb", "printable"),
        ("name", "Boat", "a field of the ship among schema, .*, got 'name'"),
    ],
)
def test_wrong_fields_are_named(ship, field, value, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(edited(ship, **{field: value}))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_infinite_stats_are_refused(ship):
    for text in (dump(ship).replace('"quality":0.', '"quality":1e999,"x":0.'), edited(ship, stats={"x": math.inf})):
        with pytest.raises(ValueError, match="finite"):
            load(text)


def test_wrong_stage_parameters_are_named(ship):
    first, *others = json.loads(dump(ship))["stages"]
    params, less, far = (
        first["params"],
        {"min_radius": 3, "max_radius": 5},
        {**first["params"]["circle"], "max_radius": 400},
    )
    for change, message in (
        ({"params": {}}, "got no "),
        ({"params": {**params, "circle": less}}, r"s\[0\].params.circle with weight, .*, got no 'weight'"),
        ({"params": {**params, "circle": far}}, "max_radius as an integer from 0 to 22, got 400"),
        ({"params": {**params, "enabled": True}}, r"a field of stages\[0\].params among .*, got 'enabled'"),
        ({"enabled": 1}, r"stages\[0\].enabled as true or false, got 1"),
        ({"name": "Boat"}, r"stages\[0\].name as one of Shape, got 'Boat'"),
    ):
        with pytest.raises(ValueError, match=message):
            load(edited(ship, stages=[{**first, **change}, *others]))


def mutated(value: object, rng: random.Random) -> object:
    """Returns JSON data with one random change somewhere inside."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(sorted(value))
        return {**value, key: mutated(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        k = rng.randrange(len(value))
        change = rng.choice(["inside", "inside", "inside", "drop", "twice", "swap"])
        if change == "inside":
            return [*value[:k], mutated(value[k], rng), *value[k + 1 :]]
        if change == "swap":
            return [*value[:k], value[-1], *value[k + 1 :]]
        return [*value[:k], *value[k + 1 :]] if change == "drop" else [*value[:k], value[k], *value[k:]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.8:
        return value + rng.choice([-1, 1, 2, 40, 10**30])
    return rng.choice([None, True, -1, 1e300, "", "x" * 60, [], {}, [[]], " " * 48, "." * 48])


def test_random_changes_are_refused_or_judged():
    """Whatever a file holds, it raises ValueError in one line or is checked, and raises no other exception."""
    rng, refusals, judged = random.Random(1), [], 0
    fields = json.loads(dump(generate(3, "scout")))
    fields["stats"] = {"quality": fields["stats"]["quality"]}
    for _ in range(250):
        text = json.dumps(mutated(fields, rng))
        try:
            ship = load(text)
        except ValueError as problem:
            refusals.append(str(problem))
        else:
            assert all(fault.rule for fault in check(ship))
            judged += 1
    assert len(refusals) > 50
    assert not any("\n" in refusal for refusal in refusals)
    assert judged > 20
