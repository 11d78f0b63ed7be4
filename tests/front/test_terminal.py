"""What people see at a terminal of 80x24 or 120x40: games, bars, Ctrl-C."""

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("terminals of POSIX", allow_module_level=True)
import fcntl
import pty
import struct
import termios


class Terminal:
    """A command in its own terminal, and what it has shown since the last call."""

    def __init__(self, line: str, columns: int, lines: int, folder: Path) -> None:
        self.terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environ = {name: x for name, x in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR", "CI")}
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{RUN}",
                *line.split(),
            ],
            stdin=other,
            stdout=other,
            stderr=other,
            env={**environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"},
            cwd=folder,
            start_new_session=True,
        )
        self.other, self.shown = other, ""

    def until(self, pattern: str) -> str:
        """Waits until the new output matches; returns it."""
        while not re.search(pattern, self.shown):
            assert self.read(), f"{pattern!r} in {self.shown!r}"
        shown, self.shown = self.shown, ""
        return shown

    def read(self) -> bool:
        """Reads the next output; returns whether there was any or the process still runs."""
        if select.select([self.terminal], [], [], 0.05)[0]:
            self.shown += os.read(self.terminal, 65536).decode()
            return True
        return self.process.poll() is None

    def type(self, text: str) -> None:
        """Types text."""
        os.write(self.terminal, text.encode())

    def end(self) -> str:
        """Waits for the end of the process; returns the new output."""
        while self.read():
            pass
        self.echoes = bool(termios.tcgetattr(self.other)[3] & termios.ECHO)
        os.close(self.terminal)
        os.close(self.other)
        return self.shown


RUN = "import sys; from leafwise.__main__ import main; main()"
SIGNS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SIZES = pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 40)])


def fits(shown: str, columns: int) -> None:
    """Fails the test for a line that is wider than the terminal."""
    for line in re.split(r"[\r\n]+", SIGNS.sub("", shown)):
        assert len(line) <= columns, line


@SIZES
def test_a_game_fits_and_has_its_colours(columns: int, lines: int, tmp_path: Path) -> None:
    at = Terminal("play cassis --opponent solver --leaf safe_edges --depth 1", columns, lines, tmp_path)
    fits(at.until("4-5> $"), columns)
    for key in "h?":
        at.type(f"{key}\n")
        fits(at.until("\n.*4-5> $"), columns)
    at.type("0-1\n")
    shown = at.until("4-5> $|3-5> $")
    fits(shown, columns)
    assert shown.count("  1 2 3 4 5") == 2  # before and after the opponent's move
    assert "\x1b[31mx\x1b[0m" in shown
    assert "\x1b[34mo\x1b[0m" in shown
    at.type("u\n")
    assert "\n0 . . . . .\r" in at.until("4-5> $")
    at.type("q\n")
    assert "left the game at" in at.end()


def test_a_bar_fits_keeps_keys_out_and_ctrl_c_is_answered(tmp_path: Path) -> None:
    command = "train cassis --method dqn --interval 500 --total-steps 900000000 --match-pairs 100 --run run"
    at = Terminal(command, 80, 24, tmp_path)
    at.until(r"\d+%.* left")
    at.type("keys")
    shown = SIGNS.sub("", at.until(r"0\.\d.* of poi"))
    fits(shown, 80)
    assert "keys" not in shown
    at.type("\x03")
    shown = at.end()
    assert at.process.wait() == 0
    assert "continue with --run run --resume" in shown
    assert at.echoes  # again


@pytest.mark.parametrize(
    ("line", "action", "words", "columns", "lines"),
    [
        ("threes --leaf openness", "up", "merges", 80, 24),
        ("friday --leaf pirates", "first", "ends the fight", 80, 24),
        ("trap --opponent random --leaf reach", "S", "neighbour", 80, 24),
        ("trilobite --opponent random --leaf lines", "2", "lowest free cell", 120, 40),
        ("starship --leaf hopeful", "10,10N", "to be placed: cockpit", 80, 24),
    ],
)
def test_every_game_fits_hints_explains_refuses_takes_back_and_ends(
    line: str, action: str, words: str, columns: int, lines: int, tmp_path: Path
) -> None:
    at = Terminal(f"play {line} --depth 1 --seed 1", columns, lines, tmp_path)
    shown = at.until("> $")
    assert "hints: search, leaf " in shown  # asked for, so no solver
    for typed, text in (
        ("h", "  by search, depth 1"),
        ("?", "q quits"),
        ("nonsense", "got 'nonsense'"),
        ("u", "take back"),
    ):
        at.type(f"{typed}\n")
        part = at.until("> $")
        assert text in " ".join(SIGNS.sub("", part).split()) or text in part
        shown += part
    at.type(f"{action}\n")
    shown += at.until("> $")
    at.type("u\n")
    shown += at.until("> $")
    assert words in " ".join(shown.split())
    assert "`" not in shown
    fits(shown, columns)
    at.type("\x04")  # the end of input
    assert "left the game at" in at.end()
    assert at.process.wait() == 0


def test_hints_name_the_solver_that_there_is_and_ctrl_c_ends_a_game_with_one_word(tmp_path: Path) -> None:
    at = Terminal("play trilobite --opponent random", 80, 24, tmp_path)
    assert "hints: the exact solver, else search" in at.until("> $")
    time.sleep(0.5)  # input() misses a signal between its prompt and its first read
    at.type("\x03")
    assert at.end().splitlines()[-1] == "interrupted"
    assert at.process.wait() == 130
