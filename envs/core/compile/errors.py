"""What a person is told when a function does not compile: two lines; numba's pages go to a log that the second one names."""

from __future__ import annotations

import contextlib
import hashlib
import linecache
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numba

from leafwise.envs.core.compile.cache import cache_root
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.files import own_folder

OWN = str(Path(numba.__file__).parent)
"""Numba's own sources, which a person has no part in."""

CALLEE = re.compile(r"During: resolving callee type: type\((?:Function|CPUDispatcher)\(<function ([\w.<>]+) at ")
TYPED_AT = re.compile(r"^ *During: .* at (.+) \((\d+)\)$", re.MULTILINE)
SHOWN_AT = re.compile(r"^ *File \"(.+)\", line (\d+):\n(?: *def (\w+)\()?", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""What numba puts between its words where colorama is installed."""
NOISE = re.compile(r"^(Failed in \w+ mode pipeline|- Resolution failure|During: |File |$)")


class CompileError(UserError):
    """A function of a game, a leaf or a search does not compile; `log` is the file with all that numba said."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log

    def __reduce__(self):
        return CompileError, (str(self), self.log)


class Place(NamedTuple):
    """Where compilation failed: a function's name, and its file and line where they are known."""

    function: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.function
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.function}, {os.path.basename(self.file)} line {self.line}" + (f", `{source}`" if source else "")


def explained(problem: BaseException, function: Any, arguments: Iterable[Any]) -> CompileError:
    """Returns in two lines why `function`, called with `arguments`, does not compile, and writes all that numba said to a log."""
    said = COLOURS.sub("", str(problem))
    place = _place(said, function)
    log = _write_log(place.function, said)
    reason = _reason(said, list(_tuples(arguments)))
    return CompileError(f"{place} does not compile:\n{reason} (numba's own words: {log})", log)


def _place(said: str, function) -> Place:
    """Returns the innermost function of a person's that numba names, and where in it."""
    callee = CALLEE.search(said)
    for shown in SHOWN_AT.finditer(said):
        if _is_own(shown[1]):
            continue
        if callee and callee.start() < shown.start():
            break  # what it was called from: numba does not say where in it
        typed = next((m for m in TYPED_AT.finditer(said) if int(m[2]) == int(shown[2]) and not _is_own(m[1])), None)
        return Place(shown[3] or _plain(function.__qualname__), typed[1] if typed else shown[1], int(shown[2]))
    return Place(_plain(callee[1] if callee else function.__qualname__))


def _is_own(path: str) -> bool:
    return OWN in path or "/numba/" in path.replace(os.sep, "/")


def _plain(name: str) -> str:
    """Returns a function's name without its factory's, and without the name under which it was bound."""
    return name.rpartition(".")[2].partition("__")[0] or name


def _reason(said: str, tuples: list[Any]) -> str:
    """Returns one line that says what is wrong, in our words where they are known."""
    if found := re.search(r"Unknown attribute '(\w+)' of type (\w+)\(", said):
        fields = next((t._fields for t in tuples if type(t).__name__ == found[2]), ())
        return (
            f"expected a field of {found[2]} among ({', '.join(fields)}), got {found[1]!r}{perhaps(found[1], fields)}"
        )
    if found := re.search(r"to signature '(.*)' due to \"(?:\w+: )?(.*?)\.?\"", said):
        return f"expected arguments {found[1]}, got {found[2]}"
    if found := re.search(r"NameError: name '(\w+)' is not defined", said):
        return f"expected names that the module defines, got {found[1]!r}"
    if "NRT required but not enabled" in said or "Only accept returning of array passed" in said:
        return "expected no new arrays, lists or texts in compiled code (scratch is a field of T), got one that is made here"
    if found := re.search(r"(?:NumbaTypeError|NumbaValueError): ((?!Failed in).+)", said):
        return found[1].strip()
    if found := re.search(r">>> (.+)", said):
        return f"expected types that go together, got {found[1].strip()[:200]}"
    lines = [line.strip() for line in said.splitlines() if not NOISE.match(line.strip())]
    return lines[0][:240] if lines else f"{type(said).__name__}"


def _tuples(things: Iterable[Any]) -> Iterator[Any]:
    """Yields every NamedTuple among some things, those inside others too."""
    for thing in things:
        if hasattr(thing, "_fields"):
            yield thing
            yield from _tuples(thing)


def _log_folders() -> Iterator[Path]:
    """Yields the folders that a log may be written to, the best first."""
    with contextlib.suppress(OSError):
        yield own_folder(cache_root() / "errors")
    yield Path(tempfile.gettempdir())


def _write_log(name: str, said: str) -> str:
    """Writes all that numba said to a file beside the compiled code, or among temporary files, and returns its path."""
    file = f"{''.join(c if c.isalnum() else '_' for c in name)}-{hashlib.sha256(said.encode()).hexdigest()[:8]}.log"
    for folder in _log_folders():
        path = folder / file
        try:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as temporary:
                temporary.write(said + "\n")
            os.replace(temporary.name, path)
        except OSError:
            continue
        return str(path)
    return "nowhere to write them"
