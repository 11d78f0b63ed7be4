"""Writes the study's page in Markdown."""

from __future__ import annotations

from typing import Any

TERMS = ("quality", "thrust", "cockpit", "supply", "crew", "fire", "skin")


def page(config: dict[str, Any], results: dict[str, Any], outcomes: list[str]) -> str:
    """Returns the page of the study."""
    surveys, rates = results["surveys"], results["rates"]
    lines = [
        "# The ship generator, measured",
        "",
        "`python -m leafwise.experiments.starship.generator` made this page, `results.json` and the pictures "
        f"in {results['seconds']:.0f} s on one core; sizes of the sets in `config.json`, seeds from "
        f"{config['first_seed']:,} on.",
        "",
        "| preset | ships | valid at the first attempt | valid | attempts, most | rules broken | ships/s | bare stages/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, survey in surveys.items():
        error = (survey["first_attempt_valid"] * (1 - survey["first_attempt_valid"]) / survey["ships"]) ** 0.5
        lines.append(
            f"| {name} | {survey['ships']:,} | {survey['first_attempt_valid']:.4f} ± {1.96 * error:.4f} | "
            f"{survey['valid']:.4f} | {survey['attempts_most']} | {sum(survey['broken'].values())} | "
            f"{rates[f'ships_{name}']:,.0f} | {rates[f'first_attempt_{name}']:,.0f} |"
        )
    replayed = " and ".join(f"{story['ships']:,} {name}" for name, story in results["stories"].items())
    faults = sum(sum(story["broken"].values()) for story in results["stories"].values())
    lines += [
        "",
        "Rules: V1 to V10, V13 and the figures are checked on every valid ship by plain Python that shares no code with "
        f"the generator; V11 and V12 by replaying the stages of {replayed} ships: {faults} broken. ± is a 95 % interval. "
        "Ships/s: whole ships with retries, quality and figures; bare stages: first attempts only.",
        "",
        "| preset | "
        + " | ".join(TERMS)
        + " | diversity (set score, mean distance) | request met: thrust, fire, seats |",
        "|---|" + "---|" * (len(TERMS) + 2),
    ]
    for name, survey in surveys.items():
        cells = [f"{survey[term]['mean']:.3f} ({survey[term]['sd']:.3f})" for term in TERMS]
        diversity, met = survey["diversity"], survey["controllability"]
        cells.append(f"{diversity['set_score']:.3f}, {diversity['mean_distance']:.3f}")
        cells.append(f"{met['thrust']:.3f}, {met['fire']:.3f}, {met['seats']:.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "Means over the valid ships, standard deviations in parentheses.", ""]
    lines += [
        "| preset | hull cells | parts | price | mass t | extra doors | why first attempts fail |",
        "|---|" + "---|" * 6,
    ]
    for name, survey in surveys.items():
        why = ", ".join(f"{reason} {count}" for reason, count in survey["first_attempt_reasons"].items())
        figures = [survey[key]["mean"] for key in ("hull_area", "parts", "price", "mass", "extra_doors")]
        numbers = f"{figures[0]:.0f} | {figures[1]:.1f} | {figures[2]:,.0f} | {figures[3]:.0f} | {figures[4]:.1f}"
        lines.append(f"| {name} | {numbers} | {why or 'none fails'} |")
    lines += [
        "",
        "## Outcomes against parameters",
        "",
        f"Classic: {results['requests']['draws']:,} requests drawn, {results['outcomes']['ships']:,} ships built. What is "
        "placed differs from what is asked for where a request has no legal place or would pass the greatest score: "
        "large parts find room less often, and the bow and the sides are narrower than the weights.",
        "",
        *outcomes,
        "",
        "![distributions](outcomes.png)",
        "",
        "## Pictures",
        "",
        "![eight ships of each preset](gallery.png)",
        "",
        "![one ship, stage by stage](stages.png)",
    ]
    return "\n".join(lines) + "\n"
