"""Measures exported pages: bytes, searches compared with native ones, and the first answer in a browser with an empty cache.

`python -m leafwise.experiments.pages --site DIR` measures an export (`leafwise web --export DIR`) and writes `pages.md`. Searches
of the same positions to the same depth run under node, from the PATH, and in this process. Times are processor times by node of the
search tree, after an untimed pass. Playwright drives the browser, if installed.
"""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import leafwise
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.ranges import Range
from leafwise.envs.registry import add_module
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import Study, command, section, signed, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.training.runs.folder import hardware

FOUR = {"board": "7x6", "k": 4}
PACE, ENOUGH = 0.1, 0.2
"""Seconds of search of the first answer; processor seconds of a native pass that are enough for a timing."""
NODE = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
const { folder, build, variant, rows, depth, nodes } = JSON.parse(readFileSync(0, "utf8"));
const { Engine } = await import(pathToFileURL(`${folder}/${build}/alone/engine.js`));
const image = new Uint8Array(gunzipSync(readFileSync(`${folder}/data/${variant.image.file}`)));
const code = new WebAssembly.Module(readFileSync(`${folder}/data/${variant.module.file}`));
const engine = new Engine(code, image.buffer, variant.memory);
let found, begun;
for (let pass = 0; pass < 2; pass++) {
  [begun, found] = [process.cpuUsage(), []];
  for (const row of rows) {
    let last;
    for (last of engine.deepen(row.map(BigInt), { depth, nodes }));
    found.push([last.value, last.nodes]);
  }
}
const { user, system } = process.cpuUsage(begun);
console.log(JSON.stringify({ found, seconds: (user + system) / 1e6 }));
"""
FIRST = """async ([build, options, player]) => {
  const { answers } = await import(`./${build}/alone/who.js`);
  const question = { game: "trilobite", options, text: "", player };
  for await (const { event } of answers("api/move", question)) if (event === "answer") return performance.now() / 1000;
}"""
"""Seconds from the navigation to an answer."""


@dataclass(frozen=True)
class Config(Study):
    """Measures an export and writes pages.md."""

    site: str = ""
    """Folder of the export."""
    modules: tuple[str, ...] = ()
    """Files or folders of the export's games from `--module`."""
    positions: Annotated[int, Range(1, 10_000)] = 6
    """Number of positions of random games to search in each variant."""
    browsers: Annotated[int, Range(0, 100)] = 5
    """Number of browsers with an empty cache to time; 0: none."""


def states(game: leafwise.Game, n: int) -> list[leafwise.State]:
    """Returns decisions of random games."""
    visited: list[leafwise.State] = []
    stream = new_stream(1)
    state = game.start().settle(stream)
    while len(visited) < 3 * n:
        visited.append(state)
        state = state.play(state.legal_actions[len(visited) * 7 % len(state.legal_actions)]).settle(stream)
        state = game.start().settle(stream) if state.is_terminal else state
    return visited[::3]


def timed(site: Path, build: str, variant: dict[str, Any], config: Config) -> tuple[str, str, str, str]:
    """Returns the depth, native and exported microseconds by node, and their ratio.

    The depth is the first at which the native pass takes `ENOUGH` seconds, or the game's maximum.
    """
    about = variant["about"]
    game = find_game(about["game"]).variant(**about["given_options"])
    rows, native = states(game, config.positions), 0.0
    for depth in range(1, variant["memory"]["depth"] + 1):
        search = leafwise.Search(game, named_leaf(game, about["leaves"][0]["name"]), depth=depth)
        search(rows[0])  # loads the code
        begun = time.thread_time()
        nodes = sum(search(state).nodes for state in rows)
        seconds = time.thread_time() - begun
        native = 1e6 * seconds / nodes
        if seconds >= ENOUGH:
            break
    given = {
        "folder": str(site.resolve()),
        "build": build,
        "variant": variant,
        "rows": [[str(word) for word in state.row.tolist()] for state in rows],
        "depth": depth,
        "nodes": game.search.nodes,
    }
    ran = [shutil.which("node") or "node", "--input-type=module", "-e", NODE]
    answer = json.loads(subprocess.check_output(ran, input=json.dumps(given), text=True))
    page = 1e6 * answer["seconds"] / sum(nodes for _, nodes in answer["found"])
    return str(depth), f"{native:.3f}", f"{page:.3f}", f"{page / native:.2f}"


class QuietFileServer(http.server.SimpleHTTPRequestHandler):
    """A file server without log messages."""

    def log_message(self, *words: object) -> None:
        """Logs nothing."""


def first_answers(site: Path, build: str, browsers: int) -> list[float]:
    """Returns seconds from opening the page to the first move in Connect Four, each in a new browser."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    player, times = f"search:learned,seconds={PACE:g}", []
    handler = functools.partial(QuietFileServer, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for _ in range(browsers):
            sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
            with playwright.chromium.launch(executable_path=path, args=sandbox) as browser:
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{server.server_port}/")
                times.append(page.evaluate(FIRST, [build, FOUR, player]))
        server.shutdown()
    return times


INTRODUCTION = (
    "# Exported pages",
    "",
    "This study measures how many bytes a browser loads for the [pages without a server](../docs/howto/web-export.md), and how "
    "fast these pages search. The table",
    "compares the search of a page with the same search in Python. Both search the same positions, to the depth in the column "
    "`depth`.",
    "A node is a position that the search visits. The ratio is the page's time divided by Python's. Times are processor time.",
)


def study(config: Config) -> None:
    """Measures, and writes the page."""
    site = Path(config.site)
    indices = [*site.glob("*/index.json")] if config.site else []
    if len(indices) != 1:
        raise UserError(f"expected --site FOLDER of leafwise web --export, got {config.site!r}")
    if shutil.which("node") is None:
        raise UserError("expected node on the PATH, got none")
    for module in config.modules:
        add_module(module)
    build, index = indices[0].parent.name, json.loads(read_text(indices[0]))
    rows = []
    for one in index["variants"]:
        given = one["about"]["given_options"]
        named = ", ".join([one["about"]["game"], *(f"{name}={value}" for name, value in given.items())])
        sizes = f"{one['module']['bytes']:,}", f"{one['image']['bytes']:,}"
        rows.append((named, *sizes, *timed(site, build, one, config)))
        print(*rows[-1], flush=True)
    pages = sum(path.stat().st_size for path in (site / build).rglob("*") if path.is_file())
    load = f"with a system load of {os.getloadavg()[0]:.1f}"
    words = (
        f"All games share further files, such as pages and pictures, of {pages:,} bytes. "
        f"The study ran on {hardware()}, {load}."
    )
    parts = section(
        "Bytes and times",
        table(
            "variant | code, bytes: | packed tables and network, bytes: | depth | in Python, µs per node: | in "
            "the page, µs per node: | ratio:",
            rows,
        ),
        words,
    )
    if config.browsers and importlib.util.find_spec("playwright"):
        answers = first_answers(site, build, config.browsers)
        each = ", ".join(f"{seconds:.2f}" for seconds in answers)
        parts += section(
            "The first answer",
            f"In Connect Four the first answer of the search came {median(answers):.2f} s after the page was opened. "
            f"This time is the median of {len(answers)} browsers ({each}), and includes {PACE:g} s for the search. "
            "The caches of the browsers were empty.",
        )
    write_page(config, "pages.md", signed(config, [*INTRODUCTION, "", *parts]))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
