"""The page of the comparison of methods: a table and a learning curve for every game."""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.experiments.methods.plans import PLANS, Plan
from leafwise.experiments.methods.runs import RECIPE, length_said
from leafwise.experiments.study import Results, Study, bootstrapped, picture, signed, table, write_page
from leafwise.training.evaluation.statistics import interval_text

NAME, PICTURE = "methods.md", "methods.png"
COLUMNS = ("depth 1", "depth 2", "policy")
ELO = "eval/best_elo"
WIDE = 3
"""Learning curves beside each other."""
CURVES = {
    "eval/keeps_value": "critical positions kept",
    ELO: "Elo by own matches, share of the last",
    "eval/score_mean": "score",
    "rollout/ep_rew_mean": "reward",
}
"""What learning curves show, in words."""


def cell(found: dict[str, Any] | None, plan: Plan) -> str:
    """Returns a figure with its interval; a dash where there is none."""
    if found is None:
        return "-"
    form = ",.0f" if plan.unit == "mean score" else ".3f" if plan.unit == "mean quality" else ".1%"
    return f"{found['mean']:{form}} ({interval_text(found['ci_low'], found['ci_high'], form)})"


def known_of(name: str, plan: Plan, results: Results) -> list[tuple[str, float | None, dict[str, Any]]]:
    """Returns what is known of a game: a way to learn it, for how many minutes, and what was found, by the last words of the names
    of results. Ways are in the plan's order, the shortest runs first."""
    order, found = ("hand-made", *plan.ways), dict[tuple[int, float], dict[str, Any]]()
    for key, result in results.items():
        game, way, *length, what = key.split(", ")
        if game == name and way in order:
            minutes = -1.0 if not length else 0.0 if length == [RECIPE] else float(length[0].split()[0])
            found.setdefault((order.index(way), minutes), {})[what] = result
    return [(order[way], None if minutes < 0 else minutes, found[way, minutes]) for way, minutes in sorted(found)]


def rows_of(name: str, plan: Plan, results: Results) -> list[list[str]]:
    """Returns the rows of a game's table: those of which something is known."""
    rows = []
    for way, minutes, found in known_of(name, plan, results):
        run = found.get("run")
        memory = f"{run['memory_mb']:,.0f}" if run and run["memory_mb"] else "-"
        spent = [f"{run['seconds']:,.0f}", f"{run['steps']:,}", memory] if run else ["-"] * 3
        rows.append(
            [
                way,
                "-" if minutes is None else length_said(minutes).removesuffix(" minutes"),
                *spent,
                *(cell(found.get(what), plan) for what in COLUMNS),
            ]
        )
    return rows


def section(name: str, results: Results) -> list[str]:
    """Returns the lines of a game."""
    plan = PLANS[name]
    rows = rows_of(name, plan, results)
    if not rows:
        return []
    options = f", {plan.variant}" if plan.variant else ""
    against = f"against `{plan.hand}`" if "against" in plan.unit else f"beside `{plan.hand}`"
    commands = [found["run"]["command"] for _, _, found in known_of(name, plan, results) if "run" in found]
    limits = f" ({plan.limits.strip(',')})" if plan.limits else ""
    bare = "; bare policies meet it at depth 1" if "against" in plan.unit else ""
    return [
        f"## {name.capitalize()}{options}", "",
        f"The {plan.unit.replace(' against it', '')}, {against} in the same search{limits}{bare}.", "",
        *table("way | minutes: | seconds: | steps: | MB: | depth 1: | depth 2: | bare policy:", rows), "",
        *(f"    {command}" for command in commands), "",
    ]  # fmt: skip


def plot(study: Study, results: Results) -> bool:
    """Draws the learning curves of all games of which there are some; returns whether there are."""
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for name, plan in PLANS.items():
        for way, minutes, found in known_of(name, plan, results):
            if "run" in found and found["run"]["curve"] and minutes is not None:
                known.setdefault(name, {})[f"{way}, {length_said(minutes)}"] = found["run"]
    if not known:
        return False
    columns = min(len(known), WIDE)
    rows = -(-len(known) // columns)
    with picture(study.target(PICTURE), rows, columns, size=(4.5 * columns, 4 * rows)) as drawn:
        axes = np.ravel(drawn)
        for axis in axes[len(known) :]:
            axis.set_visible(False)
        for axis, (name, runs) in zip(axes, known.items(), strict=False):
            tags = [run["curve"]["tag"] for run in runs.values()]
            tag = max(CURVES, key=tags.count)
            for way, run in runs.items():
                if run["curve"]["tag"] == tag:
                    steps = run["curve"]["steps"]
                    seconds = [step / steps[-1] * run["seconds"] for step in steps]
                    values = np.array(run["curve"]["values"])
                    if tag == ELO and values[-1] > 0:
                        values = values / values[-1]
                    axis.plot(seconds, values, label=way, linewidth=1.2)
            axis.set_title(f"{name}: {CURVES[tag]}", fontsize=9)
            axis.set_xlabel("processor seconds, about")
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
    return True


def write(study: Study, results: Results) -> None:
    """Writes the page and its picture with what is known."""
    curves = [f"![Learning curves]({PICTURE})", ""] if plot(study, results) else []
    lines = [
        "# All ways to learn, at equal processor time", "",
        "Every method where it applies, by its game's recipe where there is one, for about so many minutes of one core, or as",
        "long as the recipe says (`leafwise train GAME --method METHOD`); the seconds that it took, compiling included, stand",
        "beside them. DQN and PPO of Stable-Baselines3, unmodified and with their defaults on the registered environments, are",
        "what a newcomer would get; of its defaults, DQN's replay buffer in Starship alone is shorter, so that it fits into 4 GB.",
        "Final games have seeds from 2,000,000 on and 95 % intervals; games for two have random openings, each from both seats.",
        "Curves are drawn where a run logged one, over its time as if that passed evenly; Elo by own matches adds up from",
        "network to network of one run, says nothing of another's, and is drawn as its share of the last. The last command makes",
        "a row again with `--games`, `--ways` and `--minutes` as it says (0: its recipe's).", "",
        *curves,
        *(line for name in PLANS for line in section(name, results)),
        *bootstrapped(results.values()),
    ]  # fmt: skip
    write_page(study, NAME, signed(study, lines))
