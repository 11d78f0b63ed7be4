"""What a process of one version measures when two are compared: it is run as text by the interpreter of either.

It may therefore use nothing of leafwise but public names that every version has, and of Python what 3.11 has. A line of JSON on
standard input asks for one measurement, `{"name": ..., "seconds": ...}`; a line on standard output answers with the processor time
of one unit, `{"time": ...}`, or with what went wrong, `{"error": ...}`.
"""

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

MINIMUM_CALLS = 3


def main(name, options, ids, depths):
    """Answers until standard input ends; `depths`: leaf -> depth of the searches that are measured."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed
    import gymnasium

    import leafwise

    game = leafwise.game(name, **options)
    works: dict = {}

    def stepping():
        env = gymnasium.make(ids, disable_env_checker=True).unwrapped
        info = env.reset(seed=1)[1]

        def work():
            nonlocal info
            for _ in range(200):
                _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
                if terminated or truncated:
                    info = env.reset()[1]
            return 200

        return work

    def batch():
        env = gymnasium.make_vec(ids, num_envs=64)
        info = env.reset(seed=1)[1]

        def work():
            nonlocal info
            for _ in range(10):
                info = env.step(info["action_mask"].argmax(axis=1))[-1]
            return 640

        return work

    def searching(leaf, depth):
        evaluator = leafwise.load(leaf.partition(":")[2]) if leaf.startswith("load:") else game.score(leaf)
        search, states = leafwise.Search(game, evaluator, depth=depth), [game.new(seed) for seed in range(4)]

        def work():
            for state in states:
                search(state)
            return len(states)

        return work

    def work_of(what):
        kind, _, leaf = what.partition(" ")
        return {"step": stepping, "batch_64": batch}[kind]() if not leaf else searching(leaf, depths[leaf])

    for line in sys.stdin:
        asked = json.loads(line)
        try:
            work = works.get(asked["name"])
            if work is None:
                work = works[asked["name"]] = work_of(asked["name"])
                work()  # compiles
            best, calls, end = float("inf"), 0, time.process_time() + asked["seconds"]
            while calls < MINIMUM_CALLS or time.process_time() < end:
                start = time.process_time()
                units = work()
                best, calls = min(best, (time.process_time() - start) / units), calls + 1
            answer = json.dumps({"time": best})
        except Exception as problem:
            answer = json.dumps({"error": f"{type(problem).__name__}: {problem}"})
        answers.write(answer + "\n")
        answers.flush()
