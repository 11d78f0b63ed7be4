"""What the stages are asked for and what comes of it, against the weights in their parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.starship import CLASSIC, Generator
from leafwise.envs.starship.catalogue import DIRECTIONS, PARTS
from leafwise.envs.starship.quality import TERMS
from leafwise.envs.starship.stages import draw_entry, open_streams
from leafwise.envs.starship.tables import KINDS, STAGE_THRUSTERS, STAGE_WEAPONS, new_tables
from leafwise.experiments.study import picture, table

MOUNTS = {"thrusters": STAGE_THRUSTERS, "weapons": STAGE_WEAPONS}
PIECE = 100
"""Ships of a piece of work."""
Placed = tuple[dict[str, Counter[str]], dict[str, Counter[int]]]
"""Counts of what stands on ships, by stage and by score."""


def weights() -> dict[str, dict[str, float]]:
    """Returns the wanted share of every size and facing, from the classic parameters."""
    wanted = {}
    for name, stage in MOUNTS.items():
        own: Any = getattr(CLASSIC, name)
        sizes = {"thruster_small": "small", "thruster_med": "medium", "thruster_large": "large"}
        sizes |= {"cannon_med": "medium", "cannon_large": "large"}
        by_size = {PARTS[part].name: getattr(own, f"weight_{sizes[PARTS[part].name]}") for part in KINDS[stage]}
        facings = dict(zip(DIRECTIONS, ("north", "east", "south", "west"), strict=True))
        by_facing = {letter: getattr(own, f"weight_{side}") for letter, side in facings.items()}
        wanted[name] = {
            **{key: value / sum(by_size.values()) for key, value in by_size.items()},
            **{key: value / sum(by_facing.values()) for key, value in by_facing.items()},
        }
    return wanted


def request_shares(draws: int, seed: int) -> dict[str, Any]:
    """Draws requests and returns the share of every size and facing, with the share that the weights want."""
    tables, shares = new_tables(CLASSIC), {}
    for name, stage in MOUNTS.items():
        open_streams(tables, np.uint64(seed), 0, stage)
        entries = np.bincount([draw_entry(tables, stage) for _ in range(draws)], minlength=12).reshape(3, 4) / draws
        sizes = {PARTS[part].name: entries[k].sum() for k, part in enumerate(KINDS[stage])}
        facings = dict(zip(DIRECTIONS, entries.sum(axis=0), strict=True))
        shares[name] = _beside(weights()[name], {**sizes, **facings})
    return {"draws": draws, **shares}


def pieces_of(first_seed: int, ships: int) -> list[range]:
    """Returns the seeds of ships, as pieces of work."""
    seeds = range(first_seed, first_seed + ships)
    return [seeds[k : k + PIECE] for k in range(0, ships, PIECE)]


def outcome_shares(
    ships: int, first_seed: int, each: Callable[[Callable[[range], Placed], Sequence[range]], Iterable[Placed]] = map
) -> dict[str, Any]:
    """Counts what was placed on classic ships: shares of sizes and facings, and how often each score was reached.

    `each` yields what comes of pieces of the seeds in their order, wherever they are worked on.
    """
    parts = list(each(outcomes, pieces_of(first_seed, ships)))
    placed = {name: sum((part[0][name] for part in parts), Counter[str]()) for name in MOUNTS}
    histograms = {name: sum((part[1][name] for part in parts), Counter[int]()) for name in parts[0][1]}
    shares: dict[str, Any] = {"ships": ships}
    for name, counter in placed.items():
        total = sum(counter[letter] for letter in DIRECTIONS)
        shares[name] = _beside(weights()[name], {key: counter[key] / total for key in weights()[name]})
    shares["counts"] = {name: {str(k): table[k] for k in sorted(table)} for name, table in histograms.items()}
    return shares


def outcomes(seeds: range) -> Placed:
    """Returns what stands on the classic ships of some seeds: parts and facings by stage, and how often each score was reached."""
    generator = Generator("classic")
    placed: dict[str, Counter[str]] = {name: Counter() for name in MOUNTS}
    scores: dict[str, Counter[int]] = {"thrust_score": Counter(), "weapon_score": Counter()}
    counts: dict[str, Counter[int]] = {"ammo_supply": Counter(), "power_storage": Counter(), "seats": Counter()}
    for seed in seeds:
        ship = generator.ship(seed)
        for name, stage in MOUNTS.items():
            for part in ship.parts:
                if part.number in KINDS[stage]:
                    placed[name].update([part.id, DIRECTIONS[part.r]])
        for score in scores:
            scores[score][int(ship.stats[score])] += 1
        for kind in ("ammo_supply", "power_storage"):
            counts[kind][sum(part.id == kind for part in ship.parts)] += 1
        counts["seats"][int(ship.stats["seats"])] += 1
    return placed, {**scores, **counts}


def _beside(wanted: dict[str, float], got: dict[str, Any]) -> dict[str, Any]:
    return {key: {"wanted": round(wanted[key], 4), "got": round(float(got[key]), 4)} for key in wanted}


def outcome_table(results: dict[str, Any]) -> list[str]:
    """Returns a table: wanted share, share of the requests, share of what stands on the ships."""
    rows = []
    for name in MOUNTS:
        for key, entry in results["requests"][name].items():
            shares = (entry["wanted"], entry["got"], results["outcomes"][name][key]["got"])
            rows.append([name, key, *(f"{share:.3f}" for share in shares)])
    return table("stage | what | weight | asked for | placed", rows)


def plot(results: dict[str, Any], path: Path) -> None:
    """Draws the distributions of outcomes."""
    with picture(path, rows=3, columns=2, size=(8, 9)) as axes:
        for axis, name in zip(axes[0], MOUNTS, strict=True):
            entries, asked = results["outcomes"][name], results["requests"][name]
            bars = {
                "weight": [entry["wanted"] for entry in entries.values()],
                "asked for": [asked[key]["got"] for key in entries],
                "placed": [entry["got"] for entry in entries.values()],
            }
            names = [key.replace("thruster_", "").replace("cannon_", "") for key in entries]
            grouped(axis, names, bars, f"{name}: sizes and facings")
        scores = {"thrust_score": "thruster score", "weapon_score": "weapon score", "seats": "seats"}
        for axis, (key, title) in zip([*axes[1], axes[2][0]], scores.items(), strict=True):
            counts = results["outcomes"]["counts"][key]
            axis.bar([int(k) for k in counts], list(counts.values()), color="#4a86e8")
            axis.set_title(f"{title}, ships")
        terms = ["quality", *TERMS]
        means = {name: [survey[term]["mean"] for term in terms] for name, survey in results["surveys"].items()}
        grouped(axes[2][1], terms, means, "quality and its terms, means")


def grouped(axis: Any, names: list[str], bars: dict[str, list[float]], title: str) -> None:
    """Draws three bars side by side for each name."""
    for shift, (label, values) in zip((-0.27, 0.0, 0.27), bars.items(), strict=True):
        axis.bar(np.arange(len(names)) + shift, values, 0.27, label=label)
    axis.set_xticks(range(len(names)), names, rotation=45)
    axis.set_title(title)
    axis.set_ylim(0, 1.3 * max(map(max, bars.values())))
    axis.legend(frameon=False, ncols=3, loc="upper right", fontsize=8, handlelength=1, columnspacing=1)
