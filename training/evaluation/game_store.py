"""Games that have been played, in memory and in a file: evaluations, round robins and studies that stop go on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import is_stream, read_text, write_named

SAVE_SECONDS = 2.0
"""Between two times that games are written as they are played."""
K = TypeVar("K")
V = TypeVar("V")


class GameStore(dict[K, V]):
    """Games, or what came of them, by what tells them apart: a seed, the players and the round, a name.

    The file is a JSON object: `about`, what the games are of, beside the games `under` a name ("": the games alone). `encode` and
    `decode` say how the games are written. A file about something else is refused, or with `anew` left alone until the first
    games are written over it.
    """

    def __init__(
        self,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
        *,
        under: str = "",
        what: str = "kept results",
        encode: Callable[[Mapping[K, V]], Any] = dict,
        decode: Callable[[Any], Mapping[K, V]] = dict,
        indent: int | None = None,
    ) -> None:
        super().__init__()
        self.file, self.about, self.under, self.what = file, dict(about or {}), under, what
        self._encode, self._decode, self._indent = encode, decode, indent
        self._saved = time.monotonic()

    def begin(self, who: str, resume: bool) -> None:
        """Takes over the games of the file, if there is one; raises ValueError for one that is not to be gone on with."""
        if self.file is None or not self.file.exists() or is_stream(self.file):
            return
        if not resume:
            raise UserError(f"{who}: expected a new file, or to resume, got {str(self.file)!r}, which is there")
        self.read(self.file)

    def read(self, path: Path, *, anew: bool = False) -> None:
        """Takes over the games of a file; raises ValueError for a file of something else, or with `anew` takes none."""
        try:
            old = json.loads(read_text(path))
            wrong = [(name, value, old.get(name)) for name, value in self.about.items() if old.get(name) != value]
            games = {} if wrong and anew else self._decode(old[self.under] if self.under else old)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise UserError(f"expected {self.what}, got {str(path)!r}: {problem!s:.120}") from None
        for name, value, got in wrong[: not anew]:
            raise UserError(f"{str(path)!r}: expected {name} {value!r}, got {got!r:.120}")
        self.update(games)

    def add(self, key: K, games: V, beside: Mapping[str, Any] | None = None) -> None:
        """Keeps games; the file has them a moment later, a device or a pipe at the end."""
        self[key] = games
        if self.file and time.monotonic() - self._saved > SAVE_SECONDS and not is_stream(self.file):
            self.save(beside)

    def keep(self, key: K, games: V, line: str = "") -> None:
        """Keeps what came of games, writes it at once, and prints a line about it."""
        self[key] = games
        self.save()
        print(line or f"{key} {games}", flush=True)

    def find(self, key: K, work: Callable[[], V]) -> V:
        """Returns what is known of a name, worked out and kept now if nothing is."""
        if key not in self:
            self.keep(key, work())
        return self[key]

    def save(self, beside: Mapping[str, Any] | None = None) -> None:
        """Writes the file whole, if there is one, with what else is to stand in it."""
        if self.file is not None:
            games = self._encode(self)
            everything = {**self.about, **(beside or {}), self.under: games} if self.under else games
            write_named(self.file, (json.dumps(everything, indent=self._indent) + "\n").encode())
        self._saved = time.monotonic()


def missing_seeds(done: int, games: int, most: int, first: int) -> Iterator[range]:
    """Yields the seeds of games that are still to be played, at most so many at a time."""
    while done < games:
        block = range(first + done, first + min(done + most, games))
        yield block
        done += len(block)
