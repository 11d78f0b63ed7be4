"""What the stages are asked for and what comes of it, against the weights in their parameters."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.starship import CLASSIC, Generator
from leafwise.envs.starship.catalogue import DIRECTIONS, PARTS
from leafwise.envs.starship.files import write_bytes
from leafwise.envs.starship.stages import draw_entry, open_streams
from leafwise.envs.starship.tables import KINDS, STAGE_THRUSTERS, STAGE_WEAPONS, new_tables

MOUNTS = {"thrusters": STAGE_THRUSTERS, "weapons": STAGE_WEAPONS}


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


def outcome_shares(ships: int, first_seed: int) -> dict[str, Any]:
    """Counts what was placed on classic ships: shares of sizes and facings, and how often each score was reached."""
    generator = Generator("classic")
    placed: dict[str, Counter[str]] = {name: Counter() for name in MOUNTS}
    scores: dict[str, Counter[int]] = {"thrust_score": Counter(), "weapon_score": Counter()}
    counts: dict[str, Counter[int]] = {"ammo_supply": Counter(), "power_storage": Counter(), "seats": Counter()}
    for seed in range(first_seed, first_seed + ships):
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
    shares: dict[str, Any] = {"ships": ships}
    for name, counter in placed.items():
        total = sum(counter[letter] for letter in DIRECTIONS)
        shares[name] = _beside(weights()[name], {key: counter[key] / total for key in weights()[name]})
    histograms = {**scores, **counts}
    shares["counts"] = {name: {str(k): table[k] for k in sorted(table)} for name, table in histograms.items()}
    return shares


def _beside(wanted: dict[str, float], got: dict[str, Any]) -> dict[str, Any]:
    return {key: {"wanted": round(wanted[key], 4), "got": round(float(got[key]), 4)} for key in wanted}


def outcome_table(results: dict[str, Any]) -> list[str]:
    """Returns the lines of a Markdown table: wanted share, share of the requests, share of what stands on the ships."""
    lines = ["| stage | what | weight | asked for | placed |", "|---|---|---|---|---|"]
    for name in MOUNTS:
        for key, entry in results["requests"][name].items():
            placed = results["outcomes"][name][key]["got"]
            lines.append(f"| {name} | {key} | {entry['wanted']:.3f} | {entry['got']:.3f} | {placed:.3f} |")
    return lines


def plot(results: dict[str, Any], path: Path) -> None:
    """Draws the distributions of outcomes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(13, 6.5), layout="constrained")
    for axis, name in zip(axes[0], MOUNTS, strict=False):
        entries = results["outcomes"][name]
        keys = list(entries)
        asked = results["requests"][name]
        for shift, label, values in (
            (-0.27, "weight", [entries[key]["wanted"] for key in keys]),
            (0.0, "asked for", [asked[key]["got"] for key in keys]),
            (0.27, "placed", [entries[key]["got"] for key in keys]),
        ):
            axis.bar(np.arange(len(keys)) + shift, values, 0.27, label=label)
        axis.set_xticks(range(len(keys)), [key.replace("thruster_", "").replace("cannon_", "") for key in keys])
        axis.set_title(f"{name}: sizes and facings")
        axis.set_ylim(0, 0.9)
        axis.legend(frameon=False, ncols=3, loc="upper right", fontsize=8, handlelength=1)
    names = {"thrust_score": "thruster score", "weapon_score": "weapon score", "seats": "seats"}
    for axis, (key, title) in zip([axes[0][2], *axes[1][:2]], names.items(), strict=True):
        table = results["outcomes"]["counts"][key]
        axis.bar([int(k) for k in table], list(table.values()), color="#4a86e8")
        axis.set_title(f"{title}, ships")
    quality = {name: survey["quality"] for name, survey in results["surveys"].items()}
    terms = ("quality", "thrust", "cockpit", "supply", "crew", "fire", "skin")
    axis = axes[1][2]
    for shift, name in zip((-0.27, 0.0, 0.27), quality, strict=True):
        axis.bar(
            np.arange(len(terms)) + shift, [results["surveys"][name][term]["mean"] for term in terms], 0.27, label=name
        )
    axis.set_xticks(range(len(terms)), terms, fontsize=8)
    axis.set_title("quality and its terms, means")
    axis.set_ylim(0, 1.15)
    axis.legend(frameon=False, ncols=3, loc="upper right", fontsize=8, handlelength=1)
    file = io.BytesIO()
    figure.savefig(file, dpi=80, metadata={"Software": None})
    pyplot.close(figure)
    write_bytes(file.getvalue(), path)
