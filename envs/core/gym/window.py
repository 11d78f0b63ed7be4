"""A window that shows an environment to people, for `render_mode="human"`; needs the extra `human`, pygame."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game


class Window:
    """Shows pictures of one game one after another; opens at the first.

    Raises gymnasium's DependencyNotInstalled where pygame is not installed.
    """

    def __init__(self, game: Game, fps: int) -> None:
        try:
            import pygame
        except ModuleNotFoundError:
            raise DependencyNotInstalled(
                f"{game.name}: expected pygame for render_mode 'human', it is not installed: pip install 'leafwise[human]'"
            ) from None
        self._pygame, self._title, self._fps = pygame, game.title, fps
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
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Closes the window, if one is open."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
