"""The study's page in Markdown."""

from __future__ import annotations

from typing import Any

from leafwise.envs.starship.quality import TERMS
from leafwise.experiments.starship.generator.outcomes import outcome_table
from leafwise.experiments.study import table
from leafwise.training.evaluation.intervals import share_interval


def page(config: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """Returns the page of the study."""
    return [
        "# The ship generator, measured",
        "",
        "`python -m leafwise.experiments.starship.generator` made this page, `results.json` and the pictures "
        f"in {results['seconds']:.0f} s on one core; sizes of the sets in `config.json`, seeds from "
        f"{config['first_seed']:,} on.",
        "",
        *_validity(results),
        "",
        *_quality(results["surveys"]),
        "",
        *_figures(results["surveys"]),
        "",
        "## Outcomes against parameters",
        "",
        f"Classic: {results['requests']['draws']:,} requests drawn, {results['outcomes']['ships']:,} ships built. "
        "Placed differs from asked for where a request has no legal place or would pass the greatest score: weapons "
        "come after the thrusters, which hold most of the stern, and large parts need more free rim.",
        "",
        *outcome_table(results),
        "",
        "![distributions](outcomes.png)",
        "",
        "## Pictures",
        "",
        "![four ships of each preset](gallery.png)",
        "",
        "![one ship, stage by stage](stages.png)",
    ]


def _validity(results: dict[str, Any]) -> list[str]:
    rows = []
    for name, survey in results["surveys"].items():
        valid, rates = survey["first_attempt_valid"], results["rates"]
        low, high = share_interval(valid * survey["ships"], survey["ships"])
        broken = f"{sum(survey['broken'].values())}"
        cells = [f"{survey['ships']:,}", f"{valid:.4f} ({low:.4f} to {high:.4f})", f"{survey['valid']:.4f}"]
        cells += [f"{survey['attempts_most']}", broken]
        rows.append([name, *cells, *(f"{rates[f'{what}_{name}']:,.0f}" for what in ("ships", "first_attempt"))])
    stories = results["stories"]
    replayed = ", ".join(f"{story['ships']:,} {name}" for name, story in stories.items())
    faults = sum(sum(story["broken"].values()) for story in stories.values())
    head = "preset | ships | first attempt valid | valid | attempts, most | rules broken | ships/s | bare stages/s"
    return [
        *table(head, rows),
        "",
        "Rules: V1 to V10 and V13 are checked on every valid ship by plain Python that shares the catalogue with the "
        f"generator and nothing else; V11 and V12 by replaying the stages of first attempts ({replayed}): {faults} "
        "broken. In parentheses the 95 % interval. Ships/s: whole ships with retries, quality and figures; bare stages: first "
        "attempts only; both per second of processor time, the best of three rounds of 200.",
    ]


def _quality(surveys: dict[str, Any]) -> list[str]:
    rows, terms = [], ("quality", *TERMS)
    for name, survey in surveys.items():
        diversity, met = survey["diversity"], survey["controllability"]
        apart = f"{diversity['set_score']:.3f}, {diversity['mean_distance']:.3f}"
        rows.append(
            [name, *(f"{survey[t]['mean']:.3f} ({survey[t]['sd']:.3f})" for t in terms), apart, f"{met['fire']:.3f}"]
        )
    head = f"preset | {' | '.join(terms)} | diversity: set score, mean distance | weapons face as weighted"
    return [*table(head, rows), "", "Means over the valid ships, standard deviations in parentheses."]


def _figures(surveys: dict[str, Any]) -> list[str]:
    rows = []
    for name, survey in surveys.items():
        why = ", ".join(f"{reason} {count}" for reason, count in survey["first_attempt_reasons"].items())
        area, parts, price, mass, doors = (
            survey[key]["mean"] for key in ("hull_area", "parts", "price", "mass", "extra_doors")
        )
        cells = [f"{area:.0f}", f"{parts:.1f}", f"{price:,.0f}", f"{mass:.0f}", f"{doors:.1f}"]
        rows.append([name, *cells, why or "none fails"])
    return table("preset | hull cells | parts | price | mass t | extra doors | why first attempts fail", rows)
