"""The card of a model: what it is, how it was made, what it measures, told by the file itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leafwise.models.files import load_tensors
from leafwise.training.evaluation.intervals import interval_text
from leafwise.training.runs.options import flag_of, old_names
from leafwise.training.runs.recipes import class_of, default_method, modules

PUBLISHER = "leafwise.training.publish"


def card(path: Path, kind: Any) -> str:
    """Returns the card of a published model, of a kind as `leafwise.training.publish` tells."""
    told = load_tensors(path)[1]
    options = "".join(f", {name} = {value}" for name, value in told["options"].items())
    lines = [
        f"# {told['game']}{options}: a shipped {kind.WHAT}",
        "",
        *kind.about(path, told),
        f"`leafwise.load({source_of(path)!r})` loads it.",
        "",
    ]
    lines += commands("command", told["command"], told["commit"], told["game"])
    for start in starts(told):
        spent = f"{start['steps']:,} {kind.UNIT}, {start['seconds']:,.0f} s"
        lines += commands(
            f"which starts from a model ({spent}) of the command", start["command"], start["commit"], told["game"]
        )
    lines.append(f"- {told['steps']:,} {kind.UNIT} in {told['seconds']:,.0f} s of processor time on {told['hardware']}")
    lines += [*kind.made(told), "", *kind.figures(told), ""]
    lines += commands("published with", f"{told['publication']} --run RUN", told["published_at"], told["game"])
    return "\n".join([*lines, ""])


def source_of(path: Path) -> str:
    """Returns what `leafwise.load` takes for a model: a name for those that ship, else the path."""
    return path.stem if path.parent.name == "weights" and path.parent.parent.name == "models" else path.as_posix()


def commands(what: str, command: str, at: str, game: str) -> list[str]:
    """Returns the lines of a card about a command of some commit, and what it is in today's names."""
    at = re.sub("^([0-9a-f]{8})[0-9a-f]{32}$", r"\1", at)
    return [f"- {what}, as of commit {at}: `{command}`", f"- today: `{todays_command(command, game)}`"]


def todays_command(command: str, game: str) -> str:
    """Returns a command that learned a game, as a model file tells it, in today's names.

    A learner named no game where it was the method's usual one, a publisher none at all, and what learns by a module that is
    gone now learns by the game's own method.
    """
    python, flag, module, *words = shlex.split(command)
    if module == PUBLISHER:
        return command
    method = module.rpartition(".")[2]
    if method not in modules(game):
        method = default_method(game)
    names = old_names(class_of(game, method))
    renamed = [flag_of(names.get(w[2:].replace("-", "_"), w[2:])) if w.startswith("--") else w for w in words]
    if "--game" not in words:
        renamed = ["--game", game, *renamed]
    return shlex.join([python, flag, modules(game)[method], *renamed])


def starts(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields how the model was made that a model's training started from, then that model's, and so on."""
    while told := told.get("start") or {}:
        yield dict(told)


def interval(found: Mapping[str, float | None], form: str = ".1%") -> str:
    """Returns a mean with its 95 % interval."""
    return f"{found['mean']:{form}} ({interval_text(found['ci_low'], found['ci_high'], form)})"


def seeds_line(first: int, last: int) -> str:
    """Returns which seeds figures are of."""
    return f"seeds {first:,} to {last:,}, which neither training nor selection used"
