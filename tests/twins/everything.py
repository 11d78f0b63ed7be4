"""Every search, every kind of leaf that a game has and its environments: small, for what is compiled of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from games import dice, solitaire
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.registry import game
from leafwise.models.grid import GridNetwork
from leafwise.models.ntuple import NTupleNetwork, NTupleShape
from leafwise.models.seen import seen_by
from leafwise.models.sparse import HEADS, SparseNetwork
from leafwise.search import Search
from leafwise.search.rollout import rollout

OWN = {"dice": dice.GAME, "solitaire": solitaire.GAME}
SMALL: dict[str, dict[str, Any]] = {"trap": {"size": 4}}
SEARCHES: tuple[dict[str, Any], ...] = ({"pruning": True}, {"pruning": False}, {"batched": True})


def leaves(g: Game) -> Iterator[Evaluator]:
    """Yields a leaf of every kind, untrained where it is learned."""
    for score in g.scores:
        yield g.score(score)
    yield rollout(g, 1)
    yield rollout(g, 1, "greedy")
    if "ntuple" in g.features:
        yield NTupleNetwork.create(g, NTupleShape(((0, 1, 2, 3),))).evaluator("tuples")
    if "grid" in g.features:
        yield GridNetwork.create(g, (4, 4, 4)).evaluator("grid")
    # Every head, and one of them with all that it may see: the functions of both are compiled apart and joined.
    first, *more = seen_by(g)
    for head, sees in [*((head, first) for head in HEADS), *((HEADS[0], sees) for sees in more)]:
        with contextlib.suppress(ValueError):  # a game without such features, or where nobody wins
            yield SparseNetwork.create(g, (8, 4), head=head, sees=sees).evaluator(f"{head} of {sees}")


def ask(name: str, *, fast: bool) -> dict[str, Any]:
    """Returns the answers of all searches of a game's first decision, and of one in turn with each further leaf unless `fast`."""
    g = OWN[name] if name in OWN else game(name, **SMALL.get(name, {}))
    state, found = g.new(1), {}
    for k, leaf in enumerate([g.score()] if fast else leaves(g)):
        for options in SEARCHES if k == 0 else SEARCHES[k % 3 :][:1]:
            result = Search(g, leaf, 1, **options)(state)
            found[f"{leaf.name} {options}"] = [result.nodes, result.leaves, sorted(result.values.items())]
    opponents = ["greedy", "random"] if g.players == 2 else ["greedy"]
    for opponent in opponents[:1] if fast else opponents:
        env = GameEnv(g, opponent=opponent)
        _, info = env.reset(seed=1)
        found[f"environment, {opponent}"] = [float(env.step(int(info["action_mask"].argmax()))[1])]
    return found
