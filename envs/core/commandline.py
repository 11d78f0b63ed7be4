"""Command lines from dataclasses: tyro parses, and wrong input becomes one line."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, TypeVar

from leafwise.envs.core.errors import UserError, print_error
from leafwise.envs.core.option_help import help_of, is_flat

C = TypeVar("C")
W = TypeVar("W", bound=Sequence[str])
WRONG_INPUT = 2
"""Exit status where the input, or a file that the person named, was refused."""
UNREAD = 128 + 13
"""Exit status where nobody reads the output any more: what a shell sees of other tools, which end by SIGPIPE."""


def status_of(run: Callable[[W], int], words: W) -> int:
    """Returns the status of a program: where it raises what a person did wrong, that is one line, and status 2.

    So is a file that the system refuses. Everything else is a defect and keeps its traceback.
    """
    try:
        return run(words)
    except UserError as problem:
        print_error(problem)
    except OSError as problem:
        if not _is_of_a_file(problem):
            raise
        print_error(cannot_use(problem))
    return WRONG_INPUT


def _is_of_a_file(problem: OSError) -> bool:
    """Whether an error tells of a file or of the disk, rather than of a process or a connection."""
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return full or (problem.filename is not None and not isinstance(problem, BrokenPipeError))


def cannot_use(problem: OSError, unnamed: str = "a file") -> str:
    """Returns what is said of a file that the system refuses; `unnamed` stands for it where the error does not name it."""
    what = unnamed if problem.filename is None else repr(str(problem.filename))
    return f"cannot use {what}: {problem.strerror or problem}"


@contextlib.contextmanager
def quiet_when_unread() -> Iterator[None]:
    """Ends the program without a word once the reader of its output (head, less) has gone; put it around all that prints."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        unread = [stream for stream in (sys.stdout, sys.stderr) if _is_unread(stream)]
        if not unread:  # another pipe, to a process that works for this one
            raise
        for stream in unread:  # what is left in it goes nowhere when the interpreter ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(UNREAD) from None


def _is_unread(stream: TextIO) -> bool:
    """Whether the other end of a stream was closed; taken for granted where the system does not tell."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def flag_of(name: str) -> str:
    """Returns an option as it is written on a command line."""
    return "--" + name.replace("_", "-")


def with_home(words: Sequence[str]) -> list[str]:
    """Returns a command line with the user's home folder for the ~ in `--option=~/file`, which shells leave as it is."""
    found = []
    for word in words:
        flag, equals, value = word.partition("=")
        is_path = equals and flag.startswith("--") and value.startswith("~")
        found.append(f"{flag}={os.path.expanduser(value)}" if is_path else word)
    return found


def parse(
    config_class: type[C],
    arguments: Sequence[str],
    prog: str,
    description: str | None = None,
    default: C | None = None,
    more_help: Sequence[str] = (),
) -> C:
    """Returns a `config_class` filled from arguments; its docstrings are the help.

    `description` replaces the class's docstring, the values of `default` those of the class; `more_help` stands below the options.
    A class may have `markers` of tyro, which then writes its help. Exits with status 0 after `--help`, and with status 2 after one
    line on standard error for wrong arguments.
    """
    if not {"-h", "--help"}.isdisjoint(arguments) and is_flat(config_class):
        with quiet_when_unread():
            print(help_of(config_class, prog, description, default, more_help))
        raise SystemExit(0)
    import tyro

    usual = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    said = io.StringIO()
    try:
        with quiet_when_unread(), contextlib.redirect_stderr(said):
            return tyro.cli(
                config_class,
                args=with_home(arguments),
                prog=prog,
                description=description,
                default=tyro.MISSING_NONPROP if default is None else default,
                config=getattr(config_class, "markers", usual),
            )
    except SystemExit as exit:
        if exit.code not in (0, None, UNREAD):
            print_error(f"{one_line(said.getvalue())} (see {prog} --help)")
        raise


def one_line(box: str) -> str:
    """Condenses tyro's framed message to what was expected and got."""
    lines = [line.strip(" │") for line in box.splitlines()]
    rules = [k for k, line in enumerate(lines) if re.match("[─╭├╰]|[-+]-{2}|-+$", line)]
    ends = [*rules, len(lines)]
    message = lines[ends[0] + 1 : ends[1]] if len(ends) > 1 else lines
    body, whole = " ".join(message).strip(), " ".join(lines)
    if body.startswith("Missing from"):
        missing = [line for line in message[1:] if re.fullmatch(r"[A-Z][A-Z_]*|--\S+( .*)?", line)]
        return f"expected {' and '.join(missing)}, got nothing"
    if wrong := re.match(r"Error parsing (\S+): .*?('[^']*'|\"[^\"]*\")", body):
        kind = re.search(re.escape(wrong[1]) + r" (?:\{None\}\|)?\[?([A-Z|{}][^\s\]]*)", " ".join(lines[ends[1] :]))
        return f"expected {kind[1] if kind else 'another value'} for {wrong[1]}, got {wrong[2]}"
    if wrong := re.match(r"invalid choice ('.*') for argument '(.*)'\. Expected one of \((.*?),?\)", body):
        return f"expected {wrong[3].replace(chr(39), '')} for {wrong[2]}, got {wrong[1]}"
    if wrong := re.match(r"Missing value for argument '(.*?)'", body):
        return f"expected a value after {wrong[1]}, got nothing"
    if wrong := re.match(r"Unrecognized options: (.*)", body):
        near = re.search(r"Perhaps you meant: .*?(--\S+)", whole)
        return f"expected known arguments, got {wrong[1].replace(', ', ' ')!r}" + (f"; perhaps {near[1]}" if near else "")
    return body[:1].lower() + body[1:]
