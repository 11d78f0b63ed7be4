"""Runs the server: address, token if it is open to a network, and the browser."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import uvicorn

from leafwise.cli import say
from leafwise.envs.core.errors import UserError
from leafwise.web.app import make_app
from leafwise.web.guard import BACKLOG, Connection
from leafwise.web.workers import PLAYERS_VARIABLE, RUNS_VARIABLE, Workers

if TYPE_CHECKING:
    from leafwise.commands.web import Config

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
FIRST_PORT, PORTS = 8340, 20
"""Default ports; after them any free port."""
TOKEN_BYTES = 16
OPEN_TO_ALL = """\
  Open to the network: whoever has this address, token included, can use this server's processor time and see its
  games, models and runs. What is sent is not encrypted. Ctrl-C ends it, the next start has another token."""


def is_loopback(host: str) -> bool:
    """Whether an address is reachable only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listening(host: str, port: int) -> socket.socket:
    """Returns a listening socket (port 0: on the first free port); raises ValueError if there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: Exception | None = None
    for one in [port] if port else [*range(FIRST_PORT, FIRST_PORT + PORTS), 0]:
        # asyncio sets TCP_NODELAY where it sees TCP
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # on Windows SO_REUSEADDR would let a second server take the same port
        sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR), 1)
        try:
            sock.bind((host, one))
            sock.listen(BACKLOG)
            return sock
        except (OSError, OverflowError) as error:
            sock.close()
            problem = error
    where = f"port {port} of {host}" if port else f"a port of {host}"
    raise UserError(
        f"expected a free address to listen on, got {where}: {getattr(problem, 'strerror', None) or problem}"
    )


def network_address() -> str:
    """Returns the address of this machine in its local network; without a network the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only selects a route
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def names_of(host: str, port: int) -> frozenset[str]:
    """Returns the allowed names of the server, with the port."""
    everywhere = host in (EVERYWHERE, "::")
    names = {host, network_address()} if everywhere else {host}
    if everywhere or is_loopback(host):
        names |= {LOOPBACK, "localhost", "::1"}
    return frozenset(f"{bracketed(name)}:{port}".lower() for name in names)


def bracketed(host: str) -> str:
    """Returns a host as it is written in an address."""
    return f"[{host}]" if ":" in host else host


def qr_code(address: str) -> str:
    """Returns the QR code of an address as text for a terminal."""
    import io

    import segno

    out = io.StringIO()
    segno.make(address, error="l").terminal(out, compact=True)
    return out.getvalue()


class Server(uvicorn.Server):
    """A server that kills its processes before it waits for running answers, which thereby end.

    Its connections are those of `leafwise.web.guard`, whatever the configuration says.
    """

    def __init__(self, config: uvicorn.Config, workers: Workers) -> None:
        config.http, config.backlog = Connection, BACKLOG
        super().__init__(config)
        self.workers = workers

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends the server."""
        await self.workers.close()
        await super().shutdown(sockets)


def serve(options: Config) -> None:
    """Runs the server until Ctrl-C, by the options of `leafwise web`; raises ValueError if an address is not available."""
    host = EVERYWHERE if options.phone else options.host
    sock = listening(host, options.port)
    port = int(sock.getsockname()[1])
    token = "" if is_loopback(host) else secrets.token_urlsafe(TOKEN_BYTES)
    shown = network_address() if host in (EVERYWHERE, "::") else host
    address = f"http://{bracketed(shown)}:{port}/" + (f"?token={token}" if token else "")
    say(f"leafwise web: {address}")
    if token:
        say(OPEN_TO_ALL)
    if options.phone:
        say(qr_code(address))
    environment = {RUNS_VARIABLE: options.runs, PLAYERS_VARIABLE: json.dumps(options.player)}
    workers = Workers(options.workers or max(4, os.cpu_count() or 1), environment)
    config = uvicorn.Config(
        make_app(workers, names_of(host, port), token),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        ws="none",
    )
    if options.open and not options.phone:
        timer = threading.Timer(0.5, webbrowser.open, [address])
        timer.daemon = True
        timer.start()
    Server(config, workers).run(sockets=[sock])
