"""The worked scenarios of the rules, with the figures computed by hand there."""

import numpy as np
import pytest

from leafwise.envs.starship import tables
from leafwise.envs.starship.generator import draw_entry, entry_usable, open_streams, phase_over
from leafwise.envs.starship.placing import MOMENT_X, MOMENT_Y, TOTAL, alignment, gap, measure_mass
from leafwise.envs.starship.settings import CockpitArmour, FillGaps

ROW = np.uint64(0)


def test_1_open_floor(board):
    floor = board("...", "...", "...")
    assert floor.closable(1, 1, 5)
    assert floor.closable(1, 1, 4)
    assert not floor.closable(1, 1, 3)
    assert floor.closable(1, 0, 4)
    assert not floor.closable(1, 0, 3)
    assert floor.closable(0, 0, 2)
    assert not floor.closable(0, 0, 1)


def test_2_corridor(board):
    corridor = board(".....")
    assert not corridor.closable(2, 0, 60)
    assert corridor.closable(0, 0, 0)


def test_3_ring(board):
    ring = board("...", ".#.", "...")
    for x, y in [(x, y) for x in range(3) for y in range(3) if (x, y) != (1, 1)]:
        assert not ring.closable(x, y, 5)
        assert ring.closable(x, y, 6)


@pytest.mark.parametrize(("lines", "w", "h", "needs"), [(["...."] * 4, 2, 2, 6), (["....."] * 4, 3, 2, 7)])
def test_4_free_standing_rooms(board, lines, w, h, needs):
    floor = board(*lines)
    limit = needs - (w + h - 2)
    assert floor.closable(1, 1, limit, w, h)
    assert not floor.closable(1, 1, limit - 1, w, h)
    assert limit < 5  # the granted limit has one step of slack


def test_5_the_cell_under_the_door(board):
    floor = board(*["........"] * 8)
    floor.put("cockpit", 0, 3, 3)
    assert floor.doors() == {(3, 4, "S")}
    assert not floor.closable(3, 5, 60)
    assert floor.closable(4, 5, 5)


def test_6_cockpit_armour(board):
    for layers, closed, skipped in ((1, 11, {(3, 5)}), (2, 30, {(3, 5), (3, 6)})):
        floor = board(*["........"] * 8, cockpit_armour=CockpitArmour(layers=layers))
        floor.put("cockpit", 0, 3, 3)
        floor.run(tables.STAGE_COCKPIT_ARMOUR)
        drawn = floor.letters()
        near = [(x, y) for x in range(3 - layers, 5 + layers) for y in range(3 - layers, 5 + layers)]
        assert sum(drawn[y][x] == "#" for x, y in near) == closed
        assert {(x, y) for x, y in near if drawn[y][x] == "."} == skipped
        assert sum(line.count("#") for line in drawn) == closed


@pytest.mark.parametrize(("iterations", "cells"), [(1, 8), (2, 10), (3, 13)])
def test_7_fill_gaps_in_a_corner(board, iterations, cells):
    corner = board("....", ".___", ".___", ".___", fill_gaps=FillGaps(scan_range=1, iterations=iterations))
    corner.run(tables.STAGE_FILL)
    assert sum(line.count(".") for line in corner.letters()) == cells


@pytest.mark.parametrize(
    ("scan_range", "iterations", "after"),
    [(1, 9, ".___."), (2, 1, "._._."), (2, 2, "....."), (3, 1, ".....")],
)
def test_8_fill_gaps_in_a_row(board, scan_range, iterations, after):
    row = board(".___.", fill_gaps=FillGaps(scan_range=scan_range, iterations=iterations))
    row.run(tables.STAGE_FILL)
    assert row.letters()[0][:5] == after
    assert sum(line.count(".") for line in row.letters()) == after.count(".")


def test_9_the_best_protected_place(board):
    hull = board(*["......"] * 6)
    scores = hull.scores(tables.STAGE_COCKPIT, "cockpit")
    assert scores[0] == (3 * 65536 + 12, (2, 2))
    assert scores[1][0] == 2 * 65536 + 10
    hull.run(tables.STAGE_COCKPIT)
    assert all(hull.letters()[y][x] == "R" for x in (2, 3) for y in (2, 3))


def test_10_the_centre_of_mass(board):
    hull = board(*["........"] * 8)
    hull.put("cockpit", 0, 3, 3)
    measure_mass(hull.S, ROW, hull.T)
    assert hull.T.notes[TOTAL] == 6400
    assert [hull.T.notes[k] / 12800 - 4 for k in (MOMENT_X, MOMENT_Y)] == [4, 4]
    scores = hull.scores(tables.STAGE_REACTOR, "reactor")
    best = [place for value, place in scores if value == scores[0][0]]
    assert sorted(best) == [(1, 3), (3, 1), (5, 3)]
    assert -scores[0][0] / 12800**2 == 4.0


def test_11_thruster_places(board):
    hull = board("......", "......", "..__..", "..__..")
    assert sorted(hull.legal("thruster_small", 2)) == sorted([(2, 1), (3, 1), (0, 3), (1, 3), (4, 3), (5, 3)])
    assert hull.legal("thruster_med", 2) == [(0, 2), (1, 2), (4, 2), (5, 2)]
    assert hull.legal("thruster_large", 2) == [(0, 2), (4, 2)]


def test_12_weapon_places(board):
    hull = board("___..___", "___..___", "........", "........", "........")
    assert hull.legal("cannon_med", 0) == [(3, 0), (0, 2), (1, 2), (5, 2), (6, 2)]
    assert hull.scores(tables.STAGE_WEAPONS, "cannon_med")[0][1] == (3, 0)
    assert hull.legal("cannon_large", 0) == [(0, 2), (5, 2)]


def test_13_the_thruster_budget(board):
    hull = board(*["........"] * 8)
    stage = tables.STAGE_THRUSTERS
    hull.S[0, tables.TARGET + stage] = 45
    hull.S[0, tables.POINTS + stage] = 43
    usable = [entry for entry in range(12) if entry_usable(hull.S, ROW, hull.T, stage, entry)]
    assert usable == list(range(8))  # small and medium, four facings each
    open_streams(hull.T, np.uint64(1), 0, stage)
    drawn = np.bincount([draw_entry(hull.T, stage) for _ in range(9000)], minlength=12)
    for facing in range(4):
        assert drawn[4 + facing] / drawn[facing] == pytest.approx(2, abs=0.45)
    assert not phase_over(hull.S, ROW, hull.T, stage)
    hull.S[0, tables.POINTS + stage] = 45
    assert phase_over(hull.S, ROW, hull.T, stage)


@pytest.mark.parametrize(("k", "extra"), [(1, set()), (2, {(3, 0, "S")}), (6, {(6, 0, "S")})])
def test_14_extra_doors(board, k, extra):
    middle = "." + "#" * 13
    lines = ["." * 14, middle, middle, "." * 14]
    lines[1:3] = [line[:k] + ".." + line[k + 2 :] for line in lines[1:3]]
    hull = board(*lines)
    hull.put("ammo_supply", 0, k, 1)
    assert hull.doors() == {(k, 2, "S")}
    hull.run(tables.STAGE_DOORS)
    assert hull.doors() - {(k, 2, "S")} == extra


def test_15_alignment(board):
    hull = board(*["........"] * 8)
    hull.put("quarters", 0, 2, 2)
    margin = 4

    def aligned(x, y, w, h):
        return alignment(hull.S, ROW, hull.T, 0, x + margin, y + margin, w, h)

    assert [aligned(4, 2, 2, 2), aligned(4, 3, 2, 2), aligned(4, 4, 2, 2), aligned(2, 4, 2, 1)] == [3, 1, 0, 3]


def test_16_gaps(board):
    hull = board(*["........"] * 8)
    hull.put("ammo_supply", 0, 0, 0)
    gaps = [
        gap(hull.S, ROW, hull.T, 0, 4 + x, 4 + y, w, h) for x, y, w, h in [(5, 4, 3, 2), (2, 0, 2, 2), (1, 6, 2, 2)]
    ]
    assert gaps == [5, 0, 4]
