# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise[ntuple]",
#   "optuna==5.0.0",
# ]
# ///
"""Optuna searches for a method's options by the score of the trained networks."""

import optuna

import leafwise

THREES = leafwise.game("threes")


def score(trial):
    """Trains a network for two seconds and returns its mean score two decisions deep, on seeds for selection."""
    options = {
        "learning_rate": trial.suggest_float("learning_rate", 0.05, 1.0, log=True),
        "td_lambda": trial.suggest_float("td_lambda", 0.0, 0.9),
    }
    run = leafwise.train("threes", "ntuple-td", run=f"runs/optuna-{trial.number}", total_steps=500_000, **options)
    return leafwise.evaluate(THREES, f"search:{run},depth=2", games=20, first_seed=950_000).mean


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
study.optimize(score, n_trials=4)
print(f"{study.best_value:.0f} points with {study.best_params}")
