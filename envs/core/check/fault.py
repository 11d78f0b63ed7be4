"""What is said of a game that breaks its contract: the rule, what it promised, what it did, and where."""

from __future__ import annotations

from typing import Any

LONGEST = 160
"""Letters of a position that are shown."""


class ContractError(ValueError):
    """A game breaks its contract; the message names the rule, the position and the number."""


class RuleFault(Exception):
    """A rule broke its promise: `told` is "expected ..., got ...", `position` the text of where, `row` its words."""

    everywhere = False
    """Whether it has nothing to do with a position, as where a rule does not compile."""

    def __init__(self, rule: str, told: str, position: str = "", row: list[int] | None = None) -> None:
        super().__init__(rule, told, position, row)
        self.rule, self.told, self.position, self.row = rule, told, position, row

    def at(self, position: str, row: list[int]) -> RuleFault:
        """Returns the fault with the position at which it showed, unless it knows better."""
        return self if self.everywhere or self.position else RuleFault(self.rule, self.told, position, row)

    def line(self, game: str) -> str:
        """Returns one line (of a function that does not compile, two)."""
        where = self.position if len(self.position) <= LONGEST else f"{self.position[:LONGEST]}..."
        rule = f"{self.rule}: " if self.rule else ""
        return f"{game}: {rule}{self.told}" + (f", at {where!r}" if where else "")

    def as_json(self) -> dict[str, Any]:
        """Returns what `from_json` reads back."""
        return {"rule": self.rule, "told": self.told, "position": self.position, "row": self.row}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> RuleFault:
        """Returns what `as_json` wrote."""
        return cls(told["rule"], told["told"], told["position"], told["row"])


def expect(ok: object, rule: str, expected: str, got: object) -> None:
    """Raises RuleFault, `expected ..., got ...`, unless `ok`."""
    if not ok:
        raise RuleFault(rule, f"expected {expected}, got {got}")
