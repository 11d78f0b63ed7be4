"""Writes pages that need no server: static files with the rules and the search of each game, compiled for WebAssembly.

index.html, NOTICE.txt      the shell, with a policy against requests to other sites; notices on the games
manifest.webmanifest, sw.js the installable app, and the service worker that caches the files
HASH/                       the page's own files, and index.json: the variants and the files of each
data/HASH.wasm, .gz, .svg   a game and its search; the memory with its tables and its network; a ship
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from leafwise.envs.core.compile.cache import cache_root
from leafwise.envs.core.compile.wasm import BASE, ENVIRONMENT, image, linked, module_hash, need_linker
from leafwise.envs.core.contract.game import MAX_DEPTH, Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import own_folder, read_text
from leafwise.envs.core.play.solver import LEVELS
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games as all_games
from leafwise.envs.registry import ids_of, option_defaults, source_of, title_of
from leafwise.models.leaves import named_leaf
from leafwise.models.tensors import write_atomically
from leafwise.models.units import units_of, why_no_units
from leafwise.search import Search
from leafwise.search.answering import make_answer
from leafwise.search.engine import FIRST_NODES, NODES_FACTOR
from leafwise.search.mcts import Mcts
from leafwise.search.players import BEST
from leafwise.search.search_options import ROUNDED
from leafwise.web.app import STATIC
from leafwise.web.drawings import COMPARED
from leafwise.web.games import PACES, tell_game
from leafwise.web.requests import GameRequest
from leafwise.web.ships import gallery
from leafwise.web.workers import JobContext

GAMES = tuple(sorted(path.stem for path in (STATIC / "alone" / "texts").glob("*.js")))
"""Games whose texts JavaScript can write."""
SHIPS = "starship"
"""A game that is shown as generated ships."""
LEAVES = {"threes": "threes-small"}
"""Networks for games whose best one is too large for a browser."""
COMPANIONS = ("threes",)
"""Games that the page can follow without a server."""
TABLE_MB = TREE_MB = 32.0
DEEPEST = 16
"""Maximum depth in games where one unit of depth has many decisions: each unit needs browser memory."""
VIEWS = (
    *("call", "S", "actions", "values", "visits", "is_bound", "figures", "tree.counts"),
    *("B.P", "B.counts", "B.deadline", "B.options.cutoff", "B.options.node_cost", "B.options.recall"),
)
"""Fields of `leafwise.search.answering.HostMemory` that the page reads and writes."""
MOST_KEPT = 64
"""Number of packed memories that are cached for later exports."""
DEPTHS = (1, 2, 3, 4, 6, 8)
"""Depths of the players with a fixed depth."""
DEPTH_SECONDS = 30.0
"""Time limit of such a player."""
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; manifest-src 'self'; base-uri 'none'; form-action 'none'"
)


OWN = re.compile(r"[0-9a-f]{16}(\.wasm|\.gz|\.svg)?")
"""Names of files and folders that an export writes."""


def export(folder: Path, games: tuple[str, ...]) -> Iterator[str]:
    """Writes the pages of some games (default: all possible ones) to a new or an exported folder; yields a report.

    Raises ValueError for an impossible game, for a folder with other files, and if compilation is not possible.
    """
    known = (*GAMES, SHIPS, *(name for name in all_games() if source_of(name) is not None))
    for name in games:
        need_among(name, known, "a game for pages without a server")
    there = (path for path in folder.rglob("*") if path != folder / "data")  # an interrupted export has no sw.js yet
    if not (folder / "sw.js").exists() and not all(
        path.parent == folder / "data" and OWN.fullmatch(path.name) for path in there
    ):
        raise UserError(f"expected a new or an exported folder, got {str(folder)!r}, which holds something else")
    need_linker()
    names = games or known
    variants, pictured = [], []
    for name in names:
        if name == SHIPS:
            pictured = [info | {"file": written(folder / "data", body, ".svg")["file"]} for info, body in gallery()]
            yield f"{name}: {len(pictured)} generated ships as pictures"
            continue
        for options in ids_of(name).values():
            info = exported(find_game(name).variant(**options), options, folder / "data")
            variants.append(info)
            code, tables, called = info["module"]["bytes"], info["image"]["bytes"], f"{name} {options or ''}".strip()
            yield f"{called}: {code:,} bytes of code, {tables:,} of tables and networks"
            if (drawing := info["drawing"]) is not None:
                yield f"{called}: {shown(drawing)}"
    listed = [
        {"game": name, "title": "Starship, ships as a generator makes them", "options": {}, "ids": {}}
        if name == SHIPS
        else {
            "game": name,
            "title": title_of(name),
            "options": dict(option_defaults(name)),
            "ids": dict(ids_of(name)),
            "svg": "" if name in GAMES else find_game(name).start().svg(),
        }
        for name in names
    ]
    yield from pages(folder, {"games": listed, "variants": variants, "ships": pictured})


def exported(game: Game, options: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Writes the files of a variant; returns its entry in the index."""
    source = LEAVES.get(game.name, BEST)
    module, packed, memory = compiled(game, source)
    units = units_of(game, source)
    reads = game.name in GAMES or hasattr(game.rules.is_valid, "py_func")
    about = tell_game(GameRequest(game=game.name, options=dict(options)), JobContext(lambda message: None))
    leaf = next((one for one in about["leaves"] if one["name"] == source), about["leaves"][0])
    levels: dict[str, tuple[str, dict[str, float | bool], float]] = {
        f"level:{level}": (f"level {level}", {"depth": game.search.depth}, share) for level, share in LEVELS.items()
    }
    players = levels if game.players == 2 else {}
    players |= {
        f"depth:{depth}": (f"search: {depth} deep", {"depth": depth, "seconds": DEPTH_SECONDS}, 0) for depth in DEPTHS
    }
    players |= {
        f"search:{leaf['name']},seconds={pace}": (f"{leaf['title']}, {words}", {"seconds": float(pace)}, 0)
        for pace, words in PACES.items()
    }
    tree = {**leaf, "name": f"mcts:{leaf['name']}", "title": f"{leaf['title']}, tree search", "tree": True}
    players |= {
        f"{tree['name']},seconds={pace}": (f"{tree['title']}, {words}", {"seconds": float(pace), "tree": True}, 0)
        for pace, words in PACES.items()
    }
    players["random"] = "random moves", {"depth": 1}, 1
    about |= {
        "has_solver": False,
        "has_companion": game.name in COMPANIONS,
        "unusable": [],
        "stages": list(game.stages),
        "reads": reads,
        "leaves": [leaf, tree],
        "opponents": [
            {"name": name, "title": title, "search": how, "random": share}
            for name, (title, how, share) in players.items()
        ],
    }
    return {
        "about": about,
        "texts": f"texts/{game.name}" if game.name in GAMES else "rows",
        "drawing": None if game.name in GAMES else drawn(game),
        "tables": game.text.tables(game.tables()) if game.text.tables else {},
        "start": [str(word) for word in game.start().row.tolist()],
        "units": units and units.as_json(),
        "no_unit": why_no_units(game, source),
        "module": written(data, module, ".wasm"),
        "image": written(data, packed, ".gz"),
        "memory": memory,
    }


def drawn(game: Game) -> dict[str, Any]:
    """Returns the drawing of a game without texts in JavaScript, as `leafwise.web.drawings.learned` finds it."""
    command = [sys.executable, "-m", "leafwise.web.drawings", game.name, json.dumps(dict(game.given_options))]
    done = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"expected {game!r} to be drawn, got: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def shown(drawing: Mapping[str, Any]) -> str:
    """Returns a line on how positions are shown."""
    if drawing["svg"]:
        return f"drawn by {len(drawing['svg']['cells'])} cells, as in Python on {COMPARED} positions"
    how = "as text" if drawing["board"] else "as a table of their rows' numbers"
    return f"its drawing is not a sum of cells; positions are shown {how}"


def compiled(game: Game, leaf: str) -> tuple[bytes, bytes, dict[str, Any]]:
    """Returns the module of a game's search, its packed memory, and the memory's entry in the index.

    A separate process compiles both without special instructions, since these would change how networks lie in memory.
    """
    kept = cache_root() / "wasm"
    own_folder(kept)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **ENVIRONMENT, "LEAFWISE_CACHE_DIR": folder}
        words = [game.name, json.dumps(dict(game.given_options)), leaf, str(kept), folder]
        done = subprocess.run(
            [sys.executable, "-m", "leafwise.web.export", *words], env=environment, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            raise UserError(f"expected {game!r} to compile for WebAssembly, got: {done.stderr.strip()[-300:]}")
        memory = json.loads(read_text(Path(folder, "memory.json")))
        return (kept / memory.pop("module")).read_bytes(), (kept / memory.pop("packed")).read_bytes(), memory


def written(folder: Path, body: bytes, suffix: str) -> dict[str, Any]:
    """Writes a file under the hash of its content; returns its entry in the index."""
    digest = hashlib.sha256(body).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    name = digest[:16] + suffix
    write_atomically(folder / name, body)
    return {"file": name, "sha256": digest, "bytes": len(body)}


def pages(folder: Path, index: dict[str, Any]) -> Iterator[str]:
    """Writes the page's own files and the index under the hash of all, then the shell, and removes older files."""
    files = {
        str(path.relative_to(STATIC)): path.read_bytes()
        for path in sorted(STATIC.rglob("*"))
        if path.is_file() and path.name != "index.html"
    }
    files["who.js"] = b'export * from "./alone/who.js";\n'
    files["index.json"] = json.dumps(index, allow_nan=False, separators=(",", ":")).encode()
    build = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]
    for name, body in files.items():
        (folder / build / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / build / name, body)
    shell = read_text(STATIC / "index.html")
    for name in ("icon.svg", "style.css", "app.js"):
        shell = shell.replace(f'"{name}"', f'"{build}/{name}"')
    head = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<link rel="manifest" href="manifest.webmanifest">\n'
    shell = shell.replace("<title>", f"{head}<title>", 1)
    icon = {"src": f"{build}/icon.svg", "sizes": "any", "type": "image/svg+xml"}
    manifest = {"name": "Leafwise", "start_url": "./", "display": "standalone", "icons": [icon]}
    worker = files["alone/sw.js"].decode().replace("BUILD", build)
    titles = ", ".join(re.split(r",| \(", game["title"])[0] for game in index["games"])
    titles += "" if titles.endswith("!") else "."
    shell = shell.replace(
        "<noscript>",
        f'<footer class="quiet">{html.escape(titles)} <a href="NOTICE.txt">Games, people and programs</a>. '
        "Other games, exact solvers, building ships and training need leafwise web, the program.</footer>\n<noscript>",
        1,
    )
    notices = [Path(str(file.locate())) for file in distribution("leafwise").files or () if file.name == "NOTICE.md"]
    if not notices or not notices[0].is_file():
        raise UserError("expected NOTICE.md in the installed package, got none; install Leafwise again")
    notice = read_text(notices[0])
    begun = {"manifest.webmanifest": json.dumps(manifest), "sw.js": worker, "index.html": shell, "NOTICE.txt": notice}
    for name, text in begun.items():
        write_atomically(folder / name, text.encode())
    kept = {build, *(variant[part]["file"] for variant in index["variants"] for part in ("module", "image"))}
    kept |= {ship["file"] for ship in index["ships"]}
    for old in (*folder.iterdir(), *(folder / "data").iterdir()):  # of earlier exports
        if OWN.fullmatch(old.name) and old.name not in kept:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    yield f"pages: {sum(map(len, files.values())):,} bytes; open {folder}/index.html by any file server"


def packed(memory: bytes, kept: Path) -> Path:
    """Returns the cached file of a packed memory: packing takes half of an export's time."""
    file = kept / f"{hashlib.sha256(memory).hexdigest()}.gz"
    if file.exists():
        file.touch()
        return file
    write_atomically(file, gzip.compress(memory, 9, mtime=0))
    for old in sorted(kept.glob("*.gz"), key=lambda one: one.stat().st_mtime)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
    return file


def main(name: str, options: str, leaf: str, kept: str, out: str) -> None:
    """Writes a variant's module and packed memory to the folder `kept` if needed, and their description to `out`."""
    game = find_game(name).variant(**json.loads(options))
    evaluator = named_leaf(game, leaf)
    deepest = MAX_DEPTH if game.search.decisions_per_depth == 1 else DEEPEST
    search = Search(game, evaluator, seconds=1.0, depth=deepest, table_mb=TABLE_MB)
    answer, memory = make_answer(search, Mcts(game, evaluator, memory_mb=TREE_MB))
    module = Path(kept, f"{module_hash(answer, *memory)}.wasm")
    if not module.exists():
        write_atomically(module, linked(answer, *memory))
    laid, most = image(memory._fields, memory), search._B.options.most
    about = {
        "module": module.name,
        "packed": packed(laid.memory, Path(kept)).name,
        "base": BASE,
        "held": laid.held,
        "pages": laid.pages,
        "places": {path: address for path, address in laid.places.items() if path in VIEWS},
        "figures": game.text.figures,
        "depth": search.depth,
        "growth": {"first": FIRST_NODES, "more": NODES_FACTOR, "rounded": ROUNDED} if game.search.nodes else None,
        "most": most if math.isfinite(most) else None,
    }
    Path(out, "memory.json").write_text(json.dumps(about))


if __name__ == "__main__":
    main(*sys.argv[1:])
