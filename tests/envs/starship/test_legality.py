"""The compiled legality against the twin in plain Python, on boards of every stage."""

import numpy as np

from leafwise.envs.starship import Generator, rules, tables
from leafwise.envs.starship.board import contiguous, load_planes
from leafwise.envs.starship.ship import fill_row
from twins.starship import PARTS, position_of

ROW = np.uint64(0)


def test_every_placement_agrees_with_the_twin(board):
    generator = Generator("scout")
    stages = generator.stages(2)
    T, S = tables.new_tables(generator.parameters), tables.new_rows(generator.parameters, 1)
    counted = 0
    for name, ship in stages[1:-1:2]:
        twin = position_of(ship)
        fill_row(S[0], ship)
        load_planes(S, ROW, T)
        for number, (letter, part) in enumerate(PARTS.items()):
            for r in range(part[2]):
                cells = board.legal_places(T, number, r, 5)
                expected = [(x, y) for x in range(24) for y in range(24) if twin.is_legal(letter, r, x, y)]
                assert sorted(cells) == expected, (name, letter, r)
                counted += len(cells)
    assert counted > 500


def test_detours_agree_with_the_twin_at_every_limit():
    generator = Generator("scout")
    T, S = tables.new_tables(generator.parameters), tables.new_rows(generator.parameters, 1)
    verdicts = set()
    for seed in range(4):
        for _, ship in generator.stages(seed)[5::2]:
            twin = position_of(ship)
            fill_row(S[0], ship)
            load_planes(S, ROW, T)
            floor = [cell for cell in twin.raster() if twin.is_floor(cell)]
            for limit in (0, 3, 7, 20):
                for x, y in floor[:: 3 + limit % 3]:
                    verdict = bool(contiguous(T.planes, 24, x, y, 1, 1, limit))
                    assert verdict == twin.contiguous([(x, y)], limit), (seed, x, y, limit)
                    verdicts.add((limit, verdict))
    assert len(verdicts) == 8


def test_the_only_door_of_a_lone_room_stays_open(board):
    hull = board("...", "...")
    hull.put("reactor", 0, 0, 0)
    hull.run(tables.STAGE_ARMOUR)
    assert hull.doors() == {(1, 1, "E")}
    assert [line[:3] for line in hull.letters()[:2]] == ["RR#", "RR."]


def test_planes_are_of_the_row_that_was_asked_for_whatever_stood_on_them_before(board):
    hull = board("....", "....", "....")
    before, planes = hull.S.copy(), hull.T.planes[:4].copy()
    for change in (lambda: hull.put("reactor", 0, 1, 0), lambda: hull.run(tables.STAGE_ARMOUR)):
        change()
        after = hull.T.planes[:4].copy()
        assert (after != planes).any()
        for S, expected in ((before, planes), (hull.S, after)):
            rules.open_given(np.zeros_like(S), ROW, hull.T)  # another game starts on the same planes
            load_planes(S, ROW, hull.T)
            assert (hull.T.planes[:4] == expected).all()
