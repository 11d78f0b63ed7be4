# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise",
#   "openenv==0.10.0",
# ]
# ///
"""A game as an environment for language models, in OpenEnv's form: positions, legal moves and answers are text.

The reward of a move is its difference from the best one by the exact solver, from 0 down to -1 (a win turned into a loss). An
answer without a legal move gets a message and a reward of -1; the third one in a row ends the game. The other side plays
perfectly.

python language_model.py                        plays a game with a random stand-in for a model
uvicorn language_model:app --port 8000          serves it to OpenEnv's clients
"""

from __future__ import annotations

import random
import re
from typing import Any
from uuid import uuid4

from openenv.core.env_server import Action, Environment, Observation, State, create_app

import leafwise

WRONG_ANSWERS = 3
"""Number in a row that ends a game."""
QUESTION = "You play {side} in {title}.\n\n{board}\n\nLegal moves: {moves}\nAnswer with one of them between <move> and </move>."


class Answer(Action):
    """A model's answer."""

    text: str
    """The move is between <move> and </move>; other text is ignored."""


class Prompt(Observation):
    """A question to the model."""

    text: str
    legal_moves: list[str]


class Position(State):
    """The state of the game."""

    position: str = ""


class GameEnvironment(Environment[Answer, Prompt, Position]):
    """A two-player game without chance and with an exact solver: `GameEnvironment("trilobite", board="4x4")`."""

    def __init__(self, game: str = "trilobite", **options: Any) -> None:
        super().__init__()
        self.game = leafwise.game(game, **options)
        self.other: Any = leafwise.player("solver", self.game)
        self.reset()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> Prompt:
        """Begins a game; the seed decides who begins."""
        seed = random.randrange(2**31) if seed is None else seed
        self.id, self.wrong, self.steps = episode_id or str(uuid4()), 0, 0
        self.now, self.seat = self.game.new(seed), seed % 2
        return self._prompt(self._play_other())

    def step(self, action: Answer, timeout_s: float | None = None, **more: Any) -> Prompt:
        """Plays the move of an answer and the other side's reply."""
        self.steps += 1
        moves = re.findall(r"<move>\s*(.+?)\s*</move>", action.text, re.DOTALL)
        if not moves or moves[-1] not in self.now.legal_names:
            self.wrong += 1
            problem = f"{moves[-1]!r} is no legal move." if moves else "There is no <move> in the answer."
            return self._prompt([problem], reward=-1.0, done=self.wrong == WRONG_ANSWERS)
        self.wrong, values = 0, self.other.solver.solve(self.now).action_values
        regret = (max(values.values()) - values[moves[-1]]) / 2
        self.now = self.now.play(moves[-1])
        return self._prompt(self._play_other(), reward=-regret)

    def _play_other(self) -> list[str]:
        """Plays the other side until it is the model's turn or the game is over; returns the moves in words."""
        lines = []
        while not self.now.is_terminal and self.now.current_player != self.seat:
            name = self.game.actions[self.other.choose(self.now)]
            lines.append(f"The other side played {name}.")
            self.now = self.now.play(name)
        return lines

    def _prompt(self, lines: list[str], reward: float = 0.0, done: bool = False) -> Prompt:
        """Returns the next question, or the result of the game."""
        over, moves = self.now.is_terminal, [] if done or self.now.is_terminal else list(self.now.legal_names)
        if over:
            result = self.now.returns * (-1 if self.seat else 1)
            lines = [*lines, self.now.board(), {1: "You won.", 0: "A draw.", -1: "You lost."}[int(result)]]
        elif not done:
            side = ("first", "second")[self.seat]
            question = {"side": side, "title": self.game.title, "board": self.now.board(), "moves": ", ".join(moves)}
            lines = [*lines, QUESTION.format(**question)]
        return Prompt(text="\n".join(lines), legal_moves=moves, reward=reward + 0.0, done=over or done)

    @property
    def state(self) -> Position:
        """The position as text, which `leafwise analyze` reads."""
        return Position(episode_id=self.id, step_count=self.steps, position=str(self.now))


app = create_app(GameEnvironment, Answer, Prompt, env_name="leafwise")

if __name__ == "__main__":
    environment, stand_in = GameEnvironment(), random.Random(1)
    prompt = environment.reset(seed=1)
    while not prompt.done:
        print(prompt.text)
        move = stand_in.choice([*prompt.legal_moves, "pass"])
        prompt = environment.step(Answer(text=f"I think that this is best: <move>{move}</move>"))
        print(f"-> {move}, reward {prompt.reward:.2f}\n")
    print(prompt.text)
