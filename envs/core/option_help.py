"""The help of a command whose options are a dataclass: what it does, how it is called, what matters most, then groups.

The docstring of a field is its help. A class may have `most_used`, the options that its help shows first.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FLAG_COLUMNS = 24
"""Widest column of options; what is longer has a line of its own."""
FEW = 5
"""Options that need no groups."""
GROUPS = {
    "Search": ("leaf", "depth", "seconds", "simulations", "options", "single"),
    "Processes": ("processes", "cluster", "workers"),
    "Files and output": (
        "file", "game_file", "save", "out", "svg", "png", "json", "review", "run", "runs", "resume", "overwrite", "verbose",
    ),
}  # fmt: skip
"""Group -> options of commands that it holds, whatever command has them."""
OTHER = "Other options"
"""The group of all others, and the last."""
KINDS = {"int": "INT", "float": "FLOAT", "Path": "PATH"}
"""Type -> what stands for a value of it; for all others STR."""
NAMES = re.compile(rf"\b(?:{'|'.join(KINDS)})\b")


def width_of_terminal() -> int:
    """Returns how wide help is: as the terminal, at most 100 columns."""
    return min(shutil.get_terminal_size().columns, 100)


def paragraphs(text: str) -> str:
    """Returns text filled to the terminal; a paragraph with an indented line stays as it is."""
    parts = re.split(r"\n\n+", inspect.cleandoc(text))
    return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width_of_terminal()) for part in parts)


def definitions(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    """Yields a list of words and what they mean, in two columns no wider than a terminal; nothing where there are none."""
    lines = [title] if rows else []
    column = max((len(word) for word in rows if len(word) <= FLAG_COLUMNS), default=0) + 4
    for word, meaning in rows.items():
        said = textwrap.wrap(meaning, width_of_terminal() - column) or [""]
        first = f"  {word:<{column - 2}}{said[0]}".rstrip()
        lines += [first, *(" " * column + line for line in said[1:])]
        if len(word) > column - 4:
            lines[-len(said) :] = [f"  {word}", *(" " * column + line for line in said)]
    if lines:
        yield "\n".join(lines)


def is_flat(config_class: type) -> bool:
    """Whether this module writes the help of a class: no option is a dataclass of its own, and tyro is told no markers."""
    nested = any(dataclasses.is_dataclass(field.default_factory) for field in dataclasses.fields(config_class))
    return not hasattr(config_class, "markers") and not nested and "Subcommand" not in str(config_class.__annotations__)


def docs_of(config_class: type) -> dict[str, str]:
    """Returns the docstrings of a dataclass's fields, its own or its bases', by name."""
    found: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for at, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(at, ast.AnnAssign) and isinstance(at.target, ast.Name) and isinstance(after, ast.Expr):
                found[at.target.id] = " ".join(inspect.cleandoc(ast.literal_eval(after.value)).split())
    return found


def title_of(config_class: type, name: str) -> str:
    """Returns the group of an option: in a class of a family the class that brings it, else by `GROUPS`."""
    family = [base for base in config_class.__mro__ if dataclasses.is_dataclass(base)]
    if len(family) > 1:
        first = next(base for base in reversed(family) if name in inspect.get_annotations(base))
        return inspect.cleandoc(str(first.__doc__)).partition("\n")[0].rstrip(".")
    return next((title for title, names in GROUPS.items() if name in names), OTHER)


def option_row(field: dataclasses.Field[Any], value: Any, said: str) -> tuple[str, str]:
    """Returns an option as it is typed and what it means, with its default where it has one that is not told."""
    flag, kind = "--" + field.name.replace("_", "-"), str(field.type)
    if isinstance(value, bool):
        return (f"--no-{flag[2:]}", f"Switches this off: {said[:1].lower()}{said[1:]}") if value else (flag, said)
    if value is dataclasses.MISSING or value is None or value == "" or value == () or "(default:" in said:
        default = " (required)" if value is dataclasses.MISSING else ""
    else:
        default = f" (default: {' '.join(map(str, value)) if isinstance(value, tuple) else value})"
    return f"{flag} {word_of(kind, value)}", said + default


def word_of(kind: str, value: Any) -> str:
    """Returns what stands for the value of an option of a type, by its text and the option's default."""
    if metavar := re.search(r"""metavar=["'](\w+)""", kind):
        return metavar[1]
    if choices := re.search(r"Literal\[(.*?)\]", kind):
        return "{" + re.sub(r"[\"' ]", "", choices[1]) + "}"
    first = value[0] if isinstance(value, tuple) and value else value
    shown = {int: "INT", float: "FLOAT"}.get(type(first)) or next((KINDS[name] for name in NAMES.findall(kind)), "STR")
    return f"[{shown} ...]" if "tuple[" in kind and "UseAppendAction" not in kind else shown


def default_of(field: dataclasses.Field[Any], default: Any) -> Any:
    """Returns the value of an option that is not given."""
    if default is not None:
        return getattr(default, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def help_of(
    config_class: type, prog: str, description: str | None = None, default: Any = None, more: Sequence[str] = ()
) -> str:
    """Returns the help of a command: `description` (default: the class's docstring), usage, arguments, options by group.

    `default` has the values that options have by default, where that is not the class; `more` comes last, as it is.
    """
    docs = docs_of(config_class)
    arguments: dict[str, str] = {}
    groups: dict[str, dict[str, str]] = {}
    most_used = getattr(config_class, "most_used", ())
    usage = ["usage:", prog]
    shown = [field for field in dataclasses.fields(config_class) if "Suppress" not in str(field.type)]
    options = [field for field in shown if "Positional" not in str(field.type)]
    for field in (field for field in shown if field not in options):
        needed = field.default is field.default_factory is dataclasses.MISSING
        arguments[field.name.upper() if needed else f"[{field.name.upper()}]"] = docs.get(field.name, "")
    first = [field for name in most_used for field in options if field.name == name]
    for field in [*first, *(field for field in options if field not in first)]:
        few = len(options) <= FEW
        title = "Options" if few else "Most used" if field in first else title_of(config_class, field.name)
        flag, said = option_row(field, default_of(field, default), docs.get(field.name, ""))
        groups.setdefault(title, {})[flag] = said
    groups.setdefault("Options" if len(options) <= FEW else OTHER, {})["-h, --help"] = "Shows this help."
    order = ["Options", "Most used", *GROUPS]
    titles = [title for title in order if title in groups]
    titles += [title for title in groups if title not in (*order, OTHER)] + [OTHER] * (OTHER in groups)
    usage += [*arguments, "[OPTIONS]"] if options else [*arguments]
    head = paragraphs(str(config_class.__doc__) if description is None else description)
    parts = [head] if head else []
    parts.append(textwrap.fill(" ".join(usage), width_of_terminal(), subsequent_indent="  ", break_on_hyphens=False))
    for title, rows in [("Arguments", arguments), *((title, groups[title]) for title in titles)]:
        parts += definitions(f"{title}:", rows)
    return "\n\n".join([*parts, *more])
