"""All that is checked at one position, and of its images: symmetries are a group, and leave returns, actions and chance alike.

So is what games and leaves may do for many positions at once, against what they do for each: it may only be faster.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check.door import (
    AT,
    OUT,
    TO,
    U_AT,
    U_OUT,
    U_TO,
    Block,
    Door,
    Row,
    RuleFault,
    amid,
    at_row,
    expect,
    same,
    words,
)
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

MOST_ACTIONS = 24
"""Actions tried at a decision that has more, drawn at random."""
DRAWS = 2
"""Draws at a chance stage, besides those that are counted."""
GROUP = 24
"""Up to so many symmetries all are looked at as a group."""
TRIED = 3
"""Symmetries whose successors are compared at one position."""


class Step(NamedTuple):
    """One way on from a position: by an action, which costs search depth or not, or by chance."""

    row: Row
    action: int
    """The action's id, -1: chance."""
    cost: int


@dataclass
class Checker:
    """Checks positions, and remembers what tells them apart."""

    door: Door
    rng: Random
    texts: dict[str, bytes] = field(default_factory=dict)
    keys: dict[int, dict[Any, Any]] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)
    """Symmetries that changed a position or an action."""

    def check(self, row: Row) -> list[Step]:
        """Returns the ways on from a position; raises RuleFault, with the position in it, where a rule breaks its promise."""
        door, number = self.door, f"row {words(row)}"
        door.renew()
        door.stand(number)
        with at_row(door, row, number):
            text = self._text(row)
        door.stand(text)
        with at_row(door, row, text):
            if "is_valid" in door.rules:
                expect(door.valid(row), "is_valid", "True for a row that play leads to", False)
            acts = door.player(row)
            self._check_outlook(row, acts)
            steps = [] if acts == TERMINAL else self._chance(row) if acts == CHANCE else self._decision(row)
            self._check_key(row, acts, steps)
            door.renew()
            self._check_images(row, acts, steps)
        return steps

    def _text(self, row: Row) -> str:
        """Returns the text of a row, which is to read back."""
        door = self.door
        text: str = door.call("text", row.copy(), door.T, function=door.write)
        expect(isinstance(text, str) and text and "\n" not in text, "text", "one line of text", repr(text))
        with at_row(door, row, text):
            known = words(np.frombuffer(self.texts.setdefault(text, row.tobytes()), dtype=row.dtype))
            rows = f"one for the rows {known} and {words(row)}"
            expect(known == words(row), "text", "another text for another row", rows)
            back = np.asarray(door.call("parse", text, door.T, function=door.parse))
            reads = back.shape == row.shape and back.astype(row.dtype).tobytes() == row.tobytes()
            expect(reads, "parse", f"the row back that was written, {words(row)}", back.tolist())
        return text

    def _check_outlook(self, row: Row, acts: int) -> None:
        """Checks what is told of every row: stage, returns, progress, and what is seen where somebody looks."""
        door, game = self.door, self.door.game
        stage, last = door.whole_number("stage", row), len(game.stages) - 1
        expect(0 <= stage <= last, "stage", f"a stage in 0..{last} {game.stages}", stage)
        if acts == CHANCE:
            expect(stage > 0, "stage", f"a chance stage, 1 or more of {game.stages}, where chance acts", stage)
        elif acts != TERMINAL:
            expect(stage == 0, "stage", f"0, {game.stages[0]!r}, where a player acts", stage)
        low, high = game.return_range
        worth = door.ask("returns", row)
        finite = isinstance(worth, (int, float, np.number)) and math.isfinite(worth)
        expect(finite and low <= worth <= high, "returns", f"a number within return_range {low:g} to {high:g}", worth)
        if acts == TERMINAL:
            progress = door.ask("progress", row)
            expect(0.0 <= progress <= 1.0, "progress", "a number in 0..1", progress)
        if acts == CHANCE:
            return
        own = door.observation(row)
        self._check_space("observe", own)
        for viewer in range(game.players):
            seen = door.observation(row, viewer)
            self._check_space("observe_as", seen)
            alone = game.players == 1  # environments then ask `observe`, at the end too
            alike = not (alone or viewer == acts) or all((seen[name] == own[name]).all() for name in own)
            expect(alike, "observe_as", f"what observe writes where player {viewer} acts", "another")

    def _check_space(self, rule: str, seen: dict[str, NDArray[Any]]) -> None:
        """Checks that an observation is in its space."""
        for name, box in self.door.boxes.items():
            outside = ~((seen[name] >= box.low) & (seen[name] <= box.high))
            if outside.any():
                place = tuple(int(k) for k in np.argwhere(outside)[0])
                label = f"{f'O.{name}'.rstrip('.')}[e, {', '.join(map(str, place))}]"
                within = f"{box.low[place]:g}..{box.high[place]:g} (observation space)"
                raise RuleFault(rule, f"expected {label} in {within}, got {seen[name][place]:g}")

    def _check_key(self, row: Row, acts: int, steps: list[Step]) -> None:
        """Checks that rows of one key go on alike: what the future does not depend on, the key may leave out."""
        door = self.door
        key = int(door.ask("key", row))
        told: dict[Any, Any] = {"acts": acts}
        told |= {"returns": door.ask("returns", row), "stage": door.whole_number("stage", row)}
        for number, step in enumerate(steps):
            what = step.action if acts != CHANCE else f"outcome {number}"
            told[what] = int(door.ask("key", step.row)), door.player(step.row)
        known = self.keys.setdefault(key, told)
        alike = all(known[what] == told[what] for what in known.keys() & told.keys())
        expect(alike, "key", "another key for another row", key)

    def _decision(self, row: Row) -> list[Step]:
        door, game = self.door, self.door.game
        legal = door.numbers("legal_actions", row)
        expect(legal, "legal_actions", "at least one action at a decision", "none")
        expect(legal == sorted(set(legal)), "legal_actions", "ids that ascend, each once", legal)
        last = len(game.actions) - 1
        expect(0 <= legal[0] <= legal[-1] <= last, "legal_actions", f"ids in 0..{last} (action names)", legal)
        for which, name in enumerate(game.search.candidates):
            some = door.numbers("candidates", row, which)
            expect(some and set(some) <= set(legal), "candidates", f"some of the legal actions {legal}", some)
            whole = which > 0 or some == legal
            expect(whole, "candidates", f"all legal actions {legal} under the first name, {name!r}", some)
        tried = legal if len(legal) <= MOST_ACTIONS else sorted(self.rng.sample(legal, MOST_ACTIONS))
        return [self._act(row, a) for a in tried]

    def _act(self, row: Row, a: int) -> Step:
        door = self.door
        with amid(f"action {door.game.actions[a]!r}"):
            cost = door.whole_number("action_cost", row, np.int64(a))
            expect(cost in (0, 1), "action_cost", "0 or 1", cost)
            return Step(door.after(row, a), a, cost)

    def _chance(self, row: Row) -> list[Step]:
        door, law = self.door, self.door.outcomes(row)
        rows = [after.tobytes() for _, after in law]
        expect(len(set(rows)) == len(rows), "chance_outcomes", "outcomes that differ", "one row twice")
        names = [door.call("outcome_name", row, after, door.T, function=door.outcome_name) for _, after in law]
        if any(names):  # without names nobody asks for an outcome by one
            twice = next((name for name in names if names.count(name) > 1), None)
            expect(twice is None, "outcome_name", "names that differ", f"{twice!r} twice")
        for _ in range(DRAWS):
            key = self.rng.getrandbits(64)
            drawn, again = (door.draw(row, key, kind) for kind in (0, 1))
            expect(drawn.tobytes() in rows, "sample_outcome", "one of the outcomes", f"the row {words(drawn)}")
            expect((drawn == again).all(), "sample_outcome", "one outcome for one stream", "two")
        check_afterstates(door, row, law)
        return [Step(after, -1, 0) for _, after in law]

    def _check_images(self, row: Row, acts: int, steps: Sequence[Step]) -> None:
        """Checks the symmetries at a position from which `steps` lead on."""
        door, count, rng = self.door, self.door.symmetries, self.rng
        expect((door.image(row, 0) == row).all(), "transform", "symmetry 0 to leave the row", "another row")
        if count == 1:
            return
        whole = count <= GROUP
        images = {k: door.image(row, k) for k in (range(count) if whole else rng.sample(range(count), TRIED))}
        self.moved |= {k for k, found in images.items() if (found != row).any()}
        if whole and rng.random() < 0.25:
            rows = {found.tobytes() for found in images.values()}
            for k, turned in images.items():
                again = {door.image(turned, other).tobytes() for other in images}
                group = f"a group: the images of image {k} are those of the row"
                expect(again == rows, "transform", group, "others")
        others = sorted(images.keys() - {0})
        for k in rng.sample(others, min(TRIED, len(others))):
            with amid(f"symmetry {k}"):
                self._check_image(row, acts, steps, k, images[k])

    def _check_image(self, row: Row, acts: int, steps: Sequence[Step], k: int, turned: Row) -> None:
        door, rule = self.door, "transform"
        theirs = door.player(turned)
        expect(theirs == acts, rule, f"the same player to act, {acts}", theirs)
        for what in ("returns", "stage"):
            mine, other = door.ask(what, row), door.ask(what, turned)
            expect(same(mine, other), rule, f"the same {what}, {mine!r}", repr(other))
        if acts == CHANCE:
            law: defaultdict[bytes, float] = defaultdict(float)
            for p, successor in door.outcomes(row):
                law[door.image(successor, k).tobytes()] += p
            others = {successor.tobytes(): p for p, successor in door.outcomes(turned)}
            expect(law.keys() == others.keys(), rule, "the images of the outcomes as outcomes of the image", "others")
            for image, p in law.items():
                kept = abs(others[image] - p) < 1e-9
                expect(kept, rule, f"an outcome's probability {p:.9g} kept", f"{others[image]:.9g}")
        elif acts != TERMINAL:
            moved = sorted(door.moved_action(a, k) for a in door.numbers("legal_actions", row))
            legal = door.numbers("legal_actions", turned)
            expect(moved == legal, "transform_action", f"the legal actions of the image, {legal}", moved)
            for step in steps[:4]:
                after, wanted = door.after(turned, door.moved_action(step.action, k)), door.image(step.row, k)
                leads = f"the image of what {door.game.actions[step.action]!r} leads to, {words(wanted)}"
                expect((after == wanted).all(), rule, leads, words(after))


def check_actions(door: Door) -> None:
    """Checks that every symmetry permutes the action ids, and that 0 leaves them."""
    ids, rule = list(range(len(door.game.actions))), "transform_action"
    for k in range(min(door.symmetries, GROUP)):
        turned = [door.moved_action(a, k) for a in ids]
        expect(sorted(turned) == ids, rule, f"symmetry {k} to permute the {len(ids)} actions", turned[:24])
        expect(k or turned == ids, rule, "symmetry 0 to leave every action", turned[:24])


MOST_OUTCOMES = 4
"""Outcomes of one chance stage that are looked at."""
FIRST = 3
"""The first row that `afterstates` may write."""


def written_afterstates(door: Door, row: Row) -> NDArray[Any]:
    """Returns the rows that `afterstates` writes at a chance stage, [n, width]."""
    rule, most = "afterstates", door.game.max_actions
    own = frozenset(range(FIRST, FIRST + most))

    def read(n, S: Block) -> NDArray[Any]:
        expect(0 <= int(n) <= most, rule, f"a number of actions in 0..{most} (max_actions)", int(n))
        return S.plain[FIRST : FIRST + int(n)].copy()

    first, second = door.twice(read, rule, {AT: row}, U_AT, np.uint64(FIRST), rows=FIRST + most, writes=own)
    expect(len(first) == len(second), rule, "as many rows twice", f"{len(first)}, then {len(second)}")
    return first


def apply_outcome(door: Door, afterstate: Row, outcome: Row) -> Row:
    """Returns what `apply_outcome` makes of a row of `afterstates` and an outcome."""
    given, where = {AT: afterstate, TO: outcome}, (U_AT, U_TO, np.uint64(FIRST))
    _, S = door.once("apply_outcome", given, *where, rows=FIRST + 1, writes=frozenset({FIRST}))
    return S.plain[FIRST].copy()


def check_afterstates(door: Door, row: Row, law: Sequence[tuple[float, Row]]) -> None:
    """Compares `afterstates` and `apply_outcome`, at a chance stage with these outcomes, with acting after each outcome."""
    if "afterstates" not in door.rules:
        return
    afterstates = written_afterstates(door, row)
    for _, outcome in law[:MOST_OUTCOMES] if len(afterstates) else ():
        expect(door.player(outcome) >= 0, "afterstates", "outcomes that are decisions", "one that is not")
        legal = door.numbers("legal_actions", outcome)
        expect(len(legal) == len(afterstates), "afterstates", f"{len(legal)} legal actions", len(afterstates))
        for a, afterstate in zip(legal, afterstates, strict=True):
            name = f"action {door.game.actions[a]!r}"
            wanted, got = door.after(outcome, a), apply_outcome(door, afterstate, outcome)
            written = f"the row that apply_action writes, {wanted.tolist()}"
            expect(wanted.tobytes() == got.tobytes(), "apply_outcome", written, f"{got.tolist()} ({name})")
            acts, cost = door.player(wanted), door.whole_number("action_cost", outcome, np.int64(a))
            sound = acts == CHANCE and cost == 1
            expect(sound, "afterstates", f"chance to act after {name}, which costs 1", f"player {acts}, cost {cost}")


def check_siblings(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> None:
    """Compares, at a chance stage, what siblings say of each afterstate with the means of leaves one by one."""
    if "afterstates" not in door.rules:
        return
    outcomes = [outcome for _, outcome in door.outcomes(row)[:MOST_OUTCOMES]]
    for afterstate in written_afterstates(door, row):
        n, means = _raised(door, rule, evaluator, afterstate, outcomes, -math.inf, T)
        if n == 0:
            continue
        laws = [door.outcomes(apply_outcome(door, afterstate, outcome)) for outcome in outcomes]
        leaves = sum(map(len, laws))
        expect(n == leaves, rule, f"siblings to count {leaves} leaves", n)
        for law, mean in zip(laws, means, strict=True):
            total = 0.0
            for p, leaf in law:
                total += p * _worth(door, rule, evaluator, leaf, T)
            expect(same(mean, total), rule, f"the mean of leaves one by one, {total!r}, of siblings", repr(mean))
        kept = _raised(door, rule, evaluator, afterstate, outcomes, math.inf, T)[1]
        expect(min(kept) == math.inf, rule, "siblings to leave what is higher", repr(min(kept)))


def _raised(
    door: Door, rule: str, evaluator: Evaluator, afterstate: Row, outcomes: Sequence[Row], known: float, T
) -> tuple[int, list[float]]:
    """Returns how many leaves siblings count, and what they raise `known` to for each outcome."""
    end = OUT + len(outcomes)
    rows, own = end + 1 + door.game.max_outcomes, frozenset(range(OUT, end))
    scratch = frozenset(range(end, rows))
    M, P = door.block("M", rows, (), np.float64), door.block("P", rows, (), np.float64)
    M.guard.permit(frozenset(), own)
    P.guard.permit(frozenset(), scratch)
    values, given = np.full(rows, M.junk[0]), {AT: afterstate, **dict(enumerate(outcomes, OUT))}
    values[OUT:end] = known
    arguments = U_AT, U_OUT, np.uint64(end), M.array, P.array
    function = door.form(evaluator.speed.sibling_values)
    n, _ = door.once(
        rule, given, *arguments, T=T, rows=rows, writes=scratch, blocks={M: values, P: None}, function=function
    )
    return int(n), M.plain[OUT:end].tolist()


def worth(door: Door, rule: str, evaluator: Evaluator, row: Row, T: Any) -> float:
    """Returns what a leaf says of a row."""
    return float(door.once(rule, {AT: row}, U_AT, T=T, function=door.form(evaluator.value))[0])


def _worth(door: Door, rule: str, evaluator: Evaluator, leaf: Row, T) -> float:
    """Returns what a search of a game for one takes a leaf for."""
    stage, acts = door.game.stages[door.whole_number("stage", leaf)], door.player(leaf)
    expect(stage in (evaluator.stage, "decision"), rule, f"siblings of leaves at {evaluator.stage!r}", repr(stage))
    if acts != TERMINAL or evaluator.terminal == "evaluate":
        return worth(door, rule, evaluator, leaf, T)
    returns = float(door.ask("returns", leaf))
    if evaluator.terminal == "returns":
        return returns
    win, draw, loss = evaluator.terminal
    return win if returns > 0 else loss if returns < 0 else draw
