"""Which positions are checked: all that are near the start, and those of random games; until the time is spent or all are seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from leafwise.envs.core.check import acting, counting, mirrors
from leafwise.envs.core.check.altered import Stranger
from leafwise.envs.core.check.door import Door, Row
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.position import Checker, Step
from leafwise.envs.core.check.subject import words
from leafwise.envs.core.contract.rules import CHANCE

LEAST = 10
"""Positions that are seen however little time there is: what compiles at the first costs more than all others."""
LINE = 400
"""Plies of a random game at most."""
NEAR = 20
"""Positions near the start for each random game."""
COUNTED = 6
"""Chance stages of each name at which draws are counted at once: the first that differ in how many outcomes they have."""
COUNTING_SHARE = 0.4
"""Share of the time for counting draws at more kinds of chance stages."""
ALTERED = 6
"""Altered rows, and as many texts, that are tried for each random game."""
ENOUGH = 30
"""Positions among which every symmetry is to change one, and before which draws are counted at no further kinds of turns."""
REMEMBERED = 400
"""Positions that are asked again at the end."""


@dataclass
class Walk:
    """Positions of one game, checked one after the other."""

    door: Door
    seed: int
    draws: int
    """Draws counted at one chance stage."""
    checker: Checker = field(init=False)
    begun: float = field(init=False)
    end: float = field(init=False)
    """When the walk began, and when the time is spent, by the door's clock."""
    least: int = 0
    """Positions that are seen even so."""
    seen: dict[bytes, list[Step]] = field(default_factory=dict)
    queue: deque[Row] = field(default_factory=deque)
    queued: set[bytes] = field(default_factory=set)
    """Rows that are or were in the queue."""
    counted: set[tuple[int, int]] = field(default_factory=set)
    kinds: counting.Kinds = field(default_factory=counting.Kinds)
    counting_s: float = 0.0
    """Seconds that counting at `kinds` took."""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)
        self.checker = Checker(self.door, self.rng)
        self.stranger = Stranger(self.door, Random(self.seed))

    def run(self, seconds: float, rows: Iterable[Row]) -> list[Row]:
        """Checks positions for so many seconds of processor time, `rows` and the start first; returns those it saw."""
        self.begun = self.door.clock()
        self.end, self.least = self.begun + seconds, LEAST if seconds else 0
        mirrors.check_actions(self.door)
        start = acting.start(self.door)
        for row in (start, *rows):
            self.visit(row)
            self._queue(row)
        while self.queue and not self._over():
            self._random_game(start)
            self._near()
            self._try_altered()
            if len(self.seen) > ENOUGH:
                self._count_kinds(COUNTING_SHARE)
        self._count_kinds(1.0)
        self._check_at_the_end()
        return [np.frombuffer(row, dtype=start.dtype) for row in self.seen]

    def _over(self) -> bool:
        return len(self.seen) >= self.least and self.door.clock() >= self.end

    def visit(self, row: Row) -> list[Step]:
        """Returns the ways on from a position, checked when it is first met."""
        known = row.tobytes()
        if known not in self.seen:
            self.seen[known] = self.checker.check(row)
            if self.seen[known] and self.seen[known][0].action < 0:
                self._count(row)
        return self.seen[known]

    def _queue(self, row: Row) -> None:
        """Lets a position be gone on from, once."""
        if row.tobytes() not in self.queued:
            self.queued.add(row.tobytes())
            self.queue.append(row)

    def _near(self) -> None:
        """Goes on from the positions nearest to the start."""
        for _ in range(min(NEAR, len(self.queue))):
            if self._over():
                return
            for step in self.visit(self.queue.popleft()):
                self._queue(step.row)

    def _random_game(self, row: Row) -> None:
        """Plays one game at random, and counts the stages and the decisions without cost that follow each other."""
        game = self.door.subject.game
        stages, decided, free = 0, False, 0
        player, decisions, draws = -1, 0, 0
        for _ in range(LINE):
            steps = self.visit(row)
            if not steps or self._over():
                return
            step = self.rng.choice(steps)
            if step.action < 0:
                stages += 1
                draws += stages == 1
                stage = int(self.door.ask("stage", row))
                self.kinds.add(counting.Met(row, stage, len(steps), player, decisions, draws))
                fits = not decided or stages <= game.max_stages
                self._expect(
                    fits, row, "stage", f"at most {game.max_stages} chance stages in a row (max_stages)", stages
                )
            else:
                stages, decided, free = 0, True, free + 1
                player, decisions = acting.player(self.door, row), decisions + 1
                most = self.door.subject.decisions_per_depth
                told = f"at most {most} decisions in one unit of search depth (decisions_per_depth)"
                self._expect(free <= most, row, "action_cost", told, free)
                free = 0 if step.cost else free
            row = step.row

    def _expect(self, ok: bool, row: Row, rule: str, expected: str, got: Any) -> None:
        try:
            expect(ok, rule, expected, got)
        except RuleFault as fault:
            raise self._placed(fault, row) from None

    def _placed(self, fault: RuleFault, row: Row) -> RuleFault:
        """Returns a fault that names a position."""
        text = self.door.subject.write(row, self.door.subject.game.tables())
        return fault.at(text, words(row))

    def _count(self, row: Row) -> None:
        """Counts draws at the first stages of each name and number of outcomes."""
        kind = int(self.door.ask("stage", row)), len(self.seen[row.tobytes()])
        alike = [k for k in self.counted if k[0] == kind[0]]
        if kind in self.counted or len(alike) >= COUNTED:
            return
        self.counted.add(kind)
        self._count_at(row)

    def _count_at(self, row: Row) -> None:
        try:
            counting.check(self.door, row, self.draws, self.rng.getrandbits(64))
        except RuleFault as fault:
            raise self._placed(fault, row) from None

    def _count_kinds(self, share: float) -> None:
        """Counts draws at kinds of chance stages that were not counted yet, for at most a share of the time so far."""
        while not self._over():
            before = self.door.clock()
            if self.counting_s > share * (before - self.begun):
                return
            met = self.kinds.next()
            if met is None:
                return
            self._count_at(met.row)
            self.counting_s += self.door.clock() - before

    def _try_altered(self) -> None:
        """Tries some rows and texts that play does not lead to."""
        seen = list(self.seen)
        for _ in range(ALTERED):
            if not self._over():
                self.stranger.try_row(seen)
                self.stranger.try_text(seen)

    def _check_at_the_end(self) -> None:
        """Asks some positions again, in another order, and whether every symmetry changes something."""
        rows = sorted(self.seen)
        for known in self.rng.sample(rows, min(REMEMBERED, len(rows))):
            row = np.frombuffer(known, dtype=self.door.subject.game.dtype)
            self._check_again(row, self.seen[known])
        count, names = self.door.subject.symmetries, self.door.subject.game.actions
        if 1 < count <= mirrors.GROUP and len(rows) > ENOUGH:
            for k in range(1, count):
                turns = any(mirrors.moved_action(self.door, a, k) != a for a in range(len(names)))
                told = f"symmetry {k} of {count} to change some position or action"
                expect(turns or k in self.checker.moved, "transform", told, "none that it changes")

    def _check_again(self, row: Row, steps: list[Step]) -> None:
        try:
            acts = acting.player(self.door, row)
            if acts == CHANCE:
                again = [successor.tobytes() for _, successor in acting.outcomes(self.door, row)]
            else:
                again = [acting.after(self.door, row, step.action).tobytes() for step in steps]
            rule = "chance_outcomes" if acts == CHANCE else "apply_action"
            expect([step.row.tobytes() for step in steps] == again, rule, "the same answer later on", "another")
        except RuleFault as fault:
            raise self._placed(fault, row) from None
