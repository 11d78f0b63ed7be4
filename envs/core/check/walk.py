"""Which positions are checked, and at which draws are counted: near the start, of random games, and rows and texts from outside.

A game's `is_valid` has to refuse every row that its rules cannot go on from, and `parse` every text that is no position.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.check.door import Door, Row, RuleFault, at_row, expect, words
from leafwise.envs.core.check.position import GROUP, Checker, Step, check_actions
from leafwise.envs.core.contract.rules import CHANCE
from leafwise.envs.core.errors import short

LEAST = 10
"""Positions that are seen however little time there is: what compiles at the first costs more than all others."""
LINE = 400
"""Plies of a random game at most."""
NEAR = 20
"""Positions near the start for each random game."""
COUNTED = 6
"""Chance stages of each name at which draws are counted at once: the first that differ in how many outcomes they have."""
PLAIN_DRAWS, DRAWS = 250, 2000
"""Draws counted at one chance stage, in plain Python and in compiled code."""
COUNTING_SHARE = 0.4
"""Share of the time for counting draws at more kinds of chance stages."""
ALTERED = 6
"""Altered rows, and as many texts, that are tried for each random game."""
ENOUGH = 30
"""Positions among which every symmetry is to change one, and before which draws are counted at no further kinds of turns."""
REMEMBERED = 400
"""Positions that are asked again at the end."""
LETTERS = "0123456789abcdefxo-+=/,. \x00é"
"""What is put into texts."""
LONGEST = 400
"""Letters of an altered text at most."""
NUMBERS = ("-1", "0", "99", "fffff", "65536", "ffffffffffffffff", "99999999999999999999")
Kind = tuple[Any, ...]
CYCLES = range(2, 9)
"""Turns are told apart by what remains when they are divided by these: rules may differ at every other turn, or at one of six."""
SUSPICIOUS, CERTAIN, AGAIN = 3.5, 6.0, 8
"""Standard deviations above the mean: of the first draws, and of AGAIN times as many new ones.

A sound game is looked at twice at one stage in 4,000, and called faulty less than once in 10 ** 9.
"""


class Walk:
    """Positions of one game, checked one after the other."""

    def __init__(self, door: Door, seed: int) -> None:
        self.door, self.rng = door, Random(seed)
        self.checker = Checker(door, self.rng)
        self.strange_rng = Random(seed)
        self.strange = Checker(door, self.strange_rng)
        self.seen: dict[bytes, list[Step]] = {}
        self._queue: deque[Row] = deque()
        self._queued: set[bytes] = set()
        """Rows that are or were in the queue."""
        self._counted: set[tuple[int, int]] = set()
        self._kinds = Kinds()
        self._counting_s = 0.0
        """Seconds that counting at `_kinds` took."""

    def run(self, seconds: float, rows: Iterable[Row]) -> list[Row]:
        """Checks positions for so many seconds of processor time, `rows` and the start first; returns those it saw."""
        self.begun = self.door.clock()
        self.end, self.least = self.begun + seconds, LEAST if seconds else 0
        check_actions(self.door)
        start = self.door.start()
        for row in (start, *rows):
            self._visit(row)
            self._enqueue(row)
        while self._queue and not self._over():
            self._random_game(start)
            self._near()
            self._try_altered()
            if len(self.seen) > ENOUGH:
                self._count_kinds(COUNTING_SHARE)
        self._count_kinds(1.0)
        self._check_at_the_end()
        return [self._row(known) for known in self.seen]

    def _over(self) -> bool:
        return len(self.seen) >= self.least and self.door.clock() >= self.end

    def _row(self, known: bytes) -> Row:
        return np.frombuffer(known, dtype=self.door.game.dtype)

    def _visit(self, row: Row) -> list[Step]:
        """Returns the ways on from a position, checked when it is first met; draws are counted at the first stages of a kind."""
        known = row.tobytes()
        if known not in self.seen:
            steps = self.seen[known] = self.checker.check(row)
            if steps and steps[0].action < 0:
                kind = int(self.door.ask("stage", row)), len(steps)
                if kind not in self._counted and sum(k[0] == kind[0] for k in self._counted) < COUNTED:
                    self._counted.add(kind)
                    self._count_at(row)
        return self.seen[known]

    def _enqueue(self, row: Row) -> None:
        """Lets a position be gone on from, once."""
        if row.tobytes() not in self._queued:
            self._queued.add(row.tobytes())
            self._queue.append(row)

    def _near(self) -> None:
        """Goes on from the positions nearest to the start."""
        for _ in range(min(NEAR, len(self._queue))):
            if self._over():
                return
            for step in self._visit(self._queue.popleft()):
                self._enqueue(step.row)

    def _random_game(self, row: Row) -> None:
        """Plays one game at random, and counts the stages and the decisions without cost that follow each other."""
        game = self.door.game
        stages, decided, free = 0, False, 0
        player, decisions, draws = -1, 0, 0
        for _ in range(LINE):
            steps = self._visit(row)
            if not steps or self._over():
                return
            step = self.rng.choice(steps)
            if step.action < 0:
                stages += 1
                draws += stages == 1
                met = Met(row, int(self.door.ask("stage", row)), len(steps), player, decisions, draws)
                self._kinds.add(met)
                most = f"at most {game.max_stages} chance stages in a row (max_stages)"
                with at_row(self.door, row):
                    expect(not decided or stages <= game.max_stages, "stage", most, stages)
            else:
                stages, decided, free = 0, True, free + 1
                player, decisions = self.door.player(row), decisions + 1
                limit = game.search.decisions_per_depth
                most = f"at most {limit} decisions in one unit of search depth (decisions_per_depth)"
                with at_row(self.door, row):
                    expect(free <= limit, "action_cost", most, free)
                free = 0 if step.cost else free
            row = step.row

    def _count_at(self, row: Row) -> None:
        with at_row(self.door, row):
            check_draws(self.door, row, PLAIN_DRAWS if self.door.guarded else DRAWS, self.rng.getrandbits(64))

    def _count_kinds(self, share: float) -> None:
        """Counts draws at kinds of chance stages that were not counted yet, for at most a share of the time so far."""
        while not self._over():
            before = self.door.clock()
            if self._counting_s > share * (before - self.begun):
                return
            met = self._kinds.next()
            if met is None:
                return
            self._count_at(met.row)
            self._counting_s += self.door.clock() - before

    def _try_altered(self) -> None:
        """Tries some rows and texts that play does not lead to."""
        seen, rng, says_valid = list(self.seen), self.strange_rng, "is_valid" in self.door.rules
        for _ in range(ALTERED):
            if self._over():
                return
            if says_valid:
                self._check_stranger(altered_row(self._row(rng.choice(seen)), seen, rng), "")
            text = altered_text(self.door.text(self._row(rng.choice(seen))), rng)
            row = self._parsed(text)
            if says_valid and row is not None:
                self._check_stranger(row, text)

    def _parsed(self, text: str) -> Row | None:
        """Returns the row that an altered text is read as, None where a ValueError in one line, or `State`, refuses it."""
        door = self.door
        door.stand(text)
        try:
            every = (Exception, SystemExit)
            given = np.asarray(door.call("parse", text, door.T, function=door.parse, refusals=every))
            row: Row = given.astype(door.game.dtype)
        except (ValueError, OverflowError) as problem:
            expect("\n" not in str(problem), "parse", f"one line about {text!r}", repr(str(problem)))
            return None
        except (Exception, SystemExit) as problem:
            got = short(f"{type(problem).__name__}: {problem}")
            raise RuleFault("parse", f"expected a position or a ValueError, got {got}", text) from None
        return row if row.shape == (door.game.width,) and given.tolist() == row.tolist() else None

    def _check_stranger(self, row: Row, text: str) -> None:
        """Checks a row that no game leads to, if the game says that it is valid; raises RuleFault if it is not."""
        if not self.door.valid(row):
            return
        try:
            self.strange.check(row)
        except RuleFault as fault:
            what = f"expected False for a row that breaks a promise, got True ({fault.rule}: {fault.told})"
            raise RuleFault("is_valid", what, text or fault.position, words(row)) from None

    def _check_at_the_end(self) -> None:
        """Asks some positions again, in another order, and whether every symmetry changes something."""
        door, rows = self.door, sorted(self.seen)
        for known in self.rng.sample(rows, min(REMEMBERED, len(rows))):
            row, steps = self._row(known), self.seen[known]
            with at_row(door, row):
                chance = door.player(row) == CHANCE
                again = [r for _, r in door.outcomes(row)] if chance else [door.after(row, s.action) for s in steps]
                alike = [step.row.tobytes() for step in steps] == [r.tobytes() for r in again]
                rule = "chance_outcomes" if chance else "apply_action"
                expect(alike, rule, "the same answer later on", "another")
        if 1 < door.symmetries <= GROUP and len(rows) > ENOUGH:
            for k in range(1, door.symmetries):
                turns = any(door.moved_action(a, k) != a for a in range(len(door.game.actions)))
                some = f"symmetry {k} of {door.symmetries} to change some position or action"
                expect(turns or k in self.checker.moved, "transform", some, "none that it changes")


def altered_row(row: Row, others: Sequence[bytes], rng: Random) -> Row:
    """Returns a row with bits flipped, a word drawn anew or taken from another position, or all words drawn anew."""
    bits = 8 * row.dtype.itemsize
    new: list[int] = [word & ((1 << bits) - 1) for word in words(row)]
    place, how = rng.randrange(len(new)), rng.randrange(8)
    if how < 4:
        for _ in range(rng.choice((1, 1, 2, 3))):
            new[rng.randrange(len(new))] ^= 1 << rng.randrange(bits)
    elif how == 4:
        new[place] = rng.getrandbits(rng.randrange(1, bits + 1))
    elif how < 7:
        new[place] = words(np.frombuffer(rng.choice(others), dtype=row.dtype))[place] & ((1 << bits) - 1)
    else:
        new = [rng.getrandbits(bits) for _ in new]
    return np.array(new, dtype=f"u{row.dtype.itemsize}").view(row.dtype)


def altered_text(text: str, rng: Random) -> str:
    """Returns a text with a few letters put in, left out or replaced, words swapped or doubled, or another number."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        parts, at, how = text.split(" "), rng.randrange(len(text) + 1), rng.randrange(7)
        k = rng.randrange(len(parts))
        if how < 4:
            put = rng.choice(LETTERS) if how in (0, 2) else ""
            text = text[:at] + put + (text[at + (how > 0) :] if how < 3 else "")
        else:
            new = {4: [rng.choice(NUMBERS)], 5: [parts[k], parts[k]], 6: []}[how]
            text = " ".join([*parts[:k], *new, *parts[k + 1 :]])
    return text[:LONGEST]


class Met(NamedTuple):
    """A chance stage as a random game came to it."""

    row: Row
    stage: int
    outcomes: int
    player: int
    """Who decided last."""
    decisions: int
    """So many before it."""
    draws: int
    """Chance acted so many times before it, stages in a row counted once."""

    def kinds(self) -> Iterator[Kind]:
        """Yields the kinds of position that it belongs to, coarse ones first: True in front where outcomes are told apart too."""
        yield False, self.stage, self.player
        for fine in (False, True):
            outcomes = self.outcomes if fine else 0
            for cycle in CYCLES:
                for what, turn in enumerate((self.decisions, self.draws)):
                    yield fine, self.stage, self.player, outcomes, what, cycle, turn % cycle


class Kinds:
    """The kinds of chance stages that were met, and those of them at which draws were counted."""

    def __init__(self) -> None:
        self._met: Counter[Kind] = Counter()
        self._counted: Counter[Kind] = Counter()
        self._last: dict[Kind, Met] = {}

    def add(self, met: Met) -> None:
        """Remembers a chance stage; one with a single outcome has nothing to be counted."""
        if met.outcomes > 1:
            for kind in met.kinds():
                self._met[kind] += 1
                self._last[kind] = met

    def next(self) -> Met | None:
        """Returns where to count next, at the rarest kind that was not counted yet; None if there is none."""
        left = [kind for kind in self._met if not self._counted[kind]]
        if not left:
            return None
        met = self._last[min(left, key=lambda kind: (kind[0], self._met[kind], kind))]
        self._counted.update(met.kinds())
        return met


def chi_square_score(counts: Sequence[int], expected: Sequence[float]) -> float:
    """Returns how many standard deviations a chi-square statistic lies above its mean (Wilson and Hilferty 1931)."""
    bins: list[list[float]] = []
    for count, mean in sorted(zip(counts, expected, strict=True), key=lambda pair: pair[1]):
        if bins and bins[-1][1] < 5:  # too rare alone: counted together
            bins[-1][0] += count
            bins[-1][1] += mean
        else:
            bins.append([count, mean])
    freedom = len(bins) - 1
    if freedom == 0:
        return 0.0
    statistic = sum((count - mean) ** 2 / mean for count, mean in bins)
    return ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def check_draws(door: Door, row: Row, draws: int, key: int) -> None:
    """Compares `draws` draws at a chance stage with its probabilities; `key` is what the keys of their streams are drawn from."""
    law = {successor.tobytes(): p for p, successor in door.outcomes(row)}
    if len(law) == 1:
        return
    for many, least, keys in (draws, SUSPICIOUS, Random(key)), (AGAIN * draws, CERTAIN, Random(key + 1)):
        counts = Counter(door.draw(row, keys.getrandbits(64)).tobytes() for _ in range(many))
        known = counts.keys() <= law.keys()
        expect(known, "sample_outcome", "one of the outcomes that chance_outcomes gives", "another row")
        if chi_square_score([counts[outcome] for outcome in law], [many * p for p in law.values()]) <= least:
            return
    shares = {outcome: counts[outcome] / many for outcome in law}
    number, worst = max(enumerate(law), key=lambda pair: abs(shares[pair[1]] - law[pair[1]]))
    given = f"outcome {number} with the probability that chance_outcomes gives it, {law[worst]:.4g}"
    raise RuleFault("sample_outcome", f"expected {given}, got it in {shares[worst]:.4g} of {many} draws")
