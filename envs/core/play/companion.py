"""How people follow a game that is played elsewhere, on a phone or at a table, and are told what to do there.

A room brings a `Companion`; `Following` is one game that is followed. The shell and the web page talk to it, and to nothing else:

    following = Following(game)                 # or Following(game, start), or Following.load(game, text)
    following.state                             # the position; None until the beginning is typed
    following.question                          # what may be typed next: a prompt, and choices with their probabilities
    following.enter("P3, P7")                   # does what a line says and returns it in words, or raises ValueError
    following.undo()                            # takes the last line back
    following.advise(values, written)           # where a player decides: the worth of every option, and what helps besides
    following.text                              # a game file; `load` goes on from it, and `leafwise analyze --game` reads it

At a decision a line says what the person did (an empty one: what was recommended), where chance acts it says what fell. Whatever a
choice says may be typed for it: its name, its number, or the first letters of its words; several, one after another, in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from leafwise.envs.core.contract.game import Game, check_is_game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError, asked_of_plugin
from leafwise.envs.core.play.by_name import Choice, chosen, outcome_names, stepped
from leafwise.envs.core.play.gamefile import GameRecord, Recorder, read_games

Values = Callable[[State], Mapping[int, float]]
"""(a decision) -> the value of every action that is considered, by id, for the player who acts: `Search(...)(state).values`."""
Written = Callable[[float], str]
"""(such a value) -> what it means to people: `units.written`, "61.0 %"."""


@dataclass(frozen=True)
class Question:
    """What may be typed next."""

    asks: str
    """What is asked for: "the card drawn"."""
    choices: tuple[Choice, ...] = ()
    """Every answer, where they can be listed: actions in the game's order, outcomes with the likeliest first."""
    form: str = ""
    """How else an answer is typed, by an example."""


@dataclass(frozen=True)
class Option:
    """An action and what it is worth."""

    name: str
    """The action's name, which `enter` takes."""
    words: str
    """What it is here: "lose 2 life and remove distracted, stupid"."""
    value: float
    """Its value, as the search has it."""
    told: str
    """Its value, as people read it: "61.0 %"."""


@dataclass(frozen=True)
class Advice:
    """What is told at a decision."""

    options: tuple[Option, ...]
    """Every action that was considered, the best first; of equals the first in the game's order."""
    notes: tuple[str, ...]
    """Lines about the position: the odds of the next card, what ending the fight now would cost."""

    @property
    def best(self) -> str:
        """The name of the action that is recommended."""
        return self.options[0].name


def companion_of(game: Game) -> Companion:
    """Returns a game's companion; raises ValueError if it has none."""
    if game.companion is None:
        raise UserError(f"expected a game that can be followed, got {game.name!r}")
    return game.companion


def choices_of(state: State) -> tuple[Choice, ...]:
    """Returns what can happen in a position: its actions in their order, or what chance can do, the likeliest first."""
    if not state.is_chance:
        named = [(state.game.actions[a], state.action_words(a), None) for a in state.legal_actions]
    else:
        outcomes = sorted(state.outcomes(), key=lambda outcome: -outcome[0])
        names = outcome_names(state, [after for _, after in outcomes])
        named = [(name, state.outcome_words(s), p) for name, (p, s) in zip(names, outcomes, strict=True)]  # type: ignore[misc]
    number = companion_of(state.game).number
    return tuple(
        Choice(name, words or name, number(state, name, place), p)
        for place, (name, words, p) in enumerate(named, start=1)
    )


def only_outcomes(state: State) -> list[str]:
    """Returns what chance does from here on as long as it can do one thing only, by name."""
    names = []
    while state.is_chance and len(outcomes := state.outcomes()) == 1:
        names += outcome_names(state, [outcomes[0][1]])
        state = outcomes[0][1]
    return names


def read_choices(state: State, text: str, best: str) -> list[str]:
    """Returns the actions and outcomes, by name, that a line says one after another; an empty line says the `best` action.

    Between commas, as many words as fit belong to one of them. Raises ValueError that says what could have been typed.
    """
    if not text.strip():
        if not best or state.is_chance:
            raise UserError(f"expected {companion_of(state.game).asks(state)}, got nothing")
        text = best
    names: list[str] = []
    for part in text.split(","):
        words = part.split()
        while words:
            choices, taken = choices_of(state), len(words)
            found = chosen(choices, words)
            while found is None and taken > 1:
                taken -= 1
                found = chosen(choices, words[:taken])
            if found is None:
                expected = "no more, the game is over" if state.is_terminal else f"one of {told_some(choices)}"
                raise UserError(f"expected {expected}, got {' '.join(words)!r}")
            new = [found.name, *only_outcomes(stepped(state, found.name))]
            for name in new:
                state = stepped(state, name)
            names += new
            del words[:taken]
    return names


def told_some(choices: tuple[Choice, ...], most: int = 12) -> str:
    """Returns choices in words, the first of them if they are many."""
    shown = [choice.told for choice in choices[:most]]
    return ", ".join(shown) + (f", ... ({len(choices)} in all)" if len(choices) > most else "")


@dataclass(frozen=True)
class Companion:
    """A room's part in following a game."""

    help: str
    """Lines that say what the person types."""
    begins: Question
    """What is asked for first, before there is a position."""
    begin: Callable[[Game, str], tuple[State, str]]
    """(game, the answer) -> the position where it begins, perhaps of another variant, and what is said of it, perhaps "".

    Raises ValueError for an answer that is none.
    """
    check: Callable[[State], None]
    """Raises ValueError for a position that cannot be followed."""
    asks: Callable[[State], str]
    """(position) -> what is asked for in it."""
    ending: Callable[[State], str]
    """What is said of a finished game."""
    form: str = ""
    """How a whole line at a decision is typed, by an example, where it says more than the choices do."""
    read: Callable[[State, str, str], list[str]] = read_choices
    """(position, line, recommended action or "") -> the actions and outcomes that the line says, by name; raises ValueError."""
    option: Callable[[State, int, Values], str] = lambda state, action, values: state.action_words(action)
    """(decision, action, values) -> what the action leads to, in words."""
    number: Callable[[State, str, int], int] = lambda state, name, place: place
    """(position, name, place in the list from 1 on) -> the number that is typed for a choice."""
    notes: Callable[[State], tuple[str, ...]] = lambda state: ()
    """(decision) -> lines that help besides."""


class Following:
    """One game that is followed. Lines are taken whole: one that is refused changes nothing."""

    def __init__(self, game: Game, start: State | None = None) -> None:
        """Begins with what the room asks for first, or with a position; raises ValueError for one that cannot be followed."""
        check_is_game(game, "following")
        self.companion = companion_of(game)
        self.game = game
        """The game, in the variant that is followed."""
        self._recorder: Recorder | None = None
        self._marks: list[int] = []
        """How many steps there were before each line."""
        self._start_typed = start is None
        if start is not None:
            self._set_out(start)

    def _set_out(self, start: State) -> None:
        asked_of_plugin(lambda: self.companion.check(start))
        self.game, self._recorder = start.game, Recorder(start)

    @property
    def state(self) -> State | None:
        """The position; None until the beginning is typed."""
        return None if self._recorder is None else self._recorder.state

    @property
    def question(self) -> Question:
        """What may be typed next; at the end of the game nothing, and what is said of it."""
        state = self.state
        if state is None:
            return self.companion.begins
        if state.is_terminal:
            return Question(self.companion.ending(state))
        form = "" if state.is_chance else self.companion.form
        return Question(self.companion.asks(state), choices_of(state), form)

    def enter(self, line: str, best: str = "") -> str:
        """Does what a line says and returns what that was, in words; `best` names the action that was recommended, if any.

        Raises ValueError, and changes nothing, for a line that says what cannot be.
        """
        if self._recorder is None:
            start, told = asked_of_plugin(lambda: self.companion.begin(self.game, line.strip()))
            self._set_out(start)
            self._marks.clear()
            return told
        state, done = self._recorder.state, len(self._recorder.steps)
        if state.is_terminal:
            raise UserError(f"expected no more, {self.companion.ending(state)}, got {line!r}")
        names = asked_of_plugin(lambda: self.companion.read(state, line, best))
        words = []
        try:
            for name in names:
                words.append(self._step(name))
            words += [self._step(name) for name in only_outcomes(self._recorder.state)]
        except UserError:
            del self._recorder.steps[done:]
            raise
        self._marks.append(done)
        return ", ".join(words)

    def _step(self, name: str) -> str:
        """Lets one thing happen and returns it in words, with its probability where chance acted."""
        assert self._recorder is not None
        before = self._recorder.state
        if not before.is_chance:
            self._recorder.play(name)
            return before.action_words(name)
        after = self._recorder.happen(name)
        chance = next(p for p, other in before.outcomes() if other == after)
        return f"{before.outcome_words(after)} ({100 * chance:.3g} %)"

    def undo(self) -> bool:
        """Takes the last line back; returns whether there was one."""
        if self._recorder is None or not (self._marks or self._start_typed):
            return False
        if self._marks:
            del self._recorder.steps[self._marks.pop() :]
        else:
            self._recorder = None
        return True

    def advise(self, values: Values, written: Written) -> Advice:
        """Returns what a player is told at a decision; `values` may be asked about later decisions too.

        Raises ValueError where nobody decides.
        """
        state = self.state
        if state is None or state.is_chance or state.is_terminal:
            raise UserError(f"expected a decision, got {self.question.asks!r}")
        found = values(state)
        options = [
            Option(state.game.actions[a], self.companion.option(state, a, values), found[a], written(found[a]))
            for a in sorted(found, key=lambda a: (-found[a], a))
        ]
        return Advice(tuple(options), self.companion.notes(state))

    @property
    def record(self) -> GameRecord:
        """The game so far; raises ValueError before its beginning."""
        if self._recorder is None:
            raise UserError(f"expected {self.companion.begins.asks}, got nothing yet")
        return self._recorder.record()

    @property
    def text(self) -> str:
        """The game so far as a game file, which `load` reads back; "" before its beginning."""
        return "" if self._recorder is None else str(self.record)

    @staticmethod
    def load(game: Game, text: str, source: str = "game") -> Following:
        """Returns the game that `text` tells; raises ValueError that names `source` and the line of whatever cannot be.

        Every action and every act of chance is then a line of its own.
        """
        if not text.strip():
            return Following(game)
        record = next(read_games(text, source))
        if record.game.name != game.name:
            raise UserError(f"{source}: expected a game of {game.name}, got one of {record.game.name}")
        following = Following(record.game, record.start)
        assert following._recorder is not None
        following._recorder.steps = list(record.steps)
        following._marks = [
            k for k, step in enumerate(record.steps) if step.action is not None or len(step.before.outcomes()) > 1
        ]
        return following
