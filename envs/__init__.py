"""The games: one room each, over the contract in `leafwise.envs.core`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.gym.aec import GameAECEnv


def aec(game: str | Game, *, render_mode: str | None = None, illegal: str = "lose", **options: Any) -> GameAECEnv:
    """Returns a game as a PettingZoo AECEnv: `leafwise.envs.aec("trap")`; keywords as `GameAECEnv`, then the game's.

    Raises ValueError for wrong input, TypeError for unknown keywords, and ImportError where PettingZoo (extra `multiagent`) is
    not installed.
    """
    try:
        from leafwise.envs.core.gym.aec import GameAECEnv
    except ModuleNotFoundError as missing:
        if missing.name != "pettingzoo":
            raise
        raise ImportError("leafwise.envs.aec needs PettingZoo: pip install 'leafwise[multiagent]'") from None
    from leafwise.envs.core.gym.stepper import as_game, keywords_of

    return GameAECEnv(as_game(game, options, keywords_of(GameAECEnv)), render_mode=render_mode, illegal=illegal)
