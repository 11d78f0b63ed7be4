"""`leafwise ship`: each command, and one clear line for wrong input."""

import json
import shlex

import pytest
from front.console import shows
from PIL import Image

from leafwise.envs.starship import generate, read, write


def test_gen_writes_what_is_asked_for(tmp_path, shell):
    names = {option: tmp_path / f"ship.{option}" for option in ("json", "png", "svg", "story")}
    answer = shell("ship gen --preset scout --seed 7", *(f"--{option}={path}" for option, path in names.items()))
    assert (answer.status, answer.error) == (0, "")
    assert "scout seed 7 attempt 0: valid, quality 0." in answer.out
    assert read(names["json"]) == generate(7, "scout")
    for option in ("png", "story"):
        with Image.open(names[option]) as picture:
            assert picture.size[0] > 190
    assert names["svg"].read_text().startswith("<svg")


def test_gen_takes_targets_a_list_of_stages_and_a_scale(tmp_path, shell):
    path, svg = tmp_path / "ship.json", tmp_path / "ship.svg"
    words = f"ship gen --preset scout --seed 7 --json {path} --svg {svg} --scale 2"
    assert shell(words, "--targets", '{"seats": 12, "firepower": 3}').status == 0
    assert read(path).stats["seats"] >= 12
    assert read(path).stats["firepower"] == 3
    head = svg.read_text().split("\n")[0]
    assert f'width="{2 * int(head.split("0 0 ")[1].split()[0])}"' in head
    order = ["Shape", "Fill Gaps", "Cockpit", "Crew", "Armour part=quarters"]
    assert shell(f"ship gen --preset scout --overwrite --json {path} --stages", *order).status == 0
    assert read(path).parameters.stages == tuple(order)
    wrong = "error: expected targets among thrust, seats, firepower, got 'speed'"
    assert shell(f"{words} --overwrite", "--targets", '{"speed": 1}').refusal == wrong


def test_gen_prints_a_ship_and_takes_a_hull_in_place_of_stage_1(shell, tmp_path):
    answer = shell("ship gen --preset scout --seed 3")
    assert answer.status == 0
    shows(answer.out, "CC", "RR")
    ship, path, hull = generate(4, "scout"), tmp_path / "ship.json", tmp_path / "hull.txt"
    hull.write_text("\n".join(line.rstrip() for line in ship.hull) + "\n")
    assert shell(f"ship gen --preset scout --disable 'Fill Gaps' --hull {hull} --seed 4 --json {path}").status == 0
    assert read(path).hull == ship.hull


def test_stages_are_switched_and_parameters_set(tmp_path, shell):
    path, config = tmp_path / "ship.json", tmp_path / "ship.toml"
    switches = "--disable 'Exterior Armour' --enable Carve --thrusters.min-score 9 --reactor.enabled"
    assert shell(f"ship gen --preset scout {switches} --json {path} --save-config {config}").status == 0
    first = read(path)
    assert not first.parameters.exterior_armour.enabled
    assert first.parameters.carve.enabled
    assert first.parameters.thrusters.min_score == 9
    assert shell(f"ship gen --config {config} --overwrite --json {path}").status == 0
    assert read(path) == first


def test_check_names_each_broken_rule_and_stats_and_gallery_show_many_ships(tmp_path, shell):
    path = tmp_path / "ship.json"
    write(generate(7, "scout"), path)
    assert shell("ship check", str(path)).out == f"{path}: ok\n"
    fields = json.loads(path.read_text())
    fields["parts"] = [part for part in fields["parts"] if part["id"] != "cockpit"]
    path.write_text(json.dumps(fields))
    answer = shell("ship check", str(path))
    assert answer.status == 1
    assert "V3: cockpits should be 1 to 1, got 0" in answer.out
    answer = shell("ship stats --preset scout --seeds 0:20 --check --json")
    figures = answer.json
    assert (answer.status, figures["ships"], figures["broken"]) == (0, 20, {})
    assert {"quality", "thrust", "cockpit", "supply", "crew", "fire", "skin", "diversity"} <= set(figures)
    answer = shell("ship stats --preset scout --seeds 0:5")
    assert answer.status == 0
    assert "ships_per_second" in answer.out
    path = tmp_path / "sheet.png"
    assert shell(f"ship gallery --preset scout --seeds 0:4 --columns 2 --png {path}").status == 0
    with Image.open(path) as picture:
        assert picture.format == "PNG"


WRONG = {
    "fly": "expected a command among gen, check, stats, gallery, got 'fly'",
    "gen --seed x": "--seed",
    "gen --seed -1": "expected seed of 0 to 2**64 - 1, got -1",
    "gen --sails 3": "--sails",
    "gen --preset tug": "expected preset among classic, scout, cruiser, corvette, frigate, got 'tug'",
    "gen --preset": "expected a value after --preset, got nothing",
    "gen --thrusters.min-score 99": "thrusters.min_score of at most max_score = 45, got 99",
    "gen --disable Sails": "stage as one of Shape",
    "gen --disable Shape": "a hull if the stage Shape is disabled, got none",
    "gen --config nowhere.toml": "cannot use 'nowhere.toml': No such file",
    "gen --config a.toml --preset scout": "expected --preset or --config, got both",
    "gen --json nowhere/ship.json": "expected a file in a writable folder for --json, got 'nowhere/ship.json'",
    "check": "expected one ship file or more, got none",
    "check nowhere.json": "cannot use 'nowhere.json': No such file",
    "stats --seeds 7": "expected --seeds FIRST:END",
    "stats --seeds 9:3": "expected --seeds FIRST:END",
    "gallery --seeds 0:9999": "at most 400",
    "gallery --columns 0": "expected --columns of 1",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_gets_one_line_and_status_2(line, shell):
    assert WRONG[line] in shell("ship", *shlex.split(line)).refusal
    assert shell("ship").status == 2


@pytest.mark.parametrize("words", ["check", "gen --config"])
def test_hostile_files_get_one_line_and_status_2(words, tmp_path, shell):
    path = tmp_path / "bad"
    for data in (b"a =", b"[" * 300_000, b"\xff", b'{"seed": NaN}', b" " * (1 << 21), b"[crew]\nmin_seats = nan"):
        path.write_bytes(data)
        answer = shell(f"ship {words} {path}").refusal
        assert answer.startswith(f"error: {path}: " if words == "check" else "error: ")
