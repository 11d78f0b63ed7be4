"""Opens a page in the browser to play, analyse and follow games, and to watch training runs."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import tyro

from leafwise.cli import command, say
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range

MAX_WORKERS = 64


@dataclass(frozen=True)
class Config:
    """Serves a local page to play, analyse games and watch training runs. Ctrl-C ends it. Needs the extra `web`.

    Examples:
      leafwise web
      leafwise web --phone
      leafwise web --export site
    """

    most_used: ClassVar[tuple[str, ...]] = ("phone", "port", "runs")
    port: Annotated[int, Range(0, 2**16 - 1)] = 0
    """Port to listen on (0: the first free one)."""
    open: bool = True
    """Open the page in the browser."""
    host: str = "127.0.0.1"
    """Address to listen on. Any other than the default opens the server to its network, with a token in the address."""
    phone: bool = False
    """Listen on the local network, with a random token in the address, and print its QR code for a phone."""
    runs: str = "runs"
    """Folder of training runs whose models and curves the page may show; the page reads no other files."""
    player: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """NAME=PLAYER, a further player for the page: --player mine="program:./mine,seconds=1". May be given several times."""
    export: str = ""
    """Folder for static files instead of a server, to play and analyse in any browser. Needs the extra `export`."""
    games: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """With --export: a game to write; may be given several times (default: all possible games)."""
    workers: Annotated[int, Range(0, MAX_WORKERS)] = 0
    """Searches at the same time (0: the number of cores, at least 4)."""


@command(Config)
def main(config: Config) -> None:
    """Runs the command."""
    for needed in ("starlette", "uvicorn", "segno"):
        if importlib.util.find_spec(needed) is None:
            raise UserError(f"expected {needed} for leafwise web, found none: pip install 'leafwise[web]'")
    if config.export:
        from leafwise.web.export import export

        for line in export(Path(config.export), config.games):
            say(line)
        return
    if config.games:
        raise UserError("expected --export with --games, got none")
    from leafwise.models.players import check_kind
    from leafwise.web.server import LOOPBACK, serve

    if config.phone and config.host != LOOPBACK:
        raise UserError("expected --phone or --host, got both")
    if config.runs != "runs" and not Path(config.runs).is_dir():
        raise UserError(f"expected a folder with --runs, got {config.runs!r}")
    for given in config.player:
        if not all(part.strip() for part in given.partition("=")):
            raise UserError(f"expected NAME=PLAYER with --player, got {given!r}")
        check_kind(given.partition("=")[2])
    serve(config)
