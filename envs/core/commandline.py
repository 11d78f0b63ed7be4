"""Command lines from dataclasses: tyro parses them, and wrong input becomes one line."""

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

from leafwise.envs.core.errors import UserError, perhaps, print_error
from leafwise.envs.core.option_help import help_of, is_flat

C = TypeVar("C")
W = TypeVar("W", bound=Sequence[str])
WRONG_INPUT = 2
"""Exit status if the input, or a file that the person named, was refused."""
UNREAD = 128 + 13
"""Exit status if nobody reads the output any more: what a shell sees of tools that end by SIGPIPE."""


def status_of(run: Callable[[W], int], words: W) -> int:
    """Runs a program and returns its exit status; a UserError becomes one line and status 2.

    So does a file that the system refuses. Everything else is a defect and keeps its traceback.
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
    """Whether an error is about a file or the disk, not about a process or a connection."""
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return full or (problem.filename is not None and not isinstance(problem, BrokenPipeError))


def cannot_use(problem: OSError, unnamed: str = "a file") -> str:
    """Returns the message about a file that the system refuses; `unnamed` replaces a missing name."""
    what = unnamed if problem.filename is None else repr(str(problem.filename))
    return f"cannot use {what}: {problem.strerror or problem}"


@contextlib.contextmanager
def quiet_when_unread() -> Iterator[None]:
    """Ends the program silently when the reader of its output (head, less) is gone; put it around everything that prints."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        unread = [stream for stream in (sys.stdout, sys.stderr) if _is_unread(stream)]
        if not unread:  # the pipe belongs to a worker process
            raise
        for stream in unread:  # discards what the interpreter flushes at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise SystemExit(UNREAD) from None


def _is_unread(stream: TextIO) -> bool:
    """Whether the other end of a stream is closed; True if the system cannot tell."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLOUT)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def flag_of(name: str) -> str:
    """Returns an option's name as a command-line flag."""
    return "--" + name.replace("_", "-")


def with_home(words: Sequence[str]) -> list[str]:
    """Returns a command line with ~ expanded in `--option=~/file`, which shells do not expand."""
    expanded = []
    for word in words:
        flag, equals, value = word.partition("=")
        is_path = equals and flag.startswith("--") and value.startswith("~")
        expanded.append(f"{flag}={os.path.expanduser(value)}" if is_path else word)
    return expanded


def parse(
    config_class: type[C],
    arguments: Sequence[str],
    prog: str,
    description: str | None = None,
    default: C | None = None,
    more_help: Sequence[str] = (),
    other_flags: Sequence[str] = (),
) -> C:
    """Returns a `config_class` filled from arguments; its docstrings are the help.

    `description` replaces the class's docstring, the values of `default` those of the class; `more_help` is printed below the
    options. `other_flags` are options that the caller took out before; a wrong option may be meant as one. A class may have
    `markers` of tyro, which then writes its help. Exits with status 0 after `--help`, and with status 2 after one line on standard
    error for wrong arguments.
    """
    if not {"-h", "--help"}.isdisjoint(arguments) and is_flat(config_class):
        with quiet_when_unread():
            print(help_of(config_class, prog, description, default, more_help))
        raise SystemExit(0)
    import tyro

    markers = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    printed = io.StringIO()
    try:
        with quiet_when_unread(), contextlib.redirect_stderr(printed):
            return tyro.cli(
                config_class,
                args=with_home(arguments),
                prog=prog,
                description=description,
                default=tyro.MISSING_NONPROP if default is None else default,
                config=getattr(config_class, "markers", markers),
            )
    except SystemExit as exit:
        if exit.code not in (0, None, UNREAD):
            print_error(f"{one_line(printed.getvalue(), other_flags)} (see {prog} --help)")
        raise


def one_line(box: str, other_flags: Sequence[str] = ()) -> str:
    """Shortens tyro's framed message to what was expected and what came; a wrong option may be meant as one of `other_flags`."""
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
        meant = f"; perhaps {near[1]}" if near else perhaps(re.split("[ ,=]", wrong[1])[0], other_flags)
        return f"expected known arguments, got {wrong[1].replace(', ', ' ')!r}" + meant.replace("'", "")
    return body[:1].lower() + body[1:]
