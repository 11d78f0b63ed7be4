"""Lists the models that ship, with game, network, size and measured strength; `export` and `push` share one."""

from __future__ import annotations

import json
import struct
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from leafwise.cli import OutputFile, Report, command, folder_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.option_help import width_of_terminal
from leafwise.measured import measured


@dataclass(frozen=True)
class Config:
    """Lists the models that ship, with the figures of their files. `leafwise models export --help` is about files for other
    programs, `leafwise models push --help` about the Hugging Face Hub.

    Measured is a mean with its 95 % interval, by a search of that depth. The games, ships or positions were not used in training.
    "by hand" is a hand-made leaf in the same search. A best move keeps the value of its position; only positions count where some
    move does not. Values are in the unit of `analyze` and `play`, with the largest mean error over a tenth of the positions.

    Examples:
      leafwise models
      leafwise models trap
    """

    name: tyro.conf.Positional[str] = ""
    """One model, or all models of a game, with their training (default: a short list of all)."""
    json: bool = False
    """Print one JSON object per model."""


def weights() -> Path:
    """Returns the folder of the models."""
    return folder_of("models") / "weights"


def metadata(path: Path) -> dict[str, Any]:
    """Returns the unchecked metadata of a model file without reading its tensors (`models.tensors` imports NumPy)."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = file.read(min(size, path.stat().st_size))
    info: dict[str, Any] = json.loads(json.loads(header)["__metadata__"]["leafwise"])
    return info


def described(path: Path) -> dict[str, Any]:
    """Returns the description of a model; a measurement's `mean`, `ci_low` and `ci_high` are in its `unit`."""
    info = metadata(path)
    shipped_units = json.loads(read_text(path.parent / "units.json"))
    units = shipped_units.get(path.name) or info.get("units")
    score = info.get("score") or []
    return {
        "name": path.stem,
        "game": info["game"],
        "options": info["options"],
        "kind": info["kind"],
        "megabytes": path.stat().st_size / 1e6,
        "score": [measured(one, units) for one in (score if isinstance(score, list) else [score]) if one],
        "unit": units and units["name"],
        "unit_error": units and units["error"],
        "command": info["command"],
        "commit": info["commit"],
        "steps": info["steps"],
        "seconds": info.get("seconds"),
        "hardware": info.get("hardware"),
        "file": str(path),
        "card": str(path.with_suffix(".md")),
    }


def listed(path: Path) -> dict[str, Any]:
    """Returns the description of a model, or `name`, `file` and what is `wrong` of a broken file."""
    try:
        about = described(path)
        _ = *section(about), *details(about)
        return about
    except Exception as problem:  # a broken file may raise anything
        return {"name": path.stem, "game": "", "file": str(path), "wrong": wrong(path, problem)}


def wrong(path: Path, problem: Exception) -> str:
    """Returns in one line why a file is not a model."""
    from leafwise.envs.core.errors import short
    from leafwise.models.tensors import load_metadata

    try:
        load_metadata(path)
    except UserError as refused:
        return short(refused, 240)
    return short(f"expected the metadata of a published model, got {str(path)!r}: {problem!r}", 240)


def number(value: float | None, unit: str | None) -> str:
    """Formats a figure: a share in percent, a large score without decimals."""
    if value is None:
        return ""
    if unit is not None and unit.startswith(("share", "chance")):
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"


def off_by(about: dict[str, Any]) -> str:
    """Formats the error of a model's units: a share of a final score, percentage points of a chance."""
    unit, error = about["unit"], about["unit_error"]
    if error is None:
        return ""
    return f"{100 * error:.1f} %" if unit.startswith("chance") or unit == "expected final score" else f"{error:.3f}"


def mean_of(unit: str | None) -> str:
    """Returns the meaning of a mean over games in words, by the unit of values (None: unknown)."""
    if unit is not None and unit.startswith("chance"):
        return "share of games won"
    return "mean return" if unit is None else unit.replace("expected", "mean")


def section(about: dict[str, Any]) -> Iterator[str]:
    """Yields a model as lines of text: its game, the unit of its values, a line for each measurement."""
    variant_text = " ".join([about["game"], *(f"{name}={value}" for name, value in about["options"].items())])
    yield f"{about['name']}: {variant_text}, {about['kind']} network, {about['megabytes']:.2f} MB"
    if about["unit"]:
        yield f"  values: {about['unit']}, off by at most {off_by(about)}"
    for variant in dict.fromkeys(one["variant"] for one in about["score"]):
        measurements = [one for one in about["score"] if one["variant"] == variant]
        unit = measurements[0]["unit"]
        yield f"  measured{f', {variant}' * bool(variant)}: {mean_of(unit)}"
        for one in measurements:
            mean, low, high, by_hand = (number(one[name], unit) for name in ("mean", "ci_low", "ci_high", "hand_made"))
            line = f"    depth {one['depth']}  {mean:>8}" + f" ({low} to {high})" * bool(low and high)
            yield line + f", by hand {by_hand}" * bool(by_hand) + f", {one['count']:,} {one['of']}"
    if not about["score"]:
        yield "  measured: see its card"


def details(about: dict[str, Any]) -> Iterator[str]:
    """Yields the training of a model as lines of text."""
    name = about["name"]
    yield f"{name}: leafwise.load({name!r}), of {about['steps']:,} steps, commit {about['commit'][:8]}"
    if about["seconds"] is not None:
        yield f"  trained  {about['seconds']:,.0f} s on {about['hardware']}"
    lines = textwrap.wrap(
        f"  by       {about['command']}", width_of_terminal() - 2, subsequent_indent=" " * 11, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    yield " \\\n".join(lines)  # as a shell reads it
    yield f"  card     {about['card']}"


@dataclass(frozen=True)
class ExportConfig:
    """Writes a network as an ONNX file that takes the environment's observation and needs no Leafwise. Needs the extra `onnx`."""

    model: tyro.conf.Positional[str]
    """Name of a model that ships, a run folder or a model file."""
    onnx: Annotated[OutputFile, tyro.conf.arg(metavar="FILE")]
    """File to write."""
    overwrite: bool = False
    """Overwrite the file if it exists."""


@command(ExportConfig, "leafwise models export")
def export(config: ExportConfig) -> Iterator[Report]:
    """Writes a network for other programs."""
    from leafwise.models.files import game_of, load_network, model_path
    from leafwise.models.onnx_export import OPSET, write_onnx

    network = load_network(model_path(config.model), game_of(config.model))
    write_onnx(network, Path(config.onnx))
    size = Path(config.onnx).stat().st_size / 1e6
    yield f"{config.onnx}: {network.game!r}, {size:.1f} MB, ONNX opset {OPSET}"


@dataclass(frozen=True)
class PushConfig:
    """Shows the files of a model for the Hugging Face Hub, the model and its card; with `--yes` uploads them.

    Others then play with it as `search:hf://OWNER/NAME,depth=2`. Log in by `hf auth login` first. Needs the extra `hub`.
    """

    model: tyro.conf.Positional[str]
    """Name of a model that ships, a run folder or a model file; the card is the .md beside the file, if there is one."""
    repository: tyro.conf.Positional[str]
    """OWNER/NAME on the Hub."""
    yes: bool = False
    """Upload; a new repository is created if needed."""
    private: bool = False
    """Make the repository private."""
    license: str = ""
    """Licence of the model, by the Hub's names (default: mit for models that ship, else none)."""


@command(PushConfig, "leafwise models push")
def push(config: PushConfig) -> Iterator[Report]:
    """Writes a model to the Hub."""
    from leafwise import hub
    from leafwise.models.files import game_of, model_path

    path = model_path(config.model)
    files = hub.operations(path, game_of(config.model), config.repository, config.license)
    message = f"{path.stem if path.parent == weights() else 'Model'} of Leafwise"
    for file in files:
        content = file.path_or_fileobj
        beside = f" of {content}" if isinstance(content, str) else ""
        yield f"{file.path_in_repo}: {file.upload_info.size:,} bytes{beside}"
        if isinstance(content, bytes):
            yield f"\n{content.decode()}"
    if config.yes:
        yield hub.push(config.repository, files, message, config.private)
    else:
        yield f"nothing was written: --yes makes one commit to {config.repository}, {message!r}"


OTHERS = {"export": export, "push": push}
"""Other commands for one model."""


def main(words: Sequence[str]) -> int:
    """Runs one of the commands."""
    other = OTHERS.get(words[0] if words else "")
    return other(words[1:]) if other else listing(words)


@command(Config, "leafwise models")
def listing(config: Config) -> Iterator[Report]:
    """Lists the models."""
    all_models = [listed(path) for path in sorted(weights().glob("*.safetensors"), key=lambda path: path.stem)]
    chosen = [about for about in all_models if config.name in ("", about["name"], about["game"])]
    if not chosen:
        raise UserError(
            f"expected a model among {', '.join(about['name'] for about in all_models)}, or a game of one, got {config.name!r}"
        )
    if config.json:
        yield from ((about, ()) for about in chosen)
        return
    models = [about for about in chosen if "wrong" not in about]
    for about in models:
        yield from section(about)
    for about in chosen:
        if "wrong" in about:
            yield f"{about['name']}: {about['wrong']}"
    for about in models if config.name else ():
        yield "\n".join(["", *details(about)])
    if not config.name:
        yield f"cards: {weights() / 'MODEL.md'}\nhow one was made: leafwise models MODEL"
