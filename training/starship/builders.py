"""Builders of ships by name, their ships on the hull and requests of a seed, and training ships.

Training ships are built by hand with exploration, or by looking ahead with a network. Each state is labelled with the result.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats, Floats32
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.observation import new_observations
from leafwise.envs.core.play.players import play_out
from leafwise.envs.starship import changes
from leafwise.envs.starship.changes import Proposer, weights_of
from leafwise.envs.starship.draw import gallery
from leafwise.envs.starship.heuristic_builder import HandBuilder, finish_by_hand, hand_choice, hand_made_ships
from leafwise.envs.starship.lookahead import WIDTH, draw_on, list_places
from leafwise.envs.starship.plans import Plans
from leafwise.envs.starship.quality import TERMS, potential
from leafwise.envs.starship.rules import OVER, take_place
from leafwise.envs.starship.ship import measured, parts_of_row, ship_at
from leafwise.envs.starship.statistics import core_layout
from leafwise.envs.starship.tables import TURN, Rows
from leafwise.models.files import load_tensors, model_path
from leafwise.models.leaves import named_leaf
from leafwise.models.network import Tensors
from leafwise.models.players import player
from leafwise.search.frontier import bound_values
from leafwise.search.players import Player, RandomPlayer
from leafwise.training.evaluation.statistics import logged_bounds, mean_interval
from leafwise.training.runs.folder import need_train_extra

PICTURED = 8
"""Number of ships in the picture of an evaluation."""


def play(game: Game, who: Player, seed: int) -> State:
    """Returns the ship that a player builds on the hull and requests of a seed."""
    stream = new_stream(seed)
    return play_out(game.start(), who.choose, lambda state: state.settle(stream))


class LabelledStates(NamedTuple):
    """States after a placement, of one or more ships, and the target quality of each."""

    rows: Rows
    """[n, words], none of them finished."""
    quality: Floats32
    """[n]: quality of the finished ship, or of the best completion."""
    last: Rows
    """[1, words]: the finished ship, the last one if there are several."""


def concatenated(parts: Iterable[LabelledStates]) -> LabelledStates:
    """Concatenates labelled states."""
    rows, quality, last = zip(*parts, strict=True)
    return LabelledStates(np.concatenate(rows), np.concatenate(quality), last[-1])


class ShipSampler:
    """Builds ships one after another, with hulls and requests from its own random stream. For one thread."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.stream = game, new_stream(seed)
        self.rng = np.random.default_rng(seed)
        self._chances = new_stream(int(self.rng.integers(1 << 62)))
        self._T = game.tables().ship
        self._S, self._rest = game.rows(1), game.rows(1)
        self._A, self._scores = np.zeros(game.max_actions, np.int64), np.zeros(game.max_actions)

    def by_hand(self, epsilon: float, finishes: int = 0) -> LabelledStates:
        """Builds a ship with the generator's placements, each replaced by a random legal one with probability `epsilon`.

        With `finishes` a state's target is the best of that many hand-made completions.
        """
        S, A, T, states, targets = self._S, self._A, self._T, [], []
        S[0] = self.game.start().row
        draw_on(S, FIRST, self.stream, T)
        while S[0, TURN] != OVER:
            if self.rng.random() < epsilon:
                place = A[self.rng.integers(list_places(S, FIRST, A, self._scores, T))]
            else:
                T.place[:] = self.rng.integers(1 << 62), 0
                place = hand_choice(S, FIRST, T)
            take_place(S, FIRST, T, place)
            states.append(S[0].copy())
            targets.append(self._best_completion(S[0], finishes))
            draw_on(S, FIRST, self.stream, T)
        quality_so_far = potential(S, FIRST, T)
        return self._built(np.array(states), [max(target, quality_so_far) for target in targets], S[0])

    def by_lookahead(
        self, plans: Plans, epsilon: float = 0.0, trace: float = 1.0, core_heat: float = 0.0
    ) -> LabelledStates:
        """Builds a ship with the placements of highest value, each replaced by a random tried one with probability `epsilon`.

        A state's target is the lambda-return: the maximum value at the next decision, mixed with that decision's target with weight
        `trace`. Before a random place it is the value alone. With `trace` 1 and `epsilon` 0 it is the final quality.
        `core_heat` is the temperature at which cockpit and reactor are placed.
        """
        plans.start(self.stream)
        plans.by_value(self._chances, core_heat=core_heat, strays=epsilon)
        self.stream[:] = plans.stream
        states, values, random_moves = plans.story()
        targets = [plans.quality]
        for value, is_random in zip(values[:0:-1], random_moves[:0:-1], strict=True):
            weight = 0.0 if is_random else trace
            targets.append((1 - weight) * float(value) + weight * targets[-1])
        return self._built(states, targets[::-1], plans.row)

    def _best_completion(self, row: Rows, finishes: int) -> float:
        """Returns the best quality of `finishes` ships that the hand-made builder completes from a row, on the same requests."""
        best = 0.0
        for _ in range(finishes):
            self._rest[0] = row
            ties = np.uint64(self.rng.integers(1 << 62))
            best = max(best, finish_by_hand(self._rest, FIRST, self.stream.copy(), ties, self._T))
        return best

    def _built(self, states: Rows, targets: list[float], last: Rows) -> LabelledStates:
        known = states[:, TURN] != OVER
        return LabelledStates(states[known], np.array(targets, np.float32)[known], last[None].copy())


def hand_made_bar(game: Game, seeds: Iterable[int]) -> Floats:
    """Returns the quality of the hand-made ship of each seed."""
    return np.array([hand_made_ships(game, seed, 1)[0][0] for seed in seeds])


def logged_values(game: Game, rows: Rows, seeds: Sequence[int], bar: Floats, over: str = "eval/gain") -> dict[str, Any]:
    """Returns the logged values of the finished ships [n, words] of n seeds: quality, terms, a picture, gain over `bar` [n]."""
    T = game.tables().ship
    quality, terms = np.zeros(len(rows)), np.zeros((len(rows), len(TERMS)))
    for k in range(len(rows)):
        quality[k], terms[k] = potential(rows, np.uint64(k), T), T.terms
    valid = quality > 0
    logged: dict[str, Any] = {"eval/score_mean": float(quality.mean()), **logged_bounds(mean_interval(quality))}
    logged |= {
        over: float((quality - bar).mean()),
        "eval/valid": float(valid.mean()),
    }
    if valid.any():
        logged |= {f"eval/{name}": float(x) for name, x in zip(TERMS, terms[valid].mean(axis=0), strict=True)}
    pictured = [ship_at(row, game.tables(), seed) for row, seed in zip(rows[:PICTURED], seeds, strict=False)]
    logged["ships"] = np.asarray(gallery(pictured, 4, 0.4))
    return logged


def combined_presets(games: Sequence[Game], by_preset: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Combines the logged values of several presets: the first unchanged, the others by name, and the mean of all."""
    combined = dict(by_preset[0])
    for game, values in zip(games[1:], by_preset[1:], strict=True):
        preset = game.options.preset
        combined |= {
            f"eval_{preset}/{tag.partition('/')[2]}": x for tag, x in values.items() if tag.startswith("eval/")
        }
    return combined | {"eval/mean_of_presets": float(np.mean([values["eval/score_mean"] for values in by_preset]))}


LEARNED = "propose:450:hand"
POLICY = "placing"
"""Kind of the files of policies that masked PPO learned."""
ROUNDS = 8
"""Maximum number of times that an invalid ship is built again by hand and changed."""

Build = Callable[[int], State]
"""seed -> the finished ship."""


def builder(text: str, game: Game) -> Build:
    """Returns the builder that a text names; raises ValueError for an unknown one.

    `hand`, `random`, `policy:RUN` (what `--method ppo` learned), or any player of `leafwise eval`, such as `build:hopeful,depth=1`.
    As a builder a search of depth 1 or 2 is compiled as a whole, and takes `heat=0.01` too. Then the cockpit's rotation is random,
    and cockpit and reactor are drawn among places of similar value, at this temperature in quality. The other builders know all
    requests in advance. `best:16` is the best of 16 hand-made ships. `refine:300:hand` and `refine:300:build:learned,depth=1` move
    300 parts of a ship, one at a time, and keep changes that are no worse. `propose:300:hand` tries the changes that the shipped
    network finds likeliest, `propose:300:hand,by=RUN` those of a run of `--method ship-changes`. `learned` is `propose:...:hand`
    with as many changes as take the time of `refine:500:hand`.
    """
    if text == "learned":
        text = LEARNED
    if best := re.fullmatch(r"best:([1-9][0-9]{0,5})", text):
        return lambda seed: hand_made_ships(game, seed, int(best[1]))[1]
    if refined := re.fullmatch(r"refine:([1-9][0-9]{0,6}):(.+)", text):
        return compiled_builder(game, refined[2], int(refined[1]))
    if proposed := re.fullmatch(r"propose:([1-9][0-9]{0,6}):(.+?)(?:,by=(.+))?", text):
        return compiled_builder(game, proposed[2], int(proposed[1]), proposer_of(game, proposed[3]))
    if LOOKAHEAD.fullmatch(text):
        return compiled_builder(game, text)
    if text in (makers := {"hand": HandBuilder, "random": RandomPlayer}):
        return lambda seed: play(game, makers[text](seed), seed)
    policy = re.fullmatch(r"policy:(.+)", text)
    who = policy_builder(game, policy[1]) if policy else player(text, game)
    return lambda seed: play(game, who, seed)


SHIPPED_CHANGES = Path(changes.__file__).with_suffix(".safetensors")
"""The shipped network that proposes changes."""


def proposer_of(game: Game, source: str | None) -> Proposer:
    """Returns the network of a run, or the shipped one, that proposes changes; raises ValueError for another file."""
    path = model_path(source) if source else SHIPPED_CHANGES
    return Proposer(game, weights_of(*load_tensors(path), path))


LOOKAHEAD = re.compile(
    r"""build:((?:'[^']*'|"[^"]*"|[^,'"=])+)((?:,(?:depth=[12]|width=[1-9][0-9]{0,2}|heat=[0-9.]+))*)"""
)
"""Builders that look one or two placements ahead: the leaf, and options."""


def compiled_builder(game: Game, text: str, tries: int = 0, proposer: Proposer | None = None) -> CompiledBuilder:
    """Returns the builder that `hand` or `build:LEAF` names, with depth 1 or 2, width and heat.

    Raises ValueError for another text.
    """
    if text == "hand":
        return CompiledBuilder(game, tries=tries, proposer=proposer)
    match = LOOKAHEAD.fullmatch(text)
    if not match:
        prefix = "refine" if proposer is None else "propose"
        raise UserError(f"expected hand or build:LEAF,depth=1,heat=0.01 after {prefix}:{tries}:, got {text!r}")
    given = dict(word.split("=") for word in match[2].split(",")[1:])
    width = int(given.get("width", WIDTH)) if given.get("depth", "2") == "2" else 0
    evaluator = named_leaf(game, match[1].strip("'\""))
    bound_values(game, evaluator)  # raises for a leaf whose values cannot be compared
    return CompiledBuilder(
        game, evaluator, width=width, heat=float(given.get("heat", 0)), tries=tries, proposer=proposer
    )


class CompiledBuilder:
    """Builds whole ships in compiled code, by hand or by looking ahead; optionally changes them afterwards."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | None = None,
        *,
        width: int = 0,
        heat: float = 0.0,
        tries: int = 0,
        proposer: Proposer | None = None,
    ) -> None:
        """With an evaluator each place maximizes its value, or with a `width` its value after the next place (`plans`).

        `heat` is the temperature of the core, whose rotation is drawn. `tries` changes of single places follow, proposed by
        `proposer` or at random.
        """
        self.game, self.by_hand, self.width, self.heat, self.tries = game, evaluator is None, width, heat, tries
        self.proposer = proposer
        self.plans = Plans(game, evaluator)

    def __call__(self, seed: int) -> State:
        plans, chances = self.plans, np.array([seed, 1 << 62], np.uint64)
        plans.start(new_stream(seed))
        if self.by_hand:
            plans.by_hand(chances)
        else:
            plans.by_value(chances, width=self.width, core_heat=self.heat)
        for _ in range(ROUNDS if self.tries else 0):
            if self.proposer is None:
                plans.improve(chances, self.tries)
            else:
                self.proposer(plans, chances, self.tries)
            if plans.quality > 0:
                break
            plans.start(new_stream(seed))
            plans.by_hand(chances)
        return State.unchecked(self.game, plans.row)


class PolicyBuilder:
    """Places each request where the policy's logit is highest."""

    name = "policy"

    def __init__(self, game: Game, tensors: Tensors, channels: int) -> None:
        import torch

        from leafwise.training.starship.ppo_network import make_policy

        self.game, self.policy = game, make_policy(game.observation_space(), channels)
        self.policy.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        self._T = game.tables()
        self._seen = new_observations(game, 1)

    def choose(self, state: State) -> int:
        """Returns the id of the chosen place."""
        import torch

        self.game.rules.observe(state.row[None].copy(), FIRST, self._seen, 0, self._T)
        with torch.no_grad():
            seen = self.policy["features_extractor"]({k: torch.from_numpy(x) for k, x in self._seen._asdict().items()})
            logits = self.policy["action_net"](seen)[0].numpy()
        legal = np.array(state.legal_actions)
        return int(legal[logits[legal].argmax()])


def policy_builder(game: Game, path: str) -> PolicyBuilder:
    """Returns the builder of a run folder or model file; raises ValueError for one that does not fit."""
    need_train_extra()
    tensors, metadata = load_tensors(model_path(path))
    if (
        metadata.get("kind") != POLICY
        or metadata.get("game") != game.name
        or metadata.get("options") != game.given_options
    ):
        raise UserError(f"model {path!r}: expected a policy for {game}, got one of kind {metadata.get('kind')!r}")
    return PolicyBuilder(game, tensors, metadata["channels"])


def record(build: Build, seed: int) -> dict[str, Any]:
    """Returns the figures of a builder's ship of a seed: quality, the six terms, validity, core layout, processor seconds."""
    started = time.process_time()
    state = build(seed)
    seconds = time.process_time() - started
    figures = measured(np.array([state.row]), state.game.tables().ship)
    terms = {name: figures[name] for name in TERMS}
    valid = bool(figures["quality"] > 0)
    core = core_layout([part for part, _ in parts_of_row(state.row, state.game.tables().ship.grid)])
    fields = {"seed": seed, "quality": round(state.returns, 6), "valid": valid, **terms}
    return fields | {"core": core and list(core), "seconds": round(seconds, 5)}


def records(game: Game, text: str, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Job: returns the records of the builder that a text names, for seeds."""
    build = _ready(game, text)
    return [record(build, seed) for seed in seeds]


@functools.lru_cache(maxsize=4)
def _ready(game: Game, text: str) -> Build:
    """Returns a builder that has loaded its machine code, which is excluded from a ship's time."""
    build = builder(text, game)
    build(0)
    return build
