"""The measurements of one version when two are compared: each version's interpreter runs this text.

Therefore it uses only names of leafwise that every version has, perhaps in another module (`MOVED`), and Python 3.11. A line of
JSON on standard input asks for one measurement, `{"name": ..., "seconds": ...}`. A line on standard output answers with the
processor time of one unit, `{"time": ...}`, or with an error, `{"error": ...}`. `leafwise.benchmarks.comparing` lists the names.
"""

import importlib
import json
import random
import sys
import time
import warnings

warnings.simplefilter("ignore")

NINE_TUPLES = "0123 4567 0145 1256 569a 012456 45689a 012345 456789"
LEARNING_RATE, TRACE_DECAY, RESTART = 0.25, 0.5, 100
WARM_UP, MOVES_AT_ONCE = 500_000, 50_000
"""Training moves before the clock starts, and in one call: early games are short and use other weights."""
POSITIONS_AT_ONCE, PLIES, EVEN, EPSILON = 1_000, 12, 1.0, 0.1
"""Self-play: positions recorded in one call, maximum random actions of an opening, its maximum value (1: all openings), share of
random actions later."""
MOVED = {
    "td": ("leafwise.training.ntuple_td.kernels", "leafwise.training.kernels.td"),
    "selfplay": (
        "leafwise.training.selfplay.games",
        "leafwise.training.selfplay.kernels",
        "leafwise.training.kernels.selfplay",
    ),
    "player": (
        "leafwise.training.games.playing",
        "leafwise.training.games.kernels",
        "leafwise.training.games",
        "leafwise.training.kernels.selfplay",
    ),
    "record": (
        "leafwise.training.games.recording",
        "leafwise.training.games.kernels",
        "leafwise.training.games",
        "leafwise.training.kernels.selfplay",
    ),
    "solver": ("leafwise.envs.{room}.solver",),
}
"""Current and former places of modules, in the order in which they are tried."""


def module(name, room=""):
    """Imports a module that may have moved."""
    for path in MOVED[name]:
        try:
            return importlib.import_module(path.format(room=room))
        except ModuleNotFoundError:
            continue
    raise ImportError(f"no module among {', '.join(MOVED[name])}")


def random_network(game, hidden=(32, 32)):
    """Returns a network with a sparse first layer and random weights."""
    import numpy

    from leafwise.models.sparse import SparseNetwork

    rng = numpy.random.default_rng(1)
    network = SparseNetwork.create(game, hidden, head="value" if game.players == 2 else "chance")
    return network.with_tensors(
        {name: rng.normal(0.0, 0.1, t.shape).astype(numpy.float32) for name, t in network.tensors.items()}
    )


class Workloads:
    """The measurements of one game. Each method returns a function that does some units of work and returns their number.

    A method's argument is the rest of the measurement's name.
    """

    def __init__(self, name, options, ids, depths, texts):
        """Makes the game; the arguments are those of `main`."""
        import leafwise

        self.leafwise, self.name, self.ids, self.depths, self.texts = leafwise, name, ids, depths, texts
        self.game = leafwise.game(name, **options)

    def of(self, name):
        """Returns the work of a measurement."""
        kind, _, rest = name.partition(" ")
        makers = {
            "step": self.steps, "batch_64": self.batch_steps, "search": self.searches, "leaf": self.leaves,
            "solver": self.solver_answers, "td": self.learned_moves,
            "selfplay": self.recorded_positions,
        }  # fmt: skip
        return makers[kind](rest)

    def states(self):
        """Returns the given positions, or four starts."""
        return [self.game.parse(text) for text in self.texts] or [self.game.new(seed) for seed in range(4)]

    def leaf(self, name):
        """Returns a leaf: a random network, a model, or a score of the game."""
        if name == "sparse":
            return random_network(self.game).evaluator(name)
        if name.startswith("load:"):
            return self.leafwise.load(name.partition(":")[2])
        return self.game.score(name)

    def steps(self, rest):
        import gymnasium

        env = gymnasium.make(self.ids, disable_env_checker=True).unwrapped
        info = env.reset(seed=1)[1]

        def work():
            nonlocal info
            for _ in range(200):
                _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
                if terminated or truncated:
                    info = env.reset()[1]
            return 200

        return work

    def batch_steps(self, rest):
        import gymnasium

        env = gymnasium.make_vec(self.ids, num_envs=64)
        info = env.reset(seed=1)[1]

        def work():
            nonlocal info
            for _ in range(10):
                info = env.step(info["action_mask"].argmax(axis=1))[-1]
            return 640

        return work

    def searches(self, leaf):
        search = self.leafwise.Search(self.game, self.leaf(leaf), depth=self.depths[leaf])
        states = [self.game.new(seed) for seed in range(4)]

        def work():
            for state in states:
                search(state)
            return len(states)

        return work

    def leaves(self, rest):
        leaf, _, depth = rest.partition(" depth=")
        search = self.leafwise.Search(self.game, self.leaf(leaf), depth=int(depth), nodes=0)
        states = self.states()
        return lambda: sum(search(state).leaves for state in states)

    def solver_answers(self, how):
        import numpy

        # Positions near the end of the game, 30 to 39 actions from its start
        there = module("solver", self.name)
        # A version names the class `Solver` or after its game, as `TrilobiteSolver`
        found = [value for name, value in vars(there).items() if name.endswith("Solver") and isinstance(value, type)]
        (kind,) = [value for value in found if value.__module__ == there.__name__]
        solver, rng = kind(self.game, 64), random.Random(3)
        ends: list = []
        while len(ends) < 300:
            state = self.game.new(0)
            for _ in range(rng.randrange(30, 40)):
                if not state.is_terminal:
                    state = state.play(rng.choice(state.legal_actions))
            if not state.is_terminal:
                ends.append(state)
        rows = numpy.array([state.row for state in ends])

        # One by one, by value alone or with that of every action; or all at once
        def one_by_one():
            for state in ends:
                solver.value(state)
            return len(ends)

        def with_actions():
            for state in ends:
                solver.solve(state)
            return len(ends)

        def together():
            solver.scores(rows)
            return len(ends)

        return {"one": one_by_one, "all": with_actions, "batch": together}[how]

    def learned_moves(self, rest):
        from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples

        there = module("td")
        network = NTupleNetwork.create(self.game, NTupleShape(parse_tuples(NINE_TUPLES)))
        trainer, T = there.new_trainer(self.game, 1), self.game.tables(network.evaluator("td"))
        run = there.kernels(network).td_games

        def play(moves):
            before = int(trainer.counts[there.MOVES])
            run(trainer, moves, LEARNING_RATE / network.active, TRACE_DECAY, RESTART, T)
            return int(trainer.counts[there.MOVES]) - before

        play(WARM_UP)
        return lambda: play(MOVES_AT_ONCE)

    def recorded_positions(self, rest):
        there, player, recording = module("selfplay"), module("player"), module("record")
        depth = int(rest.partition("depth=")[2])
        leaf = random_network(self.game).evaluator("newest")
        table = player.new_table(self.game, depth, 1, leaf)
        record = recording.new_record(self.game, POSITIONS_AT_ONCE + 2_000)
        run, T = there.kernels(self.game, leaf).record_games, self.game.tables(leaf)
        # lambda by turns or not, and the stages whose positions are kept, as bits
        more = (False, (1 << len(self.game.stages)) - 1) if hasattr(there, "is_asked") else ()

        def work():
            player.forget(table)
            table.R[0], table.R[1] = 1, 0
            how = depth, PLIES, EVEN, EPSILON, 0.0, 0.7, False, 0.0, *more
            return int(run(table, record, POSITIONS_AT_ONCE, *how, T, T))

        return work


def main(name, options, ids, depths, texts):
    """Answers requests until standard input ends.

    `depths`: leaf -> depth of its searches; `texts`: positions at which leaves are measured.
    """
    answers, sys.stdout = sys.stdout, sys.stderr  # other output is not an answer
    works = Workloads(name, options, ids, depths, texts)
    begun: dict = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            work = begun.get(request["name"])
            if work is None:
                work = begun[request["name"]] = works.of(request["name"])
                work()  # compiles
            best, end = float("inf"), time.process_time() + request["seconds"]
            while best == float("inf") or time.process_time() < end:
                start = time.process_time()
                units = work()
                best = min(best, (time.process_time() - start) / units)
            answer = json.dumps({"time": best})
        except Exception as problem:
            answer = json.dumps({"error": f"{type(problem).__name__}: {problem}"})
        answers.write(answer + "\n")
        answers.flush()
