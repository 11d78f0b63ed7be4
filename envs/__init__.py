"""The games, one folder each, on a common core.

- `threes`, `trap`, `trilobite`, `cassis`, `friday`, `starship`: begin with `rules`, which defines the actions; `__init__` binds a
  folder's functions as `GAME`.
- `core.contract`: what a game is (`rules`, `game`), checked positions (`state`), leaf evaluators (`evaluator`).
- `core.gym`: environments; `stepper` has their compiled step, with the effect of illegal actions.
- `core.play`: players without a search, moves by name, games as files. `core.check`: `leafwise.check_game`.
- `core.compile`: the only part that uses numba.
- `registry`, `plugins`: games by name, also from outside the package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pettingzoo import AECEnv

    from leafwise.envs.core.contract.game import Game


def aec(
    game: str | Game,
    *,
    render_mode: str | None = None,
    illegal: str | None = None,
    observation: str = "default",
    **options: Any,
) -> AECEnv:
    """Returns a game as a PettingZoo AECEnv: `leafwise.aec("trap")`.

    The keywords are explained at `leafwise.GameEnv`; the game's own options are keywords too.

    Raises ValueError for wrong input, TypeError for unknown keywords, and ImportError if PettingZoo (extra `multiagent`) is not
    installed.
    """
    given = locals()
    try:
        from pettingzoo.utils import OrderEnforcingWrapper

        from leafwise.envs.core.gym.aec import GameAECEnv
    except ModuleNotFoundError as missing:
        if missing.name != "pettingzoo":
            raise
        raise ImportError("leafwise.envs.aec needs PettingZoo: pip install 'leafwise[multiagent]'") from None
    from leafwise.envs.core.gym.keywords import EnvOptions, as_game, names_of

    game = as_game(game, options, names_of("turns"))
    return OrderEnforcingWrapper(GameAECEnv(game, EnvOptions.among(given, game, "turns")))
