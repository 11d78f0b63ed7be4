"""Writes the study's page in Markdown."""

from __future__ import annotations

from typing import Any

TERMS = ("quality", "thrust", "cockpit", "supply", "crew", "fire", "skin")


def page(config: dict[str, Any], results: dict[str, Any], outcomes: list[str]) -> str:
    """Returns the page of the study."""
    lines = [
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
        *outcomes,
        "",
        "![distributions](outcomes.png)",
        "",
        "## Pictures",
        "",
        "![six ships of each preset](gallery.png)",
        "",
        "![one ship, stage by stage](stages.png)",
    ]
    return "\n".join(lines) + "\n"


def _validity(results: dict[str, Any]) -> list[str]:
    lines = [
        "| preset | ships | first attempt valid | valid | attempts, most | rules broken | ships/s | bare stages/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, survey in results["surveys"].items():
        valid, rates = survey["first_attempt_valid"], results["rates"]
        error = 1.96 * (valid * (1 - valid) / survey["ships"]) ** 0.5
        lines.append(
            f"| {name} | {survey['ships']:,} | {valid:.4f} ± {error:.4f} | "
            f"{survey['valid']:.4f} | {survey['attempts_most']} | {sum(survey['broken'].values())} | "
            f"{rates[f'ships_{name}']:,.0f} | {rates[f'first_attempt_{name}']:,.0f} |"
        )
    stories = results["stories"]
    replayed = ", ".join(f"{story['ships']:,} {name}" for name, story in stories.items())
    faults = sum(sum(story["broken"].values()) for story in stories.values())
    return [
        *lines,
        "",
        "Rules: V1 to V10 and V13 are checked on every valid ship by plain Python that shares the catalogue with the "
        f"generator and nothing else; V11 and V12 by replaying the stages of first attempts ({replayed}): {faults} "
        "broken. ± is a 95 % interval. Ships/s: whole ships with retries, quality and figures; bare stages: first "
        "attempts only; both per second of processor time, the best of three rounds of 200.",
    ]


def _quality(surveys: dict[str, Any]) -> list[str]:
    lines = [
        f"| preset | {' | '.join(TERMS)} | diversity: set score, mean distance | request met: thrust, fire, seats |",
        "|---|" + "---|" * (len(TERMS) + 2),
    ]
    for name, survey in surveys.items():
        cells = [f"{survey[term]['mean']:.3f} ({survey[term]['sd']:.3f})" for term in TERMS]
        diversity, met = survey["diversity"], survey["controllability"]
        cells.append(f"{diversity['set_score']:.3f}, {diversity['mean_distance']:.3f}")
        cells.append(f"{met['thrust']:.3f}, {met['fire']:.3f}, {met['seats']:.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, "", "Means over the valid ships, standard deviations in parentheses."]


def _figures(surveys: dict[str, Any]) -> list[str]:
    lines = [
        "| preset | hull cells | parts | price | mass t | extra doors | why first attempts fail |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, survey in surveys.items():
        why = ", ".join(f"{reason} {count}" for reason, count in survey["first_attempt_reasons"].items())
        area, parts, price, mass, doors = (
            survey[key]["mean"] for key in ("hull_area", "parts", "price", "mass", "extra_doors")
        )
        numbers = f"{area:.0f} | {parts:.1f} | {price:,.0f} | {mass:.0f} | {doors:.1f}"
        lines.append(f"| {name} | {numbers} | {why or 'none fails'} |")
    return lines
