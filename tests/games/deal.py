"""Chance with outcomes listed by a test."""

from __future__ import annotations

from collections.abc import Sequence

from leafwise.authoring import State


class Deal:
    """Listed outcomes in place of chance, for tests that list a stack.

    For each stage named, the outcomes in order of use, as `game.text.outcome_name` spells them: `Deal(draw=["3", "1", "2"])`.
    """

    def __init__(self, **outcomes: Sequence[str]) -> None:
        self.outcomes = {stage: tuple(names) for stage, names in outcomes.items()}
        self._used = dict.fromkeys(outcomes, 0)

    def resolve(self, state: State) -> State:
        """Returns the state after one chance stage as listed; raises ValueError if the list does not fit."""
        stage = state.stage
        k = self._used.get(stage, 0)
        if k >= len(self.outcomes.get(stage, ())):
            raise ValueError(f"deal: expected an outcome for stage {stage!r} number {k + 1}, got none")
        wanted = self.outcomes[stage][k]
        possible = state.outcomes_by_name()
        if wanted not in possible:
            raise ValueError(f"deal: expected one of ({', '.join(possible)}) at stage {stage!r}, got {wanted!r}")
        self._used[stage] = k + 1
        return possible[wanted]

    def settle(self, state: State) -> State:
        """Returns the next decision or end, with every chance stage before it as listed."""
        while state.is_chance:
            state = self.resolve(state)
        return state
