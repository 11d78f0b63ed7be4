"""Symmetries: bijections that leave returns, legal actions, who acts and chance as they are, and form a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

from leafwise.envs.core.check.acting import after, image, numbers, outcomes, player
from leafwise.envs.core.check.door import Door, Row, same
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.subject import words
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

GROUP = 24
"""Up to so many symmetries all are looked at as a group."""
TRIED = 3
"""Symmetries whose successors are compared at one position."""


def check_actions(door: Door) -> None:
    """Checks that every symmetry permutes the action ids, and that 0 leaves them."""
    ids = list(range(len(door.subject.game.actions)))
    for k in range(min(door.subject.symmetries, GROUP)):
        turned = [moved_action(door, a, k) for a in ids]
        expect(
            sorted(turned) == ids, "transform_action", f"symmetry {k} to permute the {len(ids)} actions", turned[:24]
        )
        if k == 0:
            expect(turned == ids, "transform_action", "symmetry 0 to leave every action", turned[:24])


def moved_action(door: Door, a: int, k: int) -> int:
    """Returns the action that matches `a` after symmetry k."""
    return int(door.call("transform_action", a, k, door.used))


def check(door: Door, row: Row, acts: int, steps: Sequence[Any], rng: Random, moved: set[int]) -> None:
    """Checks the symmetries at a position from which `steps` lead on; `moved` collects those that change something."""
    count = door.subject.symmetries
    expect((image(door, row, 0) == row).all(), "transform", "symmetry 0 to leave the row", "another row")
    if count == 1:
        return
    images = {k: image(door, row, k) for k in (range(count) if count <= GROUP else rng.sample(range(count), TRIED))}
    moved |= {k for k, found in images.items() if (found != row).any()}
    if count <= GROUP and rng.random() < 0.25:
        _check_group(door, images)
    others = [k for k in sorted(images) if k]
    for k in rng.sample(others, min(TRIED, len(others))):
        try:
            _check_image(door, row, acts, steps, k, images[k])
        except RuleFault as fault:
            if fault.everywhere:
                raise
            raise RuleFault(fault.rule, f"{fault.told} (symmetry {k})", fault.position) from None


def _check_group(door: Door, images: dict[int, Row]) -> None:
    found = {r.tobytes() for r in images.values()}
    for k, turned in images.items():
        again = {image(door, turned, other).tobytes() for other in images}
        expect(again == found, "transform", f"a group: the images of image {k} are those of the row", "others")


def _check_image(door: Door, row: Row, acts: int, steps: Sequence[Any], k: int, turned: Row) -> None:
    theirs = player(door, turned)
    expect(theirs == acts, "transform", f"the same player to act, {acts}", theirs)
    for rule in ("returns", "stage"):
        mine, other = door.ask(rule, row), door.ask(rule, turned)
        expect(same(mine, other), "transform", f"the same {rule}, {mine!r}", repr(other))
    if acts == CHANCE:
        _check_chance(door, row, turned, k)
    elif acts != TERMINAL:
        _check_decision(door, row, turned, steps, k)


def _check_decision(door: Door, row: Row, turned: Row, steps: Sequence[Any], k: int) -> None:
    names = door.subject.game.actions
    mine = sorted(moved_action(door, a, k) for a in numbers(door, "legal_actions", row))
    theirs = numbers(door, "legal_actions", turned)
    expect(mine == theirs, "transform_action", f"the legal actions of the image, {theirs}", mine)
    for step in steps[:4]:
        moved = after(door, turned, moved_action(door, step.action, k))
        wanted = image(door, step.row, k)
        told = f"the image of what {names[step.action]!r} leads to, {words(wanted)}"
        expect((moved == wanted).all(), "transform", told, words(moved))


def _check_chance(door: Door, row: Row, turned: Row, k: int) -> None:
    mine: dict[bytes, float] = defaultdict(float)
    for p, successor in outcomes(door, row):
        mine[image(door, successor, k).tobytes()] += p
    theirs = {successor.tobytes(): p for p, successor in outcomes(door, turned)}
    expect(set(mine) == set(theirs), "transform", "the images of the outcomes as outcomes of the image", "others")
    for key, p in mine.items():
        expect(abs(theirs[key] - p) < 1e-9, "transform", f"an outcome's probability {p:.9g} kept", f"{theirs[key]:.9g}")
