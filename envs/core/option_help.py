"""Writes the help of a command whose options are a dataclass: what it does, usage, the most used options, then groups.

The docstring of a field is its help. A class may have `most_used`, the options to show first.
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
"""Widest column of options; a longer option has a line of its own."""
FEW = 5
"""Up to this number of options are not grouped."""
GROUPS = {
    "Search": ("leaf", "depth", "seconds", "simulations", "options", "single"),
    "Processes": ("processes", "cluster", "workers"),
    "Files and output": (
        "file", "game_file", "save", "out", "svg", "png", "json", "review", "run", "runs", "resume", "overwrite", "verbose",
    ),
}  # fmt: skip
"""Group -> the options in it, of all commands."""
OTHER = "Other options"
"""The last group, with all other options."""
KINDS = {"int": "INT", "float": "FLOAT", "Path": "PATH"}
"""Type -> the placeholder for a value of it; STR for all others."""
NAMES = re.compile(rf"\b(?:{'|'.join(KINDS)})\b")


def width_of_terminal() -> int:
    """Returns the width of help texts: that of the terminal, at most 100 columns."""
    return min(shutil.get_terminal_size().columns, 100)


def paragraphs(text: str) -> str:
    """Returns text filled to the terminal; paragraphs with an indented line stay unchanged."""
    parts = re.split(r"\n\n+", inspect.cleandoc(text))
    return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width_of_terminal()) for part in parts)


def definitions(title: str, rows: Mapping[str, str]) -> Iterator[str]:
    """Yields a list of words and their meanings, in two columns within the terminal; nothing for no rows."""
    lines = [title] if rows else []
    column = max((len(word) for word in rows if len(word) <= FLAG_COLUMNS), default=0) + 4
    for word, meaning in rows.items():
        wrapped = textwrap.wrap(meaning, width_of_terminal() - column) or [""]
        first = f"  {word:<{column - 2}}{wrapped[0]}".rstrip()
        lines += [first, *(" " * column + line for line in wrapped[1:])]
        if len(word) > column - 4:
            lines[-len(wrapped) :] = [f"  {word}", *(" " * column + line for line in wrapped)]
    if lines:
        yield "\n".join(lines)


def is_flat(config_class: type) -> bool:
    """Whether this module writes the help of a class: it has no nested dataclasses and no tyro markers."""
    nested = any(dataclasses.is_dataclass(field.default_factory) for field in dataclasses.fields(config_class))
    return not hasattr(config_class, "markers") and not nested and "Subcommand" not in str(config_class.__annotations__)


def docs_of(config_class: type) -> dict[str, str]:
    """Returns the docstrings of a dataclass's fields, its own and inherited ones, by name."""
    docs: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, docstring in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(docstring, ast.Expr)
            ):
                docs[field.target.id] = " ".join(inspect.cleandoc(ast.literal_eval(docstring.value)).split())
    return docs


def title_of(config_class: type, name: str) -> str:
    """Returns the group of an option: for an inherited option the class that defines it, otherwise by `GROUPS`."""
    family = [base for base in config_class.__mro__ if dataclasses.is_dataclass(base)]
    if len(family) > 1:
        first = next(base for base in reversed(family) if name in inspect.get_annotations(base))
        return inspect.cleandoc(str(first.__doc__)).partition("\n")[0].rstrip(".")
    return next((title for title, names in GROUPS.items() if name in names), OTHER)


def option_row(field: dataclasses.Field[Any], value: Any, text: str) -> tuple[str, str]:
    """Returns an option as it is typed, and its meaning with its default, unless the text names it already."""
    flag, kind = "--" + field.name.replace("_", "-"), str(field.type)
    if isinstance(value, bool):
        return (f"--no-{flag[2:]}", f"Switches this off: {text[:1].lower()}{text[1:]}") if value else (flag, text)
    if value is dataclasses.MISSING or value is None or value == "" or value == () or "(default:" in text:
        default = " (required)" if value is dataclasses.MISSING else ""
    else:
        default = f" (default: {' '.join(map(str, value)) if isinstance(value, tuple) else value})"
    return f"{flag} {word_of(kind, value)}", text + default


def word_of(kind: str, value: Any) -> str:
    """Returns the placeholder for an option's value, from the text of its type and its default."""
    if metavar := re.search(r"""metavar=["'](\w+)""", kind):
        return metavar[1]
    if choices := re.search(r"Literal\[(.*?)\]", kind):
        return "{" + re.sub(r"[\"' ]", "", choices[1]) + "}"
    first = value[0] if isinstance(value, tuple) and value else value
    shown = {int: "INT", float: "FLOAT"}.get(type(first)) or next((KINDS[name] for name in NAMES.findall(kind)), "STR")
    return f"[{shown} ...]" if "tuple[" in kind and "UseAppendAction" not in kind else shown


def default_of(field: dataclasses.Field[Any], default: Any) -> Any:
    """Returns the default value of an option."""
    if default is not None:
        return getattr(default, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def help_of(
    config_class: type, prog: str, description: str | None = None, default: Any = None, more: Sequence[str] = ()
) -> str:
    """Returns the help of a command: `description` (default: the class's docstring), usage, arguments, options by group.

    `default` has the default values of options, if they differ from the class; `more` is printed last, unchanged.
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
        flag, text = option_row(field, default_of(field, default), docs.get(field.name, ""))
        groups.setdefault(title, {})[flag] = text
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
