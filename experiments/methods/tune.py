"""Tunes MaskablePPO for an id with Optuna, from the settings of `examples/maskable_ppo.yml`.

`python -m leafwise.experiments.methods.tune --id Cassis --trials 40 --minutes 2` trains each trial for two minutes of processor
time. The value of a trial is the policy's share of the points against `greedy`, or its mean score, on seeds for selection. Trials
are stored in a database in the folder of the runs, so a stopped study continues. At the end the command prints the best settings
as an entry of such a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.ranges import Range, need_among
from leafwise.experiments.methods.__main__ import SETTINGS, trained
from leafwise.experiments.methods.learners import IDS, PLIES, game_and_options, run_words
from leafwise.experiments.methods.newcomers import settings_of
from leafwise.experiments.study import Study, command, scored
from leafwise.models.files import write_atomically
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.runs.loop import find_variant


@dataclass(frozen=True)
class Config(Study):
    """Tunes the settings of MaskablePPO."""

    id: str = "Cassis"
    """Id of the environment, as Threes for leafwise/Threes-v0."""
    trials: Annotated[int, Range(1, 1e5)] = 40
    """Total number of trials, with those of earlier starts; the first has the settings of the file."""
    minutes: Annotated[float, Range(0, above=True)] = 2.0
    """Processor time of a trial."""
    games: Annotated[int, Range(2, 1e6)] = 200
    """Games that evaluate a trial; even."""
    runs: Path = Path("runs/tune")
    """Folder of the runs."""


def suggested(trial: Any) -> dict[str, Any]:
    """Returns the tuned settings of a trial."""
    width = trial.suggest_categorical("width", [64, 128, 256])
    return {
        "n_steps": trial.suggest_categorical("n_steps", [16, 32, 64, 128]),
        "batch_size": trial.suggest_categorical("batch_size", [256, 512, 1024, 2048]),
        "n_epochs": trial.suggest_int("n_epochs", 2, 8),
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
        "gamma": trial.suggest_categorical("gamma", [0.98, 0.99, 0.998, 1.0]),
        "ent_coef": trial.suggest_float("ent_coef", 1e-4, 0.05, log=True),
        "policy_kwargs": {"net_arch": [width, width]},
    }


def study(config: Config) -> None:
    """Runs the missing trials and prints the best; raises ValueError if Optuna is not installed."""
    try:
        import optuna
        import yaml
    except ImportError as missing:
        raise UserError(
            f"expected optuna and pyyaml, found no {missing.name}: pip install 'leafwise[experiments]'"
        ) from None

    need_among(config.id, IDS, "id")
    full, game = f"leafwise/{config.id}-v0", find_variant(*game_and_options(config.id))
    usual, folder = settings_of(SETTINGS, full), config.runs / f"{config.id}-{config.minutes:g}min"
    folder.mkdir(parents=True, exist_ok=True)

    def value_of(trial: Any) -> float:
        path = folder / f"trial-{trial.number}"
        file = folder / f"trial-{trial.number}.yml"
        write_atomically(file, yaml.safe_dump({full: {**usual, **suggested(trial)}}).encode())
        trained(run_words(config.id, config.minutes, path, str(file)), path)
        meets: dict[str, Any] = {"opponent": "greedy", "plies": PLIES} if game.players == 2 else {}
        text = f"sb3:{path}/model.zip,normalize={path}/normalize.pkl"
        return float(scored(game, text, config.games, SELECTION_SEED, **meets)["mean"])

    storage = f"sqlite:///{folder}/trials.db"
    sampler = optuna.samplers.TPESampler(seed=1)
    tuning = optuna.create_study(
        storage=storage, study_name=config.id, sampler=sampler, direction="maximize", load_if_exists=True
    )
    if not tuning.trials:
        first = {name: usual[name] for name in ("n_steps", "batch_size", "n_epochs", "learning_rate", "ent_coef")}
        tuning.enqueue_trial(
            {**first, "gamma": usual.get("gamma", 0.99), "width": usual["policy_kwargs"]["net_arch"][0]}
        )
    tuning.optimize(value_of, config.trials - sum(trial.state.is_finished() for trial in tuning.trials))
    best = tuning.best_trial
    print(f"# trial {best.number} of {len(tuning.trials)}: {best.value:.4g}")
    print(read_text(folder / f"trial-{best.number}.yml"))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
