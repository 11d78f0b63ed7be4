"""Helps people to follow a game that is played elsewhere, on a phone or at a table, and advises them.

A room brings a `Companion`; `Following` is one followed game. The shell and the web page use nothing else:

    following = Following(game)                 # or Following(game, start), or Following.load(game, text)
    following.state                             # the position; None until the beginning is typed
    following.question                          # what may be typed next: a prompt, and choices with their probabilities
    following.enter("P3, P7")                   # carries out a line and returns it in words, or raises ValueError
    following.undo()                            # takes the last line back
    following.advise(values, written)           # at a decision: the value of every option, and helpful notes
    following.text                              # a game file; `load` goes on from it, and `leafwise analyze --game` reads it

At a decision a line says what the person did; an empty line means the recommended action. Where chance acts the line says what
happened. A choice is typed by its name, its number, or the first letters of its words; several choices may follow one another
in one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from leafwise.envs.core.contract.game import Game, check_is_game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError, asked_of_plugin
from leafwise.envs.core.play.by_name import Choice, chosen, outcome_names, stepped
from leafwise.envs.core.play.gamefile import GameRecord, GameRecorder, read_games

Values = Callable[[State], Mapping[int, float]]
"""(a decision) -> the value of every considered action, by id, for the player who acts: `Search(...)(state).values`."""
Written = Callable[[float], str]
"""(such a value) -> its meaning for people: `units.written`, "61.0 %"."""


@dataclass(frozen=True)
class Question:
    """What may be typed next."""

    asks: str
    """What is asked for: "the card drawn"."""
    choices: tuple[Choice, ...] = ()
    """All answers, if they can be listed: actions in the game's order, outcomes with the likeliest first."""
    form: str = ""
    """How else an answer is typed, by an example."""


@dataclass(frozen=True)
class Option:
    """An action and its value."""

    name: str
    """The action's name, which `enter` accepts."""
    words: str
    """The action in words: "lose 2 life and remove distracted, stupid"."""
    value: float
    """Its value in the search's unit."""
    told: str
    """Its value as text for people: "61.0 %"."""


@dataclass(frozen=True)
class Advice:
    """The advice at a decision."""

    options: tuple[Option, ...]
    """Every considered action, the best first; equal ones in the game's order."""
    notes: tuple[str, ...]
    """Lines about the position: the odds of the next card, what ending the fight now would cost."""

    @property
    def best(self) -> str:
        """The name of the recommended action."""
        return self.options[0].name


def companion_of(game: Game) -> Companion:
    """Returns a game's companion; raises ValueError if it has none."""
    if game.companion is None:
        raise UserError(f"expected a game that can be followed, got {game.name!r}")
    return game.companion


def choices_of(state: State) -> tuple[Choice, ...]:
    """Returns everything that can happen in a position: actions in their order, or outcomes, the likeliest first."""
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
    """Returns the names of the next outcomes of chance, as long as there is only one possibility."""
    names = []
    while state.is_chance and len(outcomes := state.outcomes()) == 1:
        names += outcome_names(state, [outcomes[0][1]])
        state = outcomes[0][1]
    return names


def read_choices(state: State, text: str, best: str) -> list[str]:
    """Returns the names of the actions and outcomes in a line, in order; an empty line means the `best` action.

    Between commas, as many words as fit belong to one choice. Raises ValueError, naming what could have been typed.
    """
    if not text.strip():
        if not best or state.is_chance:
            raise UserError(f"expected {companion_of(state.game).asks(state)}, got nothing")
        text = best
    names: list[str] = []
    for part in text.split(","):
        words = part.split()
        while words:
            choices, count = choices_of(state), len(words)
            choice = chosen(choices, words)
            while choice is None and count > 1:
                count -= 1
                choice = chosen(choices, words[:count])
            if choice is None:
                expected = "no more, the game is over" if state.is_terminal else f"one of {some_choices(choices)}"
                raise UserError(f"expected {expected}, got {' '.join(words)!r}")
            new = [choice.name, *only_outcomes(stepped(state, choice.name))]
            for name in new:
                state = stepped(state, name)
            names += new
            del words[:count]
    return names


def some_choices(choices: tuple[Choice, ...], most: int = 12) -> str:
    """Returns choices as text, only the first of them if there are many."""
    shown = [choice.told for choice in choices[:most]]
    return ", ".join(shown) + (f", ... ({len(choices)} in all)" if len(choices) > most else "")


@dataclass(frozen=True)
class Companion:
    """What a game defines so that people can follow it."""

    help: str
    """Lines that explain what to type."""
    begins: Question
    """What is asked for first, before there is a position."""
    begin: Callable[[Game, str], tuple[State, str]]
    """(game, the answer) -> the first position, perhaps of another variant, and a message about it, perhaps "".

    Raises ValueError for a wrong answer.
    """
    check: Callable[[State], None]
    """Raises ValueError for a position that cannot be followed."""
    asks: Callable[[State], str]
    """(position) -> what is asked for in it."""
    ending: Callable[[State], str]
    """(finished game) -> a message about its end."""
    form: str = ""
    """How a whole line at a decision is typed, by an example, if that differs from the choices."""
    read: Callable[[State, str, str], list[str]] = read_choices
    """(position, line, recommended action or "") -> the names of the actions and outcomes in the line; raises ValueError."""
    option: Callable[[State, int, Values], str] = lambda state, action, values: state.action_words(action)
    """(decision, action, values) -> what the action leads to, in words."""
    number: Callable[[State, str, int], int] = lambda state, name, place: place
    """(position, name, place in the list from 1 on) -> the number that is typed for a choice."""
    notes: Callable[[State], tuple[str, ...]] = lambda state: ()
    """(decision) -> further helpful lines."""


class Following:
    """Follows a game that people play elsewhere, line by line. A line that is refused changes nothing."""

    def __init__(self, game: Game, start: State | None = None) -> None:
        """Begins with the game's first question, or with a position; raises ValueError for one that cannot be followed."""
        check_is_game(game, "following")
        self.companion = companion_of(game)
        self.game = game
        """The game, in the variant that is followed."""
        self._recorder: GameRecorder | None = None
        self._marks: list[int] = []
        """The number of steps before each line."""
        self._start_typed = start is None
        if start is not None:
            self._begin(start)

    def _begin(self, start: State) -> None:
        asked_of_plugin(lambda: self.companion.check(start))
        self.game, self._recorder = start.game, GameRecorder(start)

    @property
    def state(self) -> State | None:
        """The position; None until the beginning is typed."""
        return None if self._recorder is None else self._recorder.state

    @property
    def question(self) -> Question:
        """What may be typed next; at the end of the game only a message."""
        state = self.state
        if state is None:
            return self.companion.begins
        if state.is_terminal:
            return Question(self.companion.ending(state))
        form = "" if state.is_chance else self.companion.form
        return Question(self.companion.asks(state), choices_of(state), form)

    def enter(self, line: str, best: str = "") -> str:
        """Carries out a line and returns it in words; `best` names the recommended action, if any.

        Raises ValueError, and changes nothing, for a line that is impossible.
        """
        if not isinstance(line, str):
            raise UserError(f"{self.game.name}: expected text, got {type(line).__name__}")
        if self._recorder is None:
            start, message = asked_of_plugin(lambda: self.companion.begin(self.game, line.strip()))
            self._begin(start)
            self._marks.clear()
            return message
        state, count = self._recorder.state, len(self._recorder.steps)
        if state.is_terminal:
            raise UserError(f"expected no more input ({self.companion.ending(state)}), got {line!r}")
        names = asked_of_plugin(lambda: self.companion.read(state, line, best))
        words = []
        try:
            for name in names:
                words.append(self._step(name))
            words += [self._step(name) for name in only_outcomes(self._recorder.state)]
        except UserError:
            del self._recorder.steps[count:]
            raise
        self._marks.append(count)
        return ", ".join(words)

    def _step(self, name: str) -> str:
        """Plays one action or outcome and returns it in words, with its probability if chance acted."""
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
        """Returns the advice at a decision; `values` may also be called for later decisions.

        Raises ValueError where nobody decides.
        """
        state = self.state
        if state is None or state.is_chance or state.is_terminal:
            raise UserError(f"expected a decision, got {self.question.asks!r}")
        value_by_action = values(state)
        options = [
            Option(
                state.game.actions[a],
                self.companion.option(state, a, values),
                value_by_action[a],
                written(value_by_action[a]),
            )
            for a in sorted(value_by_action, key=lambda a: (-value_by_action[a], a))
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
        """Returns the game in `text`; raises ValueError, naming `source` and the line, for anything impossible.

        Every action and every outcome then counts as a line of its own.
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
