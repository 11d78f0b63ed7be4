"""The card of a model: what it is, how it was made, what it measures, told by the file itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.registry import source_of as source_of_game
from leafwise.models.files import load_tensors
from leafwise.training.evaluation.statistics import interval_text
from leafwise.training.runs.recipes import RENAMED, methods
from leafwise.training.runs.run_options import option_text, take_option


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
    lines.append(command_line("command", told["command"], told["commit"]))
    for start in starts(told):
        spent = f"{start['steps']:,} {kind.UNIT}, {start['seconds']:,.0f} s"
        what = f"which starts from a model ({spent}) of the command"
        lines.append(command_line(what, start["command"], start["commit"]))
    lines.append(f"- today: `{train_command(told)}`; the game's recipe and the method's defaults say the rest")
    lines.append(f"- {told['steps']:,} {kind.UNIT} in {told['seconds']:,.0f} s of processor time on {told['hardware']}")
    lines += [*kind.made(told), "", *kind.figures(told), ""]
    lines.append(command_line("published with", f"{told['publication']} --run RUN", told["published_at"]))
    return "\n".join([*lines, ""])


def source_of(path: Path) -> str:
    """Returns what `leafwise.load` takes for a model: a name for those that ship, else the path."""
    return path.stem if path.parent.name == "weights" and path.parent.parent.name == "models" else path.as_posix()


def command_line(what: str, command: str, at: str) -> str:
    """Returns the line of a card about a command of some commit, told as it stood then."""
    at = re.sub("^([0-9a-f]{8})[0-9a-f]{32}$", r"\1", at)
    return f"- {what}, as of commit {at}: `{command}`"


def train_command(told: Mapping[str, Any]) -> str:
    """Returns the command that trains such a model now, by the method in its file's command, else by the one to begin with."""
    game, words = told["game"], shlex.split(told["command"])
    named = take_option(words, "--method")[0] or words[min(2, len(words) - 1)].rpartition(".")[2]
    fitting = methods(game)
    method = next((name for name in (named, *RENAMED.get(named, ())) if name in fitting), next(iter(fitting)))
    options = (word for name, value in told["options"].items() for word in (flag_of(name), option_text(value)))
    added = ("--module", source) if (source := source_of_game(game)) else ()
    return shlex.join(["leafwise", "train", game, "--method", method, *options, *added])


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
