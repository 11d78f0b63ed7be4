"""Explains in two lines why a function does not compile; the second names a log with numba's full report."""

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

NUMBA_FOLDER = str(Path(numba.__file__).parent)
"""Numba's own sources, which are left out of explanations."""

CALLEE = re.compile(r"During: resolving callee type: type\((?:Function|CPUDispatcher)\(<function ([\w.<>]+) at ")
TYPED_AT = re.compile(r"^ *During: .* at (.+) \((\d+)\)$", re.MULTILINE)
SHOWN_AT = re.compile(r"^ *File \"(.+)\", line (\d+):\n(?: *def (\w+)\()?", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
"""Escape codes that numba's reports contain if colorama is installed."""
NOISE = re.compile(r"^(Failed in \w+ mode pipeline|- Resolution failure|During: |File |$)")


class CompileError(UserError):
    """A function of a game, a leaf or a search does not compile; `log` is the file with numba's full report."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log

    def __reduce__(self):
        return CompileError, (str(self), self.log)


class ErrorLocation(NamedTuple):
    """Where compilation failed: the name of the function, and its file and line if they are known."""

    function: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.function
        source = linecache.getline(self.file, self.line).strip()
        return f"{self.function}, {os.path.basename(self.file)} line {self.line}" + (f", `{source}`" if source else "")


def explained_error(problem: BaseException, function: Any, arguments: Iterable[Any]) -> CompileError:
    """Returns why `function`, called with `arguments`, does not compile, in two lines; writes numba's full report to a log."""
    report = COLOURS.sub("", str(problem))
    location = _location_of(report, function)
    log = _write_log(location.function, report)
    reason = _reason(report, list(_tuples(arguments)))
    return CompileError(f"{location} does not compile:\n{reason} (numba's own words: {log})", log)


def _location_of(report: str, function) -> ErrorLocation:
    """Returns the innermost function outside numba that the report names, and the line in it."""
    callee = CALLEE.search(report)
    for match in SHOWN_AT.finditer(report):
        if _is_of_numba(match[1]):
            continue
        if callee and callee.start() < match.start():
            break  # a caller: the report does not give its line
        typed = next(
            (m for m in TYPED_AT.finditer(report) if int(m[2]) == int(match[2]) and not _is_of_numba(m[1])), None
        )
        return ErrorLocation(match[3] or _plain(function.__qualname__), typed[1] if typed else match[1], int(match[2]))
    return ErrorLocation(_plain(callee[1] if callee else function.__qualname__))


def _is_of_numba(path: str) -> bool:
    return NUMBA_FOLDER in path or "/numba/" in path.replace(os.sep, "/")


def _plain(name: str) -> str:
    """Returns a function's name without its factory's name and fingerprint."""
    return name.rpartition(".")[2].partition("__")[0] or name


def _reason(report: str, tuples: list[Any]) -> str:
    """Returns one line that says what is wrong, in our words if the kind of error is known."""
    if match := re.search(r"Unknown attribute '(\w+)' of type (\w+)\(", report):
        fields = next((t._fields for t in tuples if type(t).__name__ == match[2]), ())
        return (
            f"expected a field of {match[2]} among ({', '.join(fields)}), got {match[1]!r}{perhaps(match[1], fields)}"
        )
    if match := re.search(r"to signature '(.*)' due to \"(?:\w+: )?(.*?)\.?\"", report):
        return f"expected arguments {match[1]}, got {match[2]}"
    if match := re.search(r"NameError: name '(\w+)' is not defined", report):
        return f"expected names that the module defines, got {match[1]!r}"
    if "NRT required but not enabled" in report or "Only accept returning of array passed" in report:
        return "expected no new arrays, lists or texts in compiled code (scratch is a field of T), got one that is made here"
    if match := re.search(r"(?:NumbaTypeError|NumbaValueError): ((?!Failed in).+)", report):
        return match[1].strip()
    if match := re.search(r">>> (.+)", report):
        return f"expected types that go together, got {match[1].strip()[:200]}"
    lines = [line.strip() for line in report.splitlines() if not NOISE.match(line.strip())]
    return lines[0][:240] if lines else f"{type(report).__name__}"


def _tuples(things: Iterable[Any]) -> Iterator[Any]:
    """Yields every NamedTuple among `things`, nested ones too."""
    for thing in things:
        if hasattr(thing, "_fields"):
            yield thing
            yield from _tuples(thing)


def _log_folders() -> Iterator[Path]:
    """Yields the folders that a log may be written to, the best first."""
    with contextlib.suppress(OSError):
        yield own_folder(cache_root() / "errors")
    yield Path(tempfile.gettempdir())


def _write_log(name: str, report: str) -> str:
    """Writes numba's report to a file beside the compiled code, or among temporary files, and returns its path."""
    file = f"{''.join(c if c.isalnum() else '_' for c in name)}-{hashlib.sha256(report.encode()).hexdigest()[:8]}.log"
    for folder in _log_folders():
        path = folder / file
        try:
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as temporary:
                temporary.write(report + "\n")
            os.replace(temporary.name, path)
        except OSError:
            continue
        return str(path)
    return "nowhere to write them"
