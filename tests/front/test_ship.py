"""`leafwise ship`: each command, and one clear line for wrong input."""

import json

import pytest
from PIL import Image

from leafwise.__main__ import run
from leafwise.envs.starship import generate, read, write


def test_gen_writes_what_is_asked_for(tmp_path, capsys):
    names = {option: tmp_path / f"ship.{option}" for option in ("json", "png", "svg", "story")}
    options = [f"--{option}={path}" for option, path in names.items()]
    assert main(["gen", "--preset", "scout", "--seed", "7", *options]) == 0
    assert read(names["json"]) == generate(7, "scout")
    for option in ("png", "story"):
        with Image.open(names[option]) as picture:
            assert picture.size[0] > 190
    assert names["svg"].read_text().startswith("<svg")
    said = capsys.readouterr()
    assert "scout seed 7 attempt 0: valid, quality 0." in said.out
    assert said.err == ""


def test_gen_takes_targets_a_list_of_stages_and_a_scale(tmp_path, capsys):
    path, svg = tmp_path / "ship.json", tmp_path / "ship.svg"
    words = ["gen", "--preset", "scout", "--seed", "7", "--json", str(path), "--svg", str(svg), "--scale", "2"]
    assert main([*words, "--targets", '{"seats": 12, "firepower": 3}']) == 0
    assert read(path).stats["seats"] >= 12
    assert read(path).stats["firepower"] == 3
    head = svg.read_text().split("\n")[0]
    assert f'width="{2 * int(head.split("0 0 ")[1].split()[0])}"' in head
    order = ["Shape", "Fill Gaps", "Cockpit", "Crew", "Armour part=quarters"]
    assert main(["gen", "--preset", "scout", "--json", str(path), "--stages", *order]) == 0
    assert read(path).parameters.stages == tuple(order)
    assert main([*words, "--targets", '{"speed": 1}']) == 2
    assert capsys.readouterr().err == "error: expected targets among thrust, seats, firepower, got 'speed'\n"


def test_gen_prints_the_ship_where_no_file_is_asked_for(capsys):
    assert main(["gen", "--preset", "scout", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "CC" in out
    assert "RR" in out


def test_stages_are_switched_and_parameters_set(tmp_path):
    path, config = tmp_path / "ship.json", tmp_path / "ship.toml"
    switches = ["--disable", "Exterior Armour", "--enable", "Carve", "--thrusters.min-score", "9"]
    assert main(["gen", "--preset", "scout", *switches, "--json", str(path), "--save-config", str(config)]) == 0
    first = read(path)
    assert not first.parameters.exterior_armour.enabled
    assert first.parameters.carve.enabled
    assert first.parameters.thrusters.min_score == 9
    assert main(["gen", "--config", str(config), "--json", str(path)]) == 0
    assert read(path) == first


def test_a_hull_file_takes_the_place_of_stage_1(tmp_path):
    ship, path = generate(4, "scout"), tmp_path / "ship.json"
    (tmp_path / "hull.txt").write_text("\n".join(line.rstrip() for line in ship.hull) + "\n")
    options = ["--preset", "scout", "--disable", "Fill Gaps", "--hull", str(tmp_path / "hull.txt")]
    assert main(["gen", *options, "--seed", "4", "--json", str(path)]) == 0
    assert read(path).hull == ship.hull


def test_check_names_each_broken_rule(tmp_path, capsys):
    ship, path = generate(7, "scout"), tmp_path / "ship.json"
    write(ship, path)
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: ok\n"
    fields = json.loads(path.read_text())
    fields["parts"] = [part for part in fields["parts"] if part["id"] != "cockpit"]
    path.write_text(json.dumps(fields))
    assert main(["check", str(path)]) == 1
    assert "V3: cockpits should be 1 to 1, got 0" in capsys.readouterr().out


def test_stats_and_gallery(tmp_path, capsys):
    assert main(["stats", "--preset", "scout", "--seeds", "0:20", "--check", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["ships"] == 20
    assert figures["broken"] == {}
    assert {"quality", "thrust", "cockpit", "supply", "crew", "fire", "skin", "diversity"} <= set(figures)
    assert main(["stats", "--preset", "scout", "--seeds", "0:5"]) == 0
    assert "ships_per_second" in capsys.readouterr().out
    path = tmp_path / "sheet.png"
    assert main(["gallery", "--preset", "scout", "--seeds", "0:4", "--columns", "2", "--png", str(path)]) == 0
    with Image.open(path) as picture:
        assert picture.format == "PNG"


def main(arguments: list[str]) -> int | str | None:
    """Returns the status of the command."""
    try:
        return run(["ship", *arguments])
    except SystemExit as exit:
        return exit.code


WRONG = [
    ([], ""),
    (["fly"], "expected a command among gen, check, stats, gallery, got 'fly'"),
    (["gen", "--seed", "x"], "--seed"),
    (["gen", "--seed", "-1"], "seed should be an integer from 0"),
    (["gen", "--sails", "3"], "--sails"),
    (["gen", "--preset", "tug"], "preset should be one of classic, scout, cruiser, corvette, frigate, got 'tug'"),
    (["gen", "--preset"], "expected a value after --preset, got nothing"),
    (["gen", "--thrusters.min-score", "99"], "thrusters.min_score should be at most max_score = 45, got 99"),
    (["gen", "--disable", "Sails"], "stage should be one of Shape"),
    (["gen", "--disable", "Shape"], "disabled only where a hull is supplied"),
    (["gen", "--config", "nowhere.toml"], "cannot use 'nowhere.toml': No such file"),
    (["gen", "--config", "a.toml", "--preset", "scout"], "expected --preset or --config, got both"),
    (["gen", "--json", "nowhere/ship.json"], "cannot use 'nowhere': no such folder"),
    (["check"], "expected one ship file or more, got none"),
    (["check", "nowhere.json"], "cannot use 'nowhere.json': No such file"),
    (["stats", "--seeds", "7"], "expected --seeds FIRST:END"),
    (["stats", "--seeds", "9:3"], "expected --seeds FIRST:END"),
    (["gallery", "--seeds", "0:9999"], "at most 400"),
    (["gallery", "--columns", "0"], "expected --columns of 1"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG])
def test_wrong_input_gets_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") <= 1
    assert "Traceback" not in said.err


@pytest.mark.parametrize("words", [["check"], ["gen", "--config"]], ids=["ship", "parameters"])
def test_hostile_files_get_one_line_and_status_2(words, tmp_path, capsys):
    path = tmp_path / "bad"
    for data in (b"a =", b"[" * 300_000, b"\xff", b'{"seed": NaN}', b" " * (1 << 21), b"[crew]\nmin_seats = nan"):
        path.write_bytes(data)
        assert main([*words, str(path)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"error: {path}: " if words == ["check"] else "error: ")
        assert said.count("\n") == 1
