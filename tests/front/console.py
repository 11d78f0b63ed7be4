"""Runs command lines inside the test's process."""

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from leafwise import cli
from leafwise.__main__ import run


@dataclass(frozen=True)
class Answer:
    """What a command line did."""

    status: int
    out: str
    error: str

    @property
    def refusal(self) -> str:
        """The one line of a refused input; fails the test if there is more or the status is not 2."""
        assert (self.status, self.out) == (2, ""), self
        assert self.error.count("\n") == 1, self.error
        return self.error.strip()

    @property
    def json(self) -> Any:
        """What was printed as one JSON object."""
        return json.loads(self.out)

    @property
    def jsons(self) -> list[Any]:
        """What was printed as JSON objects, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Shell = Callable[..., Answer]


def shows(said: str, *texts: str) -> None:
    """Fails the test unless all texts stand in what was said."""
    for text in texts:
        assert text in said, f"{text!r} in\n{said}"


def make_shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Returns a function that runs `leafwise` with a line of arguments, more of them as they are, and typed lines."""

    def shell(line: str = "", *more: str, typed: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        monkeypatch.setattr(cli, "_pending_notes", [])  # of a command line that was refused
        capsys.readouterr()
        try:
            status = run([*shlex.split(line), *more])
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 0
        said = capsys.readouterr()
        return Answer(status, said.out, said.err)

    return shell
