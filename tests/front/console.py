"""Runs command lines inside the test's process."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import pytest

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


Shell = Callable[..., Answer]


def make_shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Returns a function that runs `leafwise` with arguments and typed lines."""

    def shell(*arguments: str, typed: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        try:
            status = run(arguments)
        except SystemExit as exit:
            status = exit.code if isinstance(exit.code, int) else 0
        said = capsys.readouterr()
        return Answer(status, said.out, said.err)

    return shell
