"""Pictures: their size, colours and legend, and SVG that parses."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageColor

from leafwise.envs.starship import Generator, Ship, draw, generate


@pytest.fixture(scope="module")
def ship() -> Ship:
    return generate(7)


def test_png_is_12_pixels_a_cell_and_the_same_bytes_each_time(ship):
    data = draw.png(ship)
    assert data == draw.png(ship)
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    box, plan = draw.hull_box(ship), draw.scene(ship)
    assert plan.rgb().shape == (plan.height, plan.width, 3)
    assert picture.size == (plan.width, plan.height)
    assert plan.image(0.5).size == (round(plan.width / 2), round(plan.height / 2))
    assert plan.width == (box.right - box.left) * draw.CELL + 190
    drop = (plan.height - 48 - (box.bottom - box.top) * draw.CELL) // 2
    for part in ship.parts:  # a pixel off the centre, away from arrows, doors and outline
        if part.id in ("ammo_supply", "power_storage", "quarters"):
            x, y = (part.x - box.left) * draw.CELL + 6, (part.y - box.top) * draw.CELL + 6 + drop
            seen = np.array(picture.getpixel((x, y)))
            assert np.abs(seen - ImageColor.getrgb(draw.STYLES[part.id][1])).max() <= 8, part


def test_svg_parses_and_names_everything(ship):
    root = ElementTree.fromstring(draw.svg(ship, lanes=True))
    texts = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {title for title, _ in draw.STYLES.values()} | {"Corridor", "Armour", "Door"} <= set(texts)
    assert any("seed 7" in text and "quality 0.7" in text for text in texts)
    boxes = len(list(root.iter("{http://www.w3.org/2000/svg}rect")))
    plain = ElementTree.fromstring(draw.svg(ship))
    lanes = sum(part.id.startswith(("thruster", "cannon")) for part in ship.parts)
    assert 0 < boxes - len(list(plain.iter("{http://www.w3.org/2000/svg}rect"))) <= lanes


def test_an_invalid_ship_says_so():
    generator = Generator("scout")
    ship = next(s for s in (generator.attempt(seed, 0) for seed in range(100)) if not s.valid)
    assert ship.reasons[0] in draw.svg(ship)


def test_story_and_gallery_have_a_panel_for_each(ship):
    generator = Generator("scout")
    stages = generator.stages(2)
    assert stages[0][0] == "Shape"
    picture = draw.story(stages, columns=7)
    box = draw.hull_box(stages[-1][1])
    assert picture.size[0] >= 7 * (box.right - box.left) * draw.CELL * 0.5
    assert picture.size[1] >= 2 * (box.bottom - box.top) * draw.CELL * 0.5
    ships = [generator.ship(seed) for seed in range(5)]
    sheet = draw.gallery(ships, 3, scale=0.25)
    assert sheet.size[0] > sheet.size[1] / 2


@pytest.mark.parametrize("scale", [0.1, 0.4, 2.0])
def test_captions_of_a_contact_sheet_are_legible_and_whole(scale):
    generator = Generator("scout")
    failed = next(s for s in (generator.attempt(seed, 0) for seed in range(100)) if len(s.reasons) > 1)
    ships = [generator.ship(1), failed]
    drawn = draw.sheet(
        ships, [draw.hull_box(ship, 1) for ship in ships], [draw.footer(ship) for ship in ships], 2, scale
    )
    texts = [shape for shape in drawn.shapes if isinstance(shape, draw.TextShape)]
    for k, ship in enumerate(ships):
        of_panel = [text for text in texts if (text.x >= drawn.width / 2) == (k == 1)]
        words = " ".join(" ".join(text.text for text in of_panel).split())
        assert words == " ".join(" ".join(line for line, _ in draw.footer(ship)).split())
        for text in of_panel:
            assert text.size * scale >= draw.LETTER
            end = text.x + draw.font(text.size).getlength(text.text)
            assert end <= drawn.width / 2 * (k + 1)
            assert text.y + text.size <= drawn.height
    assert len({(text.x, text.y) for text in texts}) == len(texts)


def test_centre_of_mass_is_inside_the_hull_box(ship):
    x, y = draw.centre_of_mass(ship)
    box = draw.hull_box(ship, 0)
    assert box.left < x < box.right
    assert box.top < y < box.bottom


def test_text_has_a_letter_for_every_cell(ship):
    lines = ship.text.split("\n")
    assert [len(line) for line in lines] == [48] * 48
    assert sum(line.count("C") for line in lines) == 4
    assert sum(line.count("#") for line in lines) == len(ship.armour)
    assert str(ship) == ship.text
