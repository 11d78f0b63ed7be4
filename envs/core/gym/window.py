"""What an environment shows to people: text, pictures, or a window of pygame (the extra `human`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State

FPS = 4
"""Pictures a second in a window or a film."""


class Display:
    """Shows positions of a game as a render mode says."""

    def __init__(self, game: Game, render_mode: str | None) -> None:
        self._made_of = game, render_mode
        self.window = Window(game) if render_mode == "human" else None

    def show(self, state: State) -> None:
        """Shows a position in the window, if there is one."""
        if self.window is not None:
            self.window.show(state.rgb())

    def frame(self, state: State, render_mode: str | None) -> Any:
        """Returns a position as text for "ansi", as uint8 [height, width, 3] for "rgb_array"; a window shows it again."""
        self.show(state)
        if render_mode is None or self.window is not None:
            return None
        return state.board() if render_mode == "ansi" else state.rgb()

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self.window is not None:
            self.window.close()

    def __reduce__(self) -> Any:
        return Display, self._made_of  # a copy has a window of its own


class Window:
    """Shows pictures of one game one after another; opens at the first.

    Raises gymnasium's DependencyNotInstalled where pygame is not installed.
    """

    def __init__(self, game: Game) -> None:
        try:
            import pygame
        except ModuleNotFoundError:
            raise DependencyNotInstalled(
                f"{game.name}: expected pygame for render_mode 'human', it is not installed: pip install 'leafwise[human]'"
            ) from None
        self._pygame, self._title = pygame, game.title
        self._screen: Any = None

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Shows a picture, uint8 [height, width, 3], and waits as long as the frames a second ask for."""
        pygame, size = self._pygame, (picture.shape[1], picture.shape[0])
        if self._screen is None:
            pygame.display.init()
            self._clock = pygame.time.Clock()
        if self._screen is None or self._screen.get_size() != size:
            self._screen = pygame.display.set_mode(size)
            pygame.display.set_caption(self._title)
        pygame.surfarray.blit_array(self._screen, picture.transpose(1, 0, 2))
        pygame.event.pump()  # else the desktop takes the window for one that hangs
        pygame.display.flip()
        self._clock.tick(FPS)

    def close(self) -> None:
        """Closes the window, if one is open."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
