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
    """Exit status and output of a command line."""

    status: int
    out: str
    error: str

    @property
    def refusal(self) -> str:
        """The error line; fails the test if there is more output or the status is not 2."""
        assert (self.status, self.out) == (2, ""), self
        assert self.error.count("\n") == 1, self.error
        return self.error.strip()

    @property
    def json(self) -> Any:
        """The output, parsed as one JSON value."""
        return json.loads(self.out)

    @property
    def jsons(self) -> list[Any]:
        """The output, parsed as one JSON value per line."""
        return [json.loads(line) for line in self.out.splitlines()]


Shell = Callable[..., Answer]


def shows(output: str, *texts: str) -> None:
    """Fails the test unless the output contains all texts."""
    for text in texts:
        assert text in output, f"{text!r} in\n{output}"


def make_shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Returns a function that runs `leafwise` with a line of arguments, more unquoted arguments, and typed input."""

    def shell(line: str = "", *more: str, typed: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        monkeypatch.setattr(cli, "_pending_notes", [])  # left by a command line with an error
        capsys.readouterr()
        try:
            status = run([*shlex.split(line), *more])
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 0
        output = capsys.readouterr()
        return Answer(status, output.out, output.err)

    return shell
