"""Self-play with search targets: trains a value network on root values of shallow searches that use the same network.

Each iteration plays games with the newest network, some of them against an earlier best network. The positions go into a replay
buffer, and the network trains on samples of it. Every `--evaluate-every` iterations the newest network plays a match against the
best one. It becomes the best if a sequential test finds it better; in games of chance, unless the test finds it worse.

The target of a position is the lambda-return of the root values along the game and of its outcome. Sources: Veness et al.,
"Bootstrapping from game tree search" (NIPS 2009); Baxter et al., TDLeaf (2000). Games begin with a random number of random
actions, so that the positions vary. The network predicts the value for the player who acts.

With `--network` a torch module replaces the sparse network. The games of an iteration are then played side by side, and one call
of the module values all leaves of a round of decisions. A job has `--job-size` games, each with its own random stream.

In a single-player game with two outcomes the network predicts the probability of winning. It plays all `--variants` alone, and
the best network is the one that wins the largest share of the same games. Games of a guide teach only their outcomes there,
because its score is no probability. The first iterations may be in easier variants (`--easy-variants`). In a single-player game
with a score the network predicts the return to come.

docs/methods/selfplay.md lists what is logged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Floats32, Ints
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import labels_of
from leafwise.envs.core.ranges import Range, Share
from leafwise.models.files import load_network, model_path
from leafwise.models.network import Learned, network_of
from leafwise.models.players import player
from leafwise.models.seen import OBSERVATION, default_seen, features_of
from leafwise.models.sparse import BOUND, load_sparse
from leafwise.training.evaluation.matches import ReferencePlayers
from leafwise.training.execution.executor import Ref
from leafwise.training.execution.generations import Call, Generation, Generations, check_actors, key_of
from leafwise.training.games import GAMES, guide_of, logged_games
from leafwise.training.runs.files import config_file
from leafwise.training.runs.folder import Checkpoint, load_checkpoint, provenance
from leafwise.training.runs.gating import LOOK, SPARSE, IterationLearner, IterationOptions, Replay, need_sparse
from leafwise.training.runs.loop import find_variant, run_learner
from leafwise.training.runs.recipes import has_outcomes
from leafwise.training.runs.run_options import (
    BufferSize,
    Count,
    Depth,
    Every,
    Limit,
    Plies,
    Positions,
    TotalSteps,
    read_options,
)
from leafwise.training.selfplay.games import BatchRecorder, RecordedValues, SearchRecorder, record_piece, row_kernels
from leafwise.training.types import Json, Logged, Tensors

if TYPE_CHECKING:
    from leafwise.models.network import Module


@dataclass(frozen=True)
class Config(IterationOptions):
    """Options of `leafwise train GAME --method selfplay`."""

    sparse_only = ("hidden", "head", "rare", "replay_stages", "lambda_turns")
    total_steps: TotalSteps = 60
    """Length of the run, in iterations."""
    positions: BufferSize = 50_000
    """Number of positions recorded in an iteration (sparse network)."""
    games: Count = 1024
    """Number of games played in an iteration (torch module). With a torch module --job-size also counts games."""
    buffer_size: BufferSize = 400_000
    """Capacity of the replay buffer, in positions."""
    learning_starts: Positions = 0
    """Number of positions recorded before training starts. A network that already plays well (`--init-from`) gets worse if
    it is trained on few games."""
    batch_size: Count = 2048
    """Number of positions in a batch."""
    hidden: tuple[int, ...] = (32, 32)
    """Widths of the hidden layers, multiples of 4."""
    sees: str = ""
    """Input of the network: one of the game's sets of sparse features, or observation (default: features, if the game has
    them)."""
    head: str = "value"
    """Output of the network in two-player games: value (one number) or wdl (probabilities of win, draw and loss)."""
    depth: Depth = 1
    """Depth of the searches whose root values are the targets."""
    nodes: Limit = 0
    """Maximum number of decisions that a search visits (0: no limit). It is useful in games with turns of many actions."""
    rare: Share = 0.0
    """Outcomes of chance whose probability is smaller than this get the leaf's value; 0: none."""
    candidates: str = ""
    """Set of actions that searches consider: one of the game's sets of candidates (default: all legal actions)."""
    guide: str = ""
    """Player of the first iterations: a search with a hand-made score, or with a model named as in --init-from. Default:
    the network itself."""
    guide_iterations: Count = 1
    """Number of iterations that the guide plays."""
    guide_depth: Annotated[int, Range(0, 8)] = 0
    """Depth of the guide's searches (0: --depth)."""
    guide_candidates: str = ""
    """Set of actions that the guide's searches consider (default: --candidates)."""
    variants: tuple[str, ...] = ()
    """Variants to train on in single-player games, for example level=1 level=4 (default: --variant only). A variant that is
    named twice gets twice the positions."""
    easy_variants: tuple[str, ...] = ()
    """Easier variants of a single-player game that the first iterations play instead (curriculum)."""
    curriculum_iterations: Annotated[int, Range(0, 1e6)] = 2
    """Number of iterations in the easier variants. During the same number of further iterations, --variants replace them one by
    one."""
    partial_credit: Share = 0.0
    """Credit for a lost single-player game at the start of training, as a share of the progress made. It helps if wins are
    rare."""
    partial_credit_iterations: Count = 20
    """Number of iterations over which the partial credit falls to 0."""
    init_from: str = ""
    """Model with the initial weights: name of a shipped model, run folder or file (default: random weights). The layers of
    this model may be narrower. With --head wdl, its head may be value."""
    replay_from: str = ""
    """Run folder of the same method and variant. Its positions fill the replay buffer until newer ones replace them."""
    td_lambda: Share = 0.7
    """Lambda of the targets: 0 uses only the root value of the position, 1 only the outcome of the game."""
    lambda_turns: bool = False
    """Lambda counts turns instead of actions. A turn is all that a player decides without chance in between."""
    replay_stages: tuple[str, ...] = ()
    """Stages whose positions are used for training: decision, or stages at which the search asks the network (default: all of
    these)."""
    exploration: Share = 0.1
    """Share of random actions."""
    plies: Plies = 12
    """Maximum number of random actions at the start of a game."""
    max_opening_value: Share = 1.0
    """Maximum absolute root value of an opening, as a share of the maximum outcome. Other openings are drawn again, up to
    100 times; 1: no limit."""
    exact_nodes: Limit = 0
    """Approximate maximum number of nodes that the game's alpha-beta solver visits for a position. If it solves the
    position, the exact value is the target. 0: no solver."""
    surprise_repeats: Annotated[int, Range(1, 100)] = 1
    """Number of copies of a surprising position in the replay buffer. In such a position the newest network's value differs from
    the target by more than half of the maximum outcome."""
    pool_share: Share = 0.2
    """Share of games in which an earlier best network plays one seat."""
    pool_size: Annotated[int, Range(1, 100)] = 8
    """Number of earlier best networks that are kept as opponents."""
    match_pairs: Annotated[int, Range(100, 1e6)] = 2000
    """Maximum number of pairs of games in a match against the best network."""
    evaluate_every: Every = 1
    """Number of iterations between two matches against the best network. The last iteration always ends with a match."""
    match_share: Share = 0.1
    """Maximum number of match games, as a share of the training games (torch module). A match waits until enough training
    games are played."""
    match_depth: Depth = 1
    """Depth of the searches in matches, also against the reference players."""
    match_from_start: Share = 0.0
    """Share of the pairs of match games that start without random actions; for two-player games of chance."""
    reference_players: tuple[str, ...] = ()
    """Players that every evaluated network meets, by name. The first has Elo 0."""
    reference_pairs: Annotated[int, Range(1, 10_000)] = 25
    """Number of pairs of games against each reference player."""


SURPRISE = 0.5
"""A position is surprising if its target differs from the network's value by more than this share of the maximum outcome."""


class SelfPlay(IterationLearner):
    """One run: networks, replay buffer, files."""

    method, unit = "selfplay", "iterations"
    newest: Any
    leaf_targets = False
    """Whether targets are the network's own values instead of root values of searches."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.sparse = config.network == SPARSE
        check_actors(config.job_size, config.staleness, config.processes, config.cluster)
        need_sparse(config)
        self.solo = self.game.players == 1
        self.scored = not has_outcomes(self.game)
        if not self.solo and (config.variants or config.easy_variants):
            raise UserError(f"expected --variants and --easy-variants for a single-player game, got {self.game.name!r}")
        if config.head not in ("value", "wdl") or (self.solo and config.head == "wdl"):
            raise UserError(f"expected --head value, or wdl in a two-player game, got {config.head!r}")
        if config.match_from_start and (self.solo or not self.game.max_stages):
            raise UserError(f"expected --match-from-start in a two-player game with chance, got {self.game.name!r}")
        self.main_variants, self.easier_variants = (
            {text: find_variant(config.game, text) for text in texts}
            for texts in (config.variants or (config.variant,), config.easy_variants)
        )
        self.variants = [*self.main_variants.values(), *self.easier_variants.values()]
        self.main_indices = [list(self.main_variants).index(text) for text in config.variants] or [0]
        if config.exact_nodes:
            labels_of(self.game)  # raises ValueError for a game without a solver
        self.module = self.fresh()
        guide_model = "" if config.guide in self.game.scores else config.guide
        self.start = provenance(source) if (source := config.init_from or guide_model) else {}
        self.guide = guide_of(self.game, config.guide)
        self.newest = self.module.export()
        self.references: ReferencePlayers | None = None
        for name in config.reference_players:
            player(name, self.game)  # raises ValueError for an unknown player
        self.recorder = self.new_recorder(config.positions)
        self.recorder.tables(self.newest, self.game)  # raises ValueError for unknown candidates
        self.open_folder()
        self.games = 0
        size = config.buffer_size
        arrays = {"rows": self.game.rows(size), "targets": np.zeros(size), "places": np.zeros(size, np.int64)}
        self.replay = Replay(size, arrays)
        if config.replay_from and not (config.resume and self.folder.state.exists()):
            rows, targets = replay_of(config.replay_from, config, self.game)
            self.keep(0, rows[-size:], targets[-size:], repeats=1)
        if self.uses_jobs:
            actor = self.new_recorder(config.job_size)
            self.start_executor(actor)
            self.actor = self.executor.share(actor)
        self.generations = Generations(self.channel(), self.pieces, config.staleness)
        if config.reference_players:
            self.references = ReferencePlayers(
                self.game, config.reference_players, config.reference_pairs, self.channel()
            )
        # Names for tags: level=1,start_life=22 becomes level1_start_life22
        variants = {text.replace("=", "").replace(",", "_"): game for text, game in self.main_variants.items()}
        self.begin(
            pool=config.pool_size, plies=config.plies, from_start=config.match_from_start, depth=config.match_depth,
            nodes=config.nodes, rare=config.rare, candidates=config.candidates or None, variants=variants,
        )  # fmt: skip

    @property
    def uses_jobs(self) -> bool:
        """Whether games are played as jobs."""
        return bool(self.config.job_size) or not self.sparse

    def new_recorder(self, positions: int) -> Any:
        """Returns the recorder of games; `positions` is its size for a sparse network."""
        if not self.sparse:
            return BatchRecorder(self.variants, self.config, leaf_targets=self.leaf_targets)
        return SearchRecorder(
            self.variants, self.newest, self.config, leaf_targets=self.leaf_targets, positions=positions
        )

    def fresh(self) -> Module:
        """Returns the initial module."""
        from leafwise.training.networks import fresh_module, torch_module, typical_return, widened

        if not self.sparse and not self.config.init_from:
            return torch_module(self.game, self.config)
        if not self.sparse:
            network = load_network(model_path(self.config.init_from), self.game, ("torch",))
            if (network.name, dict(network.arguments)) != network_of(self.config.network):
                raise UserError(
                    f"expected --network as in --init-from, {network.name!r} with {network.arguments}, got {self.config.network!r}"
                )
            return network.kind.torch_module(network.at(self.config.device))

        head, seed = "chance" if self.solo and not self.scored else self.config.head, self.config.seed
        if not self.config.init_from:
            sees = self.config.sees or default_seen(self.game, actions=False)
            scale = typical_return(self.game, seed) if self.scored else None
            return fresh_module(self.game, self.config.hidden, seed, head=head, sees=sees, scale=scale)
        network = load_sparse(model_path(self.config.init_from), self.game)
        return widened(network, self.config.hidden, seed, head=head)

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint."""
        super().restore(tensors, metadata)
        if self.sparse:
            self.recorder.table.R[:] = tensors["stream"]
        else:
            self.games, self.gate.games = metadata["games"], metadata["match_games"]

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint: arrays and metadata."""
        tensors, metadata = super().state()
        if self.sparse:
            return tensors | {"stream": self.recorder.table.R}, metadata
        return tensors, metadata | {"games": self.games, "match_games": self.gate.games}

    def variant_indices(self, number: int) -> list[int]:
        """Returns the indices in `variants` that an iteration plays."""
        main, rounds = len(self.main_variants), self.config.curriculum_iterations
        easy = [main + k for k in range(len(self.easier_variants))]
        later = max(0, number - rounds)
        if number < rounds:
            return easy or self.main_indices
        if later < rounds:
            return [*self.main_indices, *easy[(len(easy) * later) // rounds :]]
        return self.main_indices

    def credit(self, number: int) -> float:
        """Returns the partial credit of lost games in an iteration, as a share of their progress."""
        return float(self.config.partial_credit * max(0.0, 1 - number / max(self.config.partial_credit_iterations, 1)))

    def play(self) -> Logged:
        """Plays the games of an iteration into the replay buffer, here or as jobs; returns the logged values."""
        start, total, counts = time.perf_counter(), 0, np.zeros(3, np.int64)
        games, metrics = self.play_by_jobs() if self.uses_jobs else (self.play_here(), {})
        for variant, recorded in games:
            self.keep(variant, recorded.rows, recorded.targets, repeats=self.config.surprise_repeats)
            total, counts = total + len(recorded.rows), counts + recorded.counts
        self.fresh_positions, self.games = total, self.games + int(counts[GAMES])
        return logged_games(counts, total, time.perf_counter() - start) | metrics

    def play_here(self) -> Iterator[tuple[int, RecordedValues]]:
        """Plays games of the newest network here, from one random stream; yields variants and games."""
        earlier: Learned = self.newest
        guided, variants = self.guided(self.done), self.variant_indices(self.done)
        if not guided and not self.solo:
            earlier = self.gate.pool[int(uniform(self.recorder.table.R) * len(self.gate.pool))]
        count, credit = -(-self.config.positions // len(variants)), self.credit(self.done)
        for variant in variants:
            game = self.variants[variant]
            yield variant, self.recorder.piece(game, count, self.newest, earlier, guided=guided, credit=credit)

    def play_by_jobs(self) -> tuple[Iterable[tuple[int, RecordedValues]], Logged]:
        """Returns the variants and games of an iteration that jobs played, and the logged values of the jobs."""
        self.generations.fill(self.done, self.goal, self.networks)
        generation, results = self.generations.take()
        variants = [variant for variant, _ in self.pieces_of(generation.number)]
        return zip(variants, results, strict=True), self.job_metrics(generation)

    def guided(self, number: int) -> bool:
        """Whether the guide plays an iteration."""
        return bool(self.guide) and number < self.config.guide_iterations

    def keep(self, variant: int, rows: Array, targets: Floats, *, repeats: int) -> None:
        """Adds positions of a variant to the replay buffer, surprising ones `repeats` times."""
        if repeats > 1:
            values = self.newest.batch(rows, self.recorder.tables(self.newest, self.variants[variant]))
            times = np.where(np.abs(values - targets) > SURPRISE * self.newest.unit, repeats, 1)
            rows, targets = rows.repeat(times, axis=0), targets.repeat(times)
        self.replay.put(rows=rows, targets=targets, places=np.full(len(rows), variant))

    def networks(self) -> dict[str, Learned]:
        """Returns the networks of a new generation: the newest, and one from the pool."""
        pool = self.gate.pool
        rng = np.random.default_rng((self.config.seed, 1, self.done, len(self.generations.in_flight)))
        return {"newest": self.newest, "earlier": pool[int(rng.integers(len(pool)))]}

    def pieces_of(self, number: int) -> list[tuple[int, int]]:
        """Returns the variant and the size of each job of an iteration: positions, or games of a torch module."""
        variants, piece = self.variant_indices(number), self.config.job_size or self.config.games
        each = -(-(self.config.positions if self.sparse else self.config.games) // len(variants))
        return [(variant, min(piece, each - begin)) for variant in variants for begin in range(0, each, piece)]

    def pieces(self, generation: Generation, networks: Ref[Any]) -> list[Call]:
        """Returns the jobs that play a generation."""
        number = generation.number
        guided, credit = self.guided(number), self.credit(number)
        return [
            partial(
                record_piece, self.actor, networks, variant, count, key_of(self.config.seed, number, k), guided, credit
            )
            for k, (variant, count) in enumerate(self.pieces_of(number))
        ]

    def network_inputs(self, rows: Array, variants: Ints) -> tuple[Array, Floats32]:
        """Returns network inputs and signs for rows; `variants` [n] are indices of their variants."""
        inputs, signs = np.zeros(0), np.ones(len(rows), np.float32)
        for variant in np.unique(variants):
            mask, T = variants == variant, self.recorder.tables(self.newest, self.variants[variant])
            variant_inputs, _, signs[mask] = self.newest.describe(rows[mask], T)
            if not inputs.size:
                inputs = np.zeros((len(rows), *variant_inputs.shape[1:]), variant_inputs.dtype)
            inputs[mask] = variant_inputs
        return inputs, signs

    @property
    def new_positions(self) -> int:
        """Number of new positions in an iteration."""
        return int(self.config.positions if self.sparse else self.fresh_positions)

    def advance(self) -> tuple[Logged, int | None]:
        """Plays and trains; matches of a torch module wait until enough training games are played."""
        logged, number = super().advance()
        if number is None or self.sparse:
            return logged, number
        left = self.config.match_share * self.games - self.gate.games
        if self.solo:
            return logged, number if left >= self.config.match_pairs * len(
                self.main_variants
            ) or self.done == self.goal else None
        self.gate.allowed = int(left) // (4 * LOOK) * LOOK  # the score of a new best network needs as many games again
        if self.done == self.goal:
            self.gate.allowed = max(self.gate.allowed, LOOK)
        return logged, number if self.gate.allowed else None

    def sampler(self, rng: np.random.Generator) -> tuple[Callable[[], Any], Callable[..., Any] | None]:
        """Returns a function that samples a batch from the replay buffer, and the loss (None: that of the network's head)."""
        n, T = self.config.batch_size, self.recorder.tables(self.newest, self.game)
        no_actions, symmetric = np.zeros(n, np.int64), self.game.symmetry_count > 1
        scale = 1.0 if self.solo and not self.scored else self.newest.unit
        if self.sparse and not self.solo:
            scale *= BOUND
        if self.sparse:
            symmetric = self.newest.sees != OBSERVATION and not features_of(self.game, self.newest.sees).invariant
        transform_rows = row_kernels(self.game.with_defaults).transform_rows
        pairs = np.zeros((2 * n, self.game.width), dtype=self.game.dtype)

        def sample() -> tuple[Array, Floats32]:
            """Returns inputs and targets of random positions, under random symmetries unless the features are invariant."""
            chosen = rng.integers(0, self.replay.filled, n)
            rows = self.replay["rows"][chosen]
            if symmetric:
                pairs[:n] = rows
                transform_rows(pairs, rng.integers(0, self.game.symmetry_count, n), no_actions, T)
                rows = pairs[n:]
            features, signs = self.network_inputs(rows, self.replay["places"][chosen])
            return features, (self.replay["targets"][chosen] * signs / scale).astype(np.float32)

        if not self.scored:
            return sample, None
        from leafwise.training.networks import returns_to_come

        return sample, returns_to_come

    def extra_metrics(self) -> Logged:
        """Returns the newest network's rating among the reference players, at --match-depth."""
        if self.references is None:
            return {}
        options: Json = {"rare": self.config.rare, "candidates": self.config.candidates or None}
        return self.references.rating_of(self.newest, self.config.match_depth, options, self.done)


def replay_of(run: str, config: Any, game: Game) -> tuple[Array, Floats]:
    """Returns rows [n, width] and targets [n] of a run's replay buffer, the oldest first.

    Raises ValueError for a folder without a run's state, or with that of another game, variant or method.
    """
    path = Path(run)
    file, checkpoint = config_file(path), load_checkpoint(path)
    if file is None or checkpoint is None:
        raise UserError(f"expected a run with a state as --replay-from, got {run!r}")
    options, expected = read_options(file, type(config)), (config.game, config.variant)
    recorded = checkpoint[1].get("recorded")
    if (
        (options["game"], options["variant"]) != expected
        or not {"rows", "targets"} <= set(checkpoint[0])
        or type(recorded) is not int
    ):
        raise UserError(f"expected --replay-from of {' '.join(expected)} by this method, got {run!r}")
    rows, targets = checkpoint[0]["rows"], checkpoint[0]["targets"]
    if rows.dtype != game.dtype or rows.shape[1:] != (game.width,) or len(rows) != len(targets):
        raise UserError(f"expected rows of {game.width} words in the replay of {run!r}, got {list(rows.shape)}")
    oldest = recorded % max(len(rows), 1)
    return np.roll(rows, -oldest, axis=0), np.roll(targets, -oldest)


def train(config: Config) -> Path:
    """Trains a network by self-play and returns its run folder; raises ValueError for options that do not fit."""
    return run_learner(SelfPlay(config))
