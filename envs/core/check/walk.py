"""Chooses the positions to check and the chance stages at which draws are counted, and runs all checks at a position.

Positions come from near the start, from random games, and from outside as rows and texts. `is_valid` must refuse every row that
the rules cannot go on from, and `parse` every text that is not a position.

Symmetries are checked too: they form a group, and keep returns, actions and chance. Rules and leaves that handle many positions
at once are compared with their results for single ones.
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.check.rule_caller import (
    AT,
    OUT,
    TO,
    U_AT,
    U_OUT,
    U_TO,
    Arrays,
    JunkBlock,
    Row,
    RuleCaller,
    RuleFault,
    at_row,
    during,
    expect,
    same,
    view_rule,
    words,
)  # fmt: skip
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.rules import CHANCE, DEFAULT_VIEW, TERMINAL
from leafwise.envs.core.errors import short

LEAST = 10
"""Positions that are checked however short the time is: compiling for the first costs more than all others."""
LINE = 400
"""Plies of a random game at most."""
NEAR = 20
"""Positions near the start that are checked for each random game."""
COUNTED = 6
"""Chance stages of each name at which draws are counted at once: the first with different numbers of outcomes."""
PLAIN_DRAWS, DRAWS = 250, 2000
"""Draws counted at one chance stage, in plain Python and in compiled code."""
COUNTING_SHARE = 0.4
"""Share of the time for counting draws at further kinds of chance stages."""
ALTERED = 6
"""Altered rows, and altered texts, that are tried for each random game."""
ENOUGH = 30
"""Positions among which every symmetry has to change one; draws at further kinds of turns are counted only after them."""
REMEMBERED = 400
"""Positions that are asked again at the end."""
LETTERS = "0123456789abcdefxo-+=/,. \x00é"
"""Characters inserted into texts."""
LONGEST = 400
"""Letters of an altered text at most."""
NUMBERS = ("-1", "0", "99", "fffff", "65536", "ffffffffffffffff", "99999999999999999999")
Kind = tuple[Any, ...]
CYCLES = range(2, 9)
"""Turns are classified by their remainder modulo these: rules may differ at every second turn, or at every sixth."""
SUSPICIOUS, CERTAIN, AGAIN = 3.5, 6.0, 8
"""Standard deviations above the mean: for the first draws, and for AGAIN times as many new ones.

A sound game is counted again at one stage in 4,000, and rejected less than once in 10 ** 9.
"""


class Walk:
    """Chooses positions of one game and checks them one after the other."""

    def __init__(self, caller: RuleCaller, seed: int) -> None:
        self.caller, self.rng = caller, Random(seed)
        self.checker = Checker(caller, self.rng)
        self.altered_rng = Random(seed)
        self.altered_checker = Checker(caller, self.altered_rng)
        self.seen: dict[bytes, list[Successor]] = {}
        self._queue: deque[Row] = deque()
        self._queued: set[bytes] = set()
        """Rows that are or were in the queue."""
        self._counted: set[tuple[int, int]] = set()
        self._kinds = Kinds()
        self._counting_s = 0.0
        """Processor seconds spent on counting at `_kinds`."""

    def run(self, seconds: float, rows: Iterable[Row]) -> list[Row]:
        """Checks positions for `seconds` of processor time, the start and `rows` first; returns those it saw."""
        self.begun = self.caller.clock()
        self.end, self.least = self.begun + seconds, LEAST if seconds else 0
        check_actions(self.caller)
        start = self.caller.start()
        for row in (start, *rows):
            self._visit(row)
            self._enqueue(row)
        while self._queue and not self._over():
            self._random_game(start)
            for _ in range(min(NEAR, len(self._queue))):
                if not self._over():
                    for step in self._visit(self._queue.popleft()):
                        self._enqueue(step.row)
            self._try_altered()
            if len(self.seen) > ENOUGH:
                self._count_kinds(COUNTING_SHARE)
        self._count_kinds(1.0)
        self._check_at_the_end()
        return [self._row(known) for known in self.seen]

    def _over(self) -> bool:
        return len(self.seen) >= self.least and self.caller.clock() >= self.end

    def _row(self, known: bytes) -> Row:
        return np.frombuffer(known, dtype=self.caller.game.dtype)

    def _visit(self, row: Row) -> list[Successor]:
        """Checks a position when it is new and returns its successors; counts draws at the first stages of each kind."""
        known = row.tobytes()
        if known not in self.seen:
            steps = self.seen[known] = self.checker.check(row)
            if steps and steps[0].action < 0:
                kind = int(self.caller.ask("stage", row)), len(steps)
                if kind not in self._counted and sum(k[0] == kind[0] for k in self._counted) < COUNTED:
                    self._counted.add(kind)
                    self._count_at(row)
        return self.seen[known]

    def _enqueue(self, row: Row) -> None:
        """Queues a position, once."""
        if row.tobytes() not in self._queued:
            self._queued.add(row.tobytes())
            self._queue.append(row)

    def _random_game(self, row: Row) -> None:
        """Plays a random game, and counts consecutive chance stages and consecutive decisions without cost."""
        game = self.caller.game
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
                met = ChanceVisit(row, int(self.caller.ask("stage", row)), len(steps), player, decisions, draws)
                self._kinds.add(met)
                most = f"at most {game.max_stages} chance stages in a row (max_stages)"
                with at_row(self.caller, row):
                    expect(not decided or stages <= game.max_stages, "stage", most, stages)
            else:
                stages, decided, free = 0, True, free + 1
                player, decisions = self.caller.player(row), decisions + 1
                limit = game.search.decisions_per_depth
                most = f"at most {limit} decisions in one unit of search depth (decisions_per_depth)"
                with at_row(self.caller, row):
                    expect(free <= limit, "action_cost", most, free)
                free = 0 if step.cost else free
            row = step.row

    def _count_at(self, row: Row) -> None:
        with at_row(self.caller, row):
            check_draws(self.caller, row, PLAIN_DRAWS if self.caller.guarded else DRAWS, self.rng.getrandbits(64))

    def _count_kinds(self, share: float) -> None:
        """Counts draws at new kinds of chance stages, for at most a share of the time so far."""
        while not self._over():
            before = self.caller.clock()
            if self._counting_s > share * (before - self.begun):
                return
            met = self._kinds.next()
            if met is None:
                return
            self._count_at(met.row)
            self._counting_s += self.caller.clock() - before

    def _try_altered(self) -> None:
        """Tries some rows and texts that play does not lead to."""
        seen, rng, says_valid = list(self.seen), self.altered_rng, "is_valid" in self.caller.rules
        for _ in range(ALTERED):
            if self._over():
                return
            if says_valid:
                self._check_altered(altered_row(self._row(rng.choice(seen)), seen, rng), "")
            text = altered_text(self.caller.text(self._row(rng.choice(seen))), rng)
            row = self._parsed(text)
            if says_valid and row is not None:
                self._check_altered(row, text)

    def _parsed(self, text: str) -> Row | None:
        """Returns the row that an altered text is read as; None if a ValueError in one line, or `State`, refuses it."""
        caller = self.caller
        caller.set_position(text)
        try:
            every = (Exception, SystemExit)
            given = np.asarray(caller.call("parse", text, caller.T, function=caller.parse, refusals=every))
            row: Row = given.astype(caller.game.dtype)
        except (ValueError, OverflowError) as problem:
            expect("\n" not in str(problem), "parse", f"one line about {text!r}", repr(str(problem)))
            return None
        except (Exception, SystemExit) as problem:
            got = short(f"{type(problem).__name__}: {problem}")
            raise RuleFault("parse", f"expected a position or a ValueError, got {got}", text) from None
        return row if row.shape == (caller.game.width,) and given.tolist() == row.tolist() else None

    def _check_altered(self, row: Row, text: str) -> None:
        """Checks a row that no game leads to, if the game calls it valid; raises RuleFault if it breaks a promise."""
        if not self.caller.valid(row):
            return
        try:
            self.altered_checker.check(row)
        except RuleFault as fault:
            what = f"expected False for a row that breaks a promise, got True ({fault.rule}: {fault.message})"
            raise RuleFault("is_valid", what, text or fault.position, words(row)) from None

    def _check_at_the_end(self) -> None:
        """Asks some positions again, in another order, and checks that every symmetry changes something."""
        caller, rows = self.caller, sorted(self.seen)
        for known in self.rng.sample(rows, min(REMEMBERED, len(rows))):
            row, steps = self._row(known), self.seen[known]
            with at_row(caller, row):
                chance = caller.player(row) == CHANCE
                again = [r for _, r in caller.outcomes(row)] if chance else [caller.after(row, s.action) for s in steps]
                alike = [step.row.tobytes() for step in steps] == [r.tobytes() for r in again]
                rule = "chance_outcomes" if chance else "apply_action"
                expect(alike, rule, "the same answer later on", "another")
        if 1 < caller.symmetries <= GROUP and len(rows) > ENOUGH:
            for k in range(1, caller.symmetries):
                turns = any(caller.moved_action(a, k) != a for a in range(len(caller.game.actions)))
                some = f"symmetry {k} of {caller.symmetries} to change some position or action"
                expect(turns or k in self.checker.moved, "transform", some, "none that it changes")


def altered_row(row: Row, others: Sequence[bytes], rng: Random) -> Row:
    """Returns a row with bits flipped, with a random word or a word of another position, or with all words random."""
    data, size, how = bytearray(row.tobytes()), row.dtype.itemsize, rng.randrange(8)
    start = size * rng.randrange(len(row))
    word = slice(start, start + size)
    if how < 4:
        for _ in range(rng.choice((1, 1, 2, 3))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 4:
        data[word] = rng.getrandbits(rng.randrange(1, 8 * size + 1)).to_bytes(size, sys.byteorder)
    elif how < 7:
        data[word] = rng.choice(others)[word]
    else:
        data = bytearray(rng.randbytes(len(data)))
    return np.frombuffer(data, row.dtype)


def altered_text(text: str, rng: Random) -> str:
    """Returns a text with some letters inserted, removed or replaced, words swapped or doubled, or another number."""
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


class ChanceVisit(NamedTuple):
    """A chance stage as a random game reached it."""

    row: Row
    stage: int
    outcomes: int
    player: int
    """The player who decided last."""
    decisions: int
    """Number of decisions before it."""
    draws: int
    """Number of times that chance acted before it; consecutive stages count once."""

    def kinds(self) -> Iterator[Kind]:
        """Yields the kinds that it belongs to, coarse ones first; True in front means that the number of outcomes counts too."""
        yield False, self.stage, self.player
        for fine in (False, True):
            outcomes = self.outcomes if fine else 0
            for cycle in CYCLES:
                for what, turn in enumerate((self.decisions, self.draws)):
                    yield fine, self.stage, self.player, outcomes, what, cycle, turn % cycle


class Kinds:
    """Counts the kinds of chance stages that were reached, and those at which draws were counted."""

    def __init__(self) -> None:
        self._met: Counter[Kind] = Counter()
        self._counted: Counter[Kind] = Counter()
        self._last: dict[Kind, ChanceVisit] = {}

    def add(self, met: ChanceVisit) -> None:
        """Adds a chance stage; one with a single outcome is ignored."""
        if met.outcomes > 1:
            for kind in met.kinds():
                self._met[kind] += 1
                self._last[kind] = met

    def next(self) -> ChanceVisit | None:
        """Returns the chance stage to count next, of the rarest new kind; None if there is none."""
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


def check_draws(caller: RuleCaller, row: Row, draws: int, key: int) -> None:
    """Compares draws at a chance stage with its probabilities; the keys of their streams are drawn from `key`."""
    law = {successor.tobytes(): p for p, successor in caller.outcomes(row)}
    if len(law) == 1:
        return
    for many, least, keys in (draws, SUSPICIOUS, Random(key)), (AGAIN * draws, CERTAIN, Random(key + 1)):
        counts = Counter(caller.draw(row, keys.getrandbits(64)).tobytes() for _ in range(many))
        known = counts.keys() <= law.keys()
        expect(known, "sample_outcome", "one of the outcomes that chance_outcomes gives", "another row")
        if chi_square_score([counts[outcome] for outcome in law], [many * p for p in law.values()]) <= least:
            return
    shares = {outcome: counts[outcome] / many for outcome in law}
    number, worst = max(enumerate(law), key=lambda pair: abs(shares[pair[1]] - law[pair[1]]))
    given = f"outcome {number} with the probability that chance_outcomes gives it, {law[worst]:.4g}"
    raise RuleFault("sample_outcome", f"expected {given}, got it in {shares[worst]:.4g} of {many} draws")


# The checks at one position.


MOST_ACTIONS = 24
"""At a decision with more actions, so many are tried, drawn at random."""
DRAWN = 2
"""Draws at a chance stage, besides those that are counted."""
GROUP = 24
"""Up to this number of symmetries, they are checked as a group."""
TRIED = 3
"""Symmetries whose successors are compared at one position."""


class Successor(NamedTuple):
    """A successor of a position, by an action or by chance."""

    row: Row
    action: int
    """The id of the action; -1: chance."""
    cost: int


@dataclass
class Checker:
    """Checks positions, and remembers texts and keys so that different positions get different ones."""

    caller: RuleCaller
    rng: Random
    texts: dict[str, bytes] = field(default_factory=dict)
    keys: dict[int, dict[Any, Any]] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)
    """Symmetries that changed a position or an action."""

    def check(self, row: Row) -> list[Successor]:
        """Checks a position and returns its successors; raises RuleFault, with the position, for a broken promise."""
        caller, number = self.caller, f"row {words(row)}"
        caller.renew()
        caller.set_position(number)
        with at_row(caller, row, number):
            text = self._text(row)
        caller.set_position(text)
        with at_row(caller, row, text):
            if "is_valid" in caller.rules:
                expect(caller.valid(row), "is_valid", "True for a row that play leads to", False)
            acts = caller.player(row)
            self._check_readings(row, acts)
            steps = [] if acts == TERMINAL else self._chance(row) if acts == CHANCE else self._decision(row)
            self._check_key(row, acts, steps)
            caller.renew()
            self._check_images(row, acts, steps)
        return steps

    def _text(self, row: Row) -> str:
        """Returns the text of a row, after checking that it reads back."""
        caller = self.caller
        text: str = caller.call("text", row.copy(), caller.T, function=caller.write)
        expect(isinstance(text, str) and text and "\n" not in text, "text", "one line of text", repr(text))
        with at_row(caller, row, text):
            known = words(np.frombuffer(self.texts.setdefault(text, row.tobytes()), dtype=row.dtype))
            rows = f"one for the rows {known} and {words(row)}"
            expect(known == words(row), "text", "another text for another row", rows)
            back = np.asarray(caller.call("parse", text, caller.T, function=caller.parse))
            reads = back.shape == row.shape and back.astype(row.dtype).tobytes() == row.tobytes()
            expect(reads, "parse", f"the row back that was written, {words(row)}", back.tolist())
        return text

    def _check_readings(self, row: Row, acts: int) -> None:
        """Checks the stage, the returns, the progress, and the observations of a row."""
        caller, game = self.caller, self.caller.game
        stage, last = caller.whole_number("stage", row), len(game.stages) - 1
        expect(0 <= stage <= last, "stage", f"a stage in 0..{last} {game.stages}", stage)
        if acts == CHANCE:
            expect(stage > 0, "stage", f"a chance stage, 1 or more of {game.stages}, where chance acts", stage)
        elif acts != TERMINAL:
            expect(stage == 0, "stage", f"0, {game.stages[0]!r}, where a player acts", stage)
        low, high = game.return_range
        leaf_value = caller.ask("returns", row)
        finite = isinstance(leaf_value, (int, float, np.number)) and math.isfinite(leaf_value)
        expect(
            finite and low <= leaf_value <= high,
            "returns",
            f"a number within return_range {low:g} to {high:g}",
            leaf_value,
        )
        if acts == TERMINAL:
            progress = caller.ask("progress", row)
            expect(0.0 <= progress <= 1.0, "progress", "a number in 0..1", progress)
        if acts == CHANCE:
            return
        default = caller.observation(row)
        for view, viewer in caller.viewpoints():
            seen = caller.observation(row, viewer, view)
            self._check_space(view_rule(view, viewer), seen, view)
            if view != DEFAULT_VIEW or viewer is None:
                continue
            alone = game.players == 1  # environments then ask `observe`, at the end too
            alike = not (alone or viewer == acts) or all((seen[name] == default[name]).all() for name in default)
            expect(alike, "observe_as", f"what observe writes where player {viewer} acts", "another")

    def _check_space(self, rule: str, seen: Arrays, view: str) -> None:
        """Checks that an observation lies in its space."""
        for name, box in self.caller.boxes[view].items():
            outside = ~((seen[name] >= box.low) & (seen[name] <= box.high))
            if outside.any():
                place = tuple(int(k) for k in np.argwhere(outside)[0])
                label = f"{f'O.{name}'.rstrip('.')}[e, {', '.join(map(str, place))}]"
                within = f"{box.low[place]:g}..{box.high[place]:g} (observation space)"
                raise RuleFault(rule, f"expected {label} in {within}, got {seen[name][place]:g}")

    def _check_key(self, row: Row, acts: int, steps: list[Successor]) -> None:
        """Checks that rows with the same key have the same future."""
        caller = self.caller
        key = int(caller.ask("key", row))
        future: dict[Any, Any] = {"acts": acts}
        future |= {"returns": caller.ask("returns", row), "stage": caller.whole_number("stage", row)}
        for number, step in enumerate(steps):
            what = step.action if acts != CHANCE else f"outcome {number}"
            future[what] = int(caller.ask("key", step.row)), caller.player(step.row)
        known = self.keys.setdefault(key, future)
        alike = all(known[what] == future[what] for what in known.keys() & future.keys())
        expect(alike, "key", "another key for another row", key)

    def _decision(self, row: Row) -> list[Successor]:
        caller, game = self.caller, self.caller.game
        legal = caller.numbers("legal_actions", row)
        expect(legal, "legal_actions", "at least one action at a decision", "none")
        expect(legal == sorted(set(legal)), "legal_actions", "ids that ascend, each once", legal)
        last = len(game.actions) - 1
        expect(0 <= legal[0] <= legal[-1] <= last, "legal_actions", f"ids in 0..{last} (action names)", legal)
        for which, name in enumerate(game.search.candidates):
            some = caller.numbers("candidates", row, which)
            expect(some and set(some) <= set(legal), "candidates", f"some of the legal actions {legal}", some)
            whole = which > 0 or some == legal
            expect(whole, "candidates", f"all legal actions {legal} under the first name, {name!r}", some)
        tried = legal if len(legal) <= MOST_ACTIONS else sorted(self.rng.sample(legal, MOST_ACTIONS))
        return [self._act(row, a) for a in tried]

    def _act(self, row: Row, a: int) -> Successor:
        caller = self.caller
        with during(f"action {caller.game.actions[a]!r}"):
            cost = caller.whole_number("action_cost", row, np.int64(a))
            expect(cost in (0, 1), "action_cost", "0 or 1", cost)
            return Successor(caller.after(row, a), a, cost)

    def _chance(self, row: Row) -> list[Successor]:
        caller, law = self.caller, self.caller.outcomes(row)
        rows = [after.tobytes() for _, after in law]
        expect(len(set(rows)) == len(rows), "chance_outcomes", "outcomes that differ", "one row twice")
        names = [caller.call("outcome_name", row, after, caller.T, function=caller.outcome_name) for _, after in law]
        if any(names):  # without names nobody asks for an outcome by one
            twice = next((name for name in names if names.count(name) > 1), None)
            expect(twice is None, "outcome_name", "names that differ", f"{twice!r} twice")
        for _ in range(DRAWN):
            key = self.rng.getrandbits(64)
            drawn, again = (caller.draw(row, key, kind) for kind in (0, 1))
            expect(drawn.tobytes() in rows, "sample_outcome", "one of the outcomes", f"the row {words(drawn)}")
            expect((drawn == again).all(), "sample_outcome", "one outcome for one stream", "two")
        check_afterstates(caller, row, law)
        return [Successor(after, -1, 0) for _, after in law]

    def _check_images(self, row: Row, acts: int, steps: Sequence[Successor]) -> None:
        """Checks the symmetries at a position with the successors `steps`."""
        caller, count, rng = self.caller, self.caller.symmetries, self.rng
        expect((caller.image(row, 0) == row).all(), "transform", "symmetry 0 to leave the row", "another row")
        if count == 1:
            return
        whole = count <= GROUP
        images = {k: caller.image(row, k) for k in (range(count) if whole else rng.sample(range(count), TRIED))}
        self.moved |= {k for k, image in images.items() if (image != row).any()}
        if whole and rng.random() < 0.25:
            rows = {image.tobytes() for image in images.values()}
            for k, turned in images.items():
                again = {caller.image(turned, other).tobytes() for other in images}
                group = f"a group: the images of image {k} are those of the row"
                expect(again == rows, "transform", group, "others")
        others = sorted(images.keys() - {0})
        for k in rng.sample(others, min(TRIED, len(others))):
            with during(f"symmetry {k}"):
                self._check_image(row, acts, steps, k, images[k])

    def _check_image(self, row: Row, acts: int, steps: Sequence[Successor], k: int, turned: Row) -> None:
        caller, rule = self.caller, "transform"
        theirs = caller.player(turned)
        expect(theirs == acts, rule, f"the same player to act, {acts}", theirs)
        for what in ("returns", "stage"):
            mine, other = caller.ask(what, row), caller.ask(what, turned)
            expect(same(mine, other), rule, f"the same {what}, {mine!r}", repr(other))
        if acts == CHANCE:
            law: defaultdict[bytes, float] = defaultdict(float)
            for p, successor in caller.outcomes(row):
                law[caller.image(successor, k).tobytes()] += p
            others = {successor.tobytes(): p for p, successor in caller.outcomes(turned)}
            expect(law.keys() == others.keys(), rule, "the images of the outcomes as outcomes of the image", "others")
            for image, p in law.items():
                kept = abs(others[image] - p) < 1e-9
                expect(kept, rule, f"an outcome's probability {p:.9g} kept", f"{others[image]:.9g}")
        elif acts != TERMINAL:
            moved = sorted(caller.moved_action(a, k) for a in caller.numbers("legal_actions", row))
            legal = caller.numbers("legal_actions", turned)
            expect(moved == legal, "transform_action", f"the legal actions of the image, {legal}", moved)
            for step in steps[:4]:
                after, wanted = caller.after(turned, caller.moved_action(step.action, k)), caller.image(step.row, k)
                leads = f"the image of what {caller.game.actions[step.action]!r} leads to, {words(wanted)}"
                expect((after == wanted).all(), rule, leads, words(after))


def check_actions(caller: RuleCaller) -> None:
    """Checks that every symmetry permutes the action ids, and that symmetry 0 keeps them."""
    ids, rule = list(range(len(caller.game.actions))), "transform_action"
    for k in range(min(caller.symmetries, GROUP)):
        turned = [caller.moved_action(a, k) for a in ids]
        expect(sorted(turned) == ids, rule, f"symmetry {k} to permute the {len(ids)} actions", turned[:24])
        expect(k or turned == ids, rule, "symmetry 0 to leave every action", turned[:24])


MOST_OUTCOMES = 4
"""Outcomes of one chance stage that are compared."""
FIRST = 3
"""The first row that `afterstates` may write."""


def written_afterstates(caller: RuleCaller, row: Row) -> Row:
    """Returns the rows that `afterstates` writes at a chance stage, [n, width]."""
    rule, limit = "afterstates", caller.game.max_actions
    writable = frozenset(range(FIRST, FIRST + limit))

    def read(n, S: JunkBlock) -> Row:
        expect(0 <= int(n) <= limit, rule, f"a number of actions in 0..{limit} (max_actions)", int(n))
        return S.plain[FIRST : FIRST + int(n)].copy()

    first, second = caller.twice(read, rule, {AT: row}, U_AT, np.uint64(FIRST), rows=FIRST + limit, writes=writable)
    expect(len(first) == len(second), rule, "as many rows twice", f"{len(first)}, then {len(second)}")
    return first


def apply_outcome(caller: RuleCaller, afterstate: Row, outcome: Row) -> Row:
    """Returns the row that `apply_outcome` makes of a row of `afterstates` and an outcome."""
    given, where = {AT: afterstate, TO: outcome}, (U_AT, U_TO, np.uint64(FIRST))
    _, S = caller.once("apply_outcome", given, *where, rows=FIRST + 1, writes=frozenset({FIRST}))
    return S.plain[FIRST].copy()


def check_afterstates(caller: RuleCaller, row: Row, law: Sequence[tuple[float, Row]]) -> None:
    """Checks at a chance stage that `afterstates` and `apply_outcome` give the same as acting after each outcome."""
    if "afterstates" not in caller.rules:
        return
    afterstates = written_afterstates(caller, row)
    for _, outcome in law[:MOST_OUTCOMES] if len(afterstates) else ():
        expect(caller.player(outcome) >= 0, "afterstates", "outcomes that are decisions", "one that is not")
        legal = caller.numbers("legal_actions", outcome)
        expect(len(legal) == len(afterstates), "afterstates", f"{len(legal)} legal actions", len(afterstates))
        for a, afterstate in zip(legal, afterstates, strict=True):
            name = f"action {caller.game.actions[a]!r}"
            wanted, got = caller.after(outcome, a), apply_outcome(caller, afterstate, outcome)
            written = f"the row that apply_action writes, {wanted.tolist()}"
            expect(wanted.tobytes() == got.tobytes(), "apply_outcome", written, f"{got.tolist()} ({name})")
            acts, cost = caller.player(wanted), caller.whole_number("action_cost", outcome, np.int64(a))
            sound = acts == CHANCE and cost == 1
            expect(sound, "afterstates", f"chance to act after {name}, which costs 1", f"player {acts}, cost {cost}")


def check_siblings(caller: RuleCaller, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Checks at a chance stage that the sibling values of each afterstate are the means of its single leaves."""
    outcomes = [outcome for _, outcome in caller.outcomes(row)[:MOST_OUTCOMES]]
    for afterstate in written_afterstates(caller, row):
        n, means = _raised(caller, rule, evaluator, afterstate, outcomes, -math.inf, T)
        if n == 0:
            continue
        laws = [caller.outcomes(apply_outcome(caller, afterstate, outcome)) for outcome in outcomes]
        leaves = sum(map(len, laws))
        expect(n == leaves, rule, f"siblings to count {leaves} leaves", n)
        for law, mean in zip(laws, means, strict=True):
            total = 0.0
            for p, leaf in law:
                total += p * search_value(caller, rule, evaluator, leaf, T)
            expect(same(mean, total), rule, f"the mean of leaves one by one, {total!r}, of siblings", repr(mean))
        kept = _raised(caller, rule, evaluator, afterstate, outcomes, math.inf, T)[1]
        expect(min(kept) == math.inf, rule, "siblings to leave what is higher", repr(min(kept)))


def _raised(
    caller: RuleCaller, rule: str, evaluator: Evaluator, afterstate: Row, outcomes: Sequence[Row], known: float, T
) -> tuple[int, list[float]]:
    """Returns the number of leaves that sibling values count, and the values to which they raise `known`, one per outcome."""
    end = OUT + len(outcomes)
    rows, writable = end + 1 + caller.game.max_outcomes, frozenset(range(OUT, end))
    scratch = frozenset(range(end, rows))
    M, P = caller.block("M", rows, (), np.float64), caller.block("P", rows, (), np.float64)
    M.guard.permit(frozenset(), writable)
    P.guard.permit(frozenset(), scratch)
    values, given = np.full(rows, M.junk[0]), {AT: afterstate, **dict(enumerate(outcomes, OUT))}
    values[OUT:end] = known
    arguments = U_AT, U_OUT, np.uint64(end), M.array, P.array
    function = caller.form(evaluator.speed.sibling_values)
    n, _ = caller.once(
        rule, given, *arguments, T=T, rows=rows, writes=scratch, blocks={M: values, P: None}, function=function
    )
    return int(n), M.plain[OUT:end].tolist()


def check_value(caller: RuleCaller, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Checks that the value of a leaf is a number within its bounds."""
    value = leaf_value(caller, rule, evaluator, row, T)
    low = -math.inf if evaluator.low is None else evaluator.low
    high = math.inf if evaluator.high is None else evaluator.high
    expect(math.isfinite(value) and low <= value <= high, rule, f"a finite number in {low:g}..{high:g}", value)


def leaf_value(caller: RuleCaller, rule: str, evaluator: Evaluator, row: Row, T: Any) -> float:
    """Returns the value of a leaf at a row."""
    return float(caller.once(rule, {AT: row}, U_AT, T=T, function=caller.form(evaluator.value))[0])


def search_value(caller: RuleCaller, rule: str, evaluator: Evaluator, leaf: Row, T) -> float:
    """Returns the value that a search of a single-player game takes for a leaf."""
    stage, acts = caller.game.stages[caller.whole_number("stage", leaf)], caller.player(leaf)
    expect(stage in (*evaluator.stages, "decision"), rule, f"siblings of leaves at {evaluator.stage!r}", repr(stage))
    if acts != TERMINAL or evaluator.terminal == "evaluate":
        return leaf_value(caller, rule, evaluator, leaf, T)
    returns = float(caller.ask("returns", leaf))
    if evaluator.terminal == "returns":
        return returns
    win, draw, loss = evaluator.terminal
    return win if returns > 0 else loss if returns < 0 else draw
