"""All that is checked at one position."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check import acting, mirrors, together
from leafwise.envs.core.check.acting import draw, observation, outcomes, player
from leafwise.envs.core.check.door import Door, Row, told, valid
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.subject import boxes, words
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

MOST_ACTIONS = 24
"""Actions tried at a decision that has more, drawn at random."""
DRAWS = 2
"""Draws at a chance stage, besides those that are counted."""


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
    lengths: dict[bytes, int] = field(default_factory=dict)

    def check(self, row: Row) -> list[Step]:
        """Returns the ways on from a position; raises RuleFault, with the position in it, where a rule breaks its promise."""
        door = self.door
        door.fresh = door.tables()
        if door.note is not None:
            door.note.position(" ".join(map(str, words(row))))
        text = ""
        try:
            text = self._text(row)
            if door.note is not None:
                door.note.position(text)
            return self._check(row)
        except RuleFault as fault:
            raise fault.at(text or f"row {words(row)}", words(row)) from None

    def _check(self, row: Row) -> list[Step]:
        if "is_valid" in self.door.subject.rules:
            expect(valid(self.door, row), "is_valid", "True for a row that play leads to", False)
        acts = player(self.door, row)
        self._check_outlook(row, acts)
        if acts == TERMINAL:
            steps = []
        elif acts == CHANCE:
            steps = self._chance(row)
        else:
            steps = self._decision(row)
        self._check_key(row, acts, steps)
        self.door.fresh = self.door.tables()
        mirrors.check(self.door, row, acts, steps, self.rng, self.moved)
        return steps

    def _text(self, row: Row) -> str:
        """Returns the text of a row, which is to read back."""
        subject, T = self.door.subject, self.door.subject.game.tables()
        text = self._python("text", subject.write, row.copy(), T)
        expect(isinstance(text, str) and text and "\n" not in text, "text", "one line of text", repr(text))
        known = self.texts.setdefault(text, row.tobytes())
        if known != row.tobytes():
            other = words(np.frombuffer(known, dtype=row.dtype))
            told_rows = f"the rows {other} and {words(row)}"
            raise RuleFault("text", f"expected another text for another row, got one for {told_rows}", text)
        try:
            back = np.asarray(self._python("parse", subject.parse, text, T))
        except RuleFault as fault:
            raise RuleFault(fault.rule, fault.told, text) from None
        if back.shape != row.shape or back.astype(row.dtype).tobytes() != row.tobytes():
            raise RuleFault("parse", f"expected the row back that was written, {words(row)}, got {back.tolist()}", text)
        return str(text)

    def _python(self, what: str, function: Any, *arguments: Any) -> Any:
        """Calls one of the game's functions of plain Python."""
        if self.door.note is not None:
            self.door.note.calling(what)
        try:
            return function(*arguments)
        except (Exception, SystemExit) as problem:
            raise RuleFault(what, told(problem, function)) from None

    def _check_outlook(self, row: Row, acts: int) -> None:
        """Checks what is told of every row: stage, returns, key, and observation where somebody looks."""
        door, game = self.door, self.door.subject.game
        stage = door.whole_number("stage", row)
        expect(0 <= stage < len(game.stages), "stage", f"a stage in 0..{len(game.stages) - 1} {game.stages}", stage)
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
        if acts != CHANCE:
            self._check_observations(row, acts)

    def _check_key(self, row: Row, acts: int, steps: list[Step]) -> None:
        """Checks that rows of one key go on alike: what the future does not depend on, the key may leave out."""
        door = self.door
        key = int(door.ask("key", row))
        told: dict[Any, Any] = {
            "acts": acts,
            "returns": door.ask("returns", row),
            "stage": door.whole_number("stage", row),
        }
        for number, step in enumerate(steps):
            after = step.row
            told[step.action if acts != CHANCE else f"outcome {number}"] = (
                int(door.ask("key", after)),
                player(door, after),
            )
        known = self.keys.setdefault(key, told)
        alike = all(known[what] == told[what] for what in known.keys() & told.keys())
        expect(alike, "key", "another key for another row", key)

    def _check_observations(self, row: Row, acts: int) -> None:
        """Checks what who acts sees, and what each player sees."""
        own = observation(self.door, row)
        self._check_space("observe", own)
        for viewer in range(self.door.subject.game.players):
            seen = observation(self.door, row, viewer)
            self._check_space("observe_as", seen)
            alike = all((seen[name] == own[name]).all() for name in own)
            expect(viewer != acts or alike, "observe_as", f"what observe writes where player {viewer} acts", "another")

    def _check_space(self, rule: str, seen: dict[str, NDArray[Any]]) -> None:
        """Checks that an observation is in its space."""
        for name, box in boxes(self.door.subject).items():
            array = seen[name]
            outside = ~((array >= box.low) & (array <= box.high))
            if outside.any():
                place = tuple(int(k) for k in np.argwhere(outside)[0])
                low, high = box.low[place], box.high[place]
                label = f"{f'O.{name}'.rstrip('.')}[e, {', '.join(map(str, place))}]"
                raise RuleFault(
                    rule, f"expected {label} in {low:g}..{high:g} (observation space), got {array[place]:g}"
                )

    def _decision(self, row: Row) -> list[Step]:
        door, game = self.door, self.door.subject.game
        legal = acting.numbers(door, "legal_actions", row)
        expect(legal, "legal_actions", "at least one action at a decision", "none")
        expect(legal == sorted(set(legal)), "legal_actions", "ids that ascend, each once", legal)
        last = len(game.actions) - 1
        expect(0 <= legal[0] <= legal[-1] <= last, "legal_actions", f"ids in 0..{last} (action names)", legal)
        for which, name in enumerate(door.subject.candidates):
            some = acting.numbers(door, "candidates", row, which)
            expect(some and set(some) <= set(legal), "candidates", f"some of the legal actions {legal}", some)
            whole = which > 0 or some == legal
            expect(whole, "candidates", f"all legal actions {legal} under the first name, {name!r}", some)
        tried = legal if len(legal) <= MOST_ACTIONS else sorted(self.rng.sample(legal, MOST_ACTIONS))
        return [self._act(row, a) for a in tried]

    def _act(self, row: Row, a: int) -> Step:
        door = self.door
        try:
            cost = door.whole_number("action_cost", row, np.int64(a))
            expect(cost in (0, 1), "action_cost", "0 or 1", cost)
            return Step(acting.after(door, row, a), a, cost)
        except RuleFault as fault:
            if fault.everywhere:
                raise
            raise RuleFault(fault.rule, f"{fault.told} (action {door.subject.game.actions[a]!r})") from None

    def _chance(self, row: Row) -> list[Step]:
        door, law = self.door, outcomes(self.door, row)
        rows = [after.tobytes() for _, after in law]
        expect(len(set(rows)) == len(rows), "chance_outcomes", "outcomes that differ", "one row twice")
        T = door.subject.game.tables()
        names = [self._python("outcome_name", door.subject.outcome_name, row, after, T) for _, after in law]
        if any(names):  # without names nobody asks for an outcome by one
            twice = next((name for name in names if names.count(name) > 1), None)
            expect(twice is None, "outcome_name", "names that differ", f"{twice!r} twice")
        for _ in range(DRAWS):
            key = self.rng.getrandbits(64)
            drawn, again = (draw(door, row, key, T) for T in (door.used, door.fresh))
            expect(drawn.tobytes() in rows, "sample_outcome", "one of the outcomes", f"the row {words(drawn)}")
            expect((drawn == again).all(), "sample_outcome", "one outcome for one stream", "two")
        together.check_afterstates(door, row, law)
        return [Step(after, -1, 0) for _, after in law]
