"""Rows and texts that play does not lead to: positions with some bits, words or letters changed.

A game's `is_valid` has to refuse every row that its rules cannot go on from, and `parse` every text that is no position.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from leafwise.envs.core.check.door import Door, Row, valid
from leafwise.envs.core.check.fault import RuleFault, expect
from leafwise.envs.core.check.position import Checker
from leafwise.envs.core.check.subject import words
from leafwise.envs.core.lines import short

LETTERS = "0123456789abcdefxo-+=/,. \x00é"
"""What is put into texts."""
LONGEST = 400
"""Letters of an altered text at most."""
NUMBERS = ("-1", "0", "99", "fffff", "65536", "ffffffffffffffff", "99999999999999999999")


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
        if how == 0:
            text = text[:at] + rng.choice(LETTERS) + text[at:]
        elif how == 1:
            text = text[:at] + text[at + 1 :]
        elif how == 2:
            text = text[:at] + rng.choice(LETTERS) + text[at + 1 :]
        elif how == 3:
            text = text[:at]
        else:
            new = {4: [rng.choice(NUMBERS)], 5: [parts[k], parts[k]], 6: []}[how]
            text = " ".join([*parts[:k], *new, *parts[k + 1 :]])
    return text[:LONGEST]


class Stranger:
    """Tries rows and texts that no game leads to."""

    def __init__(self, door: Door, rng: Random) -> None:
        self.door, self.rng = door, rng
        self.checker = Checker(door, rng)
        self.T = door.subject.game.tables()

    def try_row(self, seen: Sequence[bytes]) -> None:
        """Checks an altered row, if the game says that it is valid; raises RuleFault if it is not."""
        if "is_valid" in self.door.subject.rules:
            row = np.frombuffer(self.rng.choice(seen), dtype=self.door.subject.game.dtype)
            self._check(altered_row(row, seen, self.rng), "")

    def try_text(self, seen: Sequence[bytes]) -> None:
        """Reads an altered text; raises RuleFault if it is neither refused by a ValueError in one line nor a row."""
        subject = self.door.subject
        known = np.frombuffer(self.rng.choice(seen), dtype=subject.game.dtype)
        text = altered_text(subject.write(known.copy(), self.T), self.rng)
        if self.door.note is not None:
            self.door.note.position(text)
            self.door.note.calling("parse")
        try:
            given = np.asarray(subject.parse(text, self.T))
            row = given.astype(subject.game.dtype)
        except (ValueError, OverflowError) as problem:
            expect("\n" not in str(problem), "parse", f"one line about {text!r}", repr(str(problem)))
            return
        except (Exception, SystemExit) as problem:
            got = short(f"{type(problem).__name__}: {problem}")
            raise RuleFault("parse", f"expected a position or a ValueError, got {got}", text) from None
        fits = given.shape == known.shape and given.tolist() == row.tolist()  # else `State` refuses it
        if fits and "is_valid" in subject.rules:
            self._check(row, text)

    def _check(self, row: Row, text: str) -> None:
        if not valid(self.door, row):
            return
        try:
            self.checker.check(row)
        except RuleFault as fault:
            what = f"expected False for a row that breaks a promise, got True ({fault.rule}: {fault.told})"
            raise RuleFault("is_valid", what, text or fault.position, words(row)) from None
