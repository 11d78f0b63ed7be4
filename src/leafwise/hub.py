"""Uploads models to the Hugging Face Hub: a model and its card as one commit (extra `hub`).

`huggingface_hub` handles credentials: this module neither reads, prints nor stores them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.measured import measured
from leafwise.models.files import WORD, load_network, one_line
from leafwise.models.tensors import MODEL, WEIGHTS, load_metadata
from leafwise.models.units import shipped_units
from leafwise.training.runs import FINAL_SEED, SELECTION_SEED

try:
    from huggingface_hub import CommitOperationAdd, EvalResult, HfApi, ModelCardData, errors
except ModuleNotFoundError as missing:
    raise UserError(f"expected {missing.name} to write to the Hub, found none: pip install 'leafwise[hub]'") from None

README = "README.md"
"""The file of a repository that the Hub shows and indexes."""


def results(info: dict[str, Any], units: dict[str, Any] | None, game: str) -> list[EvalResult]:
    """Returns a model's measurements in the form of the Hub's leaderboards: metric, value, interval, seeds.

    A measurement of the run itself, which also chose the model, says so.
    """
    entries, score = [], info.get("score") or []
    for measurement in filter(None, score if isinstance(score, list) else [score]):
        if "depth" in measurement:
            one = measured(measurement, units)
            first = measurement.get("first_seed", info.get("first_seed", FINAL_SEED))
            name, variant, mean = one["unit"] or "mean result", one["variant"], one["mean"]
            how = {"depth": one["depth"], one["of"]: one["count"], "ci_low": one["ci_low"], "ci_high": one["ci_high"]}
        else:
            name, variant = "mean result, used to select this network", ""
            mean, first = measurement["mean"], SELECTION_SEED
            how = {
                key: value
                for key, value in measurement.items()
                if key != "mean" and not isinstance(value, (dict, list))
            }
        entries.append(
            EvalResult(
                task_type="reinforcement-learning",
                dataset_type=f"leafwise/{info['game']}", dataset_name=f"{game} {variant}".strip(),
                metric_type=re.sub(r"\W+", "_", name), metric_name=name, metric_value=mean, metric_args={"first_seed": first} | how,
            )
        )  # fmt: skip
    return entries


def card(path: Path, network: Any, repository: str, license: str) -> str:
    """Returns a model's card: the Hub's metadata, then the page beside the file, or a short text from the file itself."""
    info, name = load_metadata(path), repository.partition("/")[2]
    game = " ".join([info["game"], *(f"{option}={value}" for option, value in info["options"].items())])
    units = info.get("units") or (shipped_units().get(path.name) if path.parent == WEIGHTS else None)
    data = ModelCardData(
        library_name="leafwise", license=license or None, pipeline_tag="reinforcement-learning", model_name=name,
        tags=["leafwise", "reinforcement-learning", "games", info["game"], info["kind"]], eval_results=results(info, units, game),
    )  # fmt: skip
    page = path.with_suffix(".md")
    lines = [
        f"# {game}: a value network", "", f"A network of kind {network.kind.name} from {info['steps']:,} steps of", "",
        f"    {info['command']}", "", f"as of {info['commit']}.",
    ]  # fmt: skip
    body = read_text(page) if page.exists() else "\n".join(lines)
    use = f'`leafwise.load("hf://{repository}")` loads it from here; `search:hf://{repository},depth=2` is a player.'
    return f"---\n{data.to_yaml()}\n---\n\n{body.rstrip()}\n\n{use}\n"


def operations(path: Path, game: Any, repository: str, license: str = "") -> list[CommitOperationAdd]:
    """Returns the files to upload; raises ValueError for a wrong model or repository name."""
    if not re.fullmatch(f"{WORD}/{WORD}", repository):
        raise UserError(f"expected a repository OWNER/NAME, got {repository!r}")
    network = load_network(path, game)
    license = license or ("mit" if path.parent == WEIGHTS else "")
    return [
        CommitOperationAdd(MODEL, str(path)),
        CommitOperationAdd(README, card(path, network, repository, license).encode()),
    ]


def push(repository: str, files: list[CommitOperationAdd], message: str, private: bool) -> str:
    """Uploads files to a repository, which is created if needed; returns the commit's address.

    Raises ValueError in one line if the Hub refuses them.
    """
    try:
        api = HfApi()
        api.create_repo(repository, private=private, exist_ok=True)
        return str(api.create_commit(repository, files, commit_message=message).commit_url)
    except (errors.HfHubHTTPError, OSError, ValueError) as problem:
        raise UserError(
            f"{repository}: expected the Hub to take a model (`hf auth login`), got: {one_line(problem)}"
        ) from None
