"""What `leafwise train` adds where a game needs more than a method's defaults: options that were seen to work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FROM_A_GUIDE: dict[str, str] = {
    "--guide": "pirates", "--guide-depth": "2", "--nodes": "50", "--positions": "150000", "--replay": "600000",
    "--passes": "2.5", "--batch": "1024", "--rate": "0.003", "--final-rate": "0.0003", "--plies": "0", "--epsilon": "0.01",
    "--decay": "0.95", "--eased": "20", "--credit": "0.5", "--credited": "60", "--iterations": "240", "--match-pairs": "100",
    "--match-every": "5",
}  # fmt: skip
"""Friday: nothing wins by chance, so the first games are the best hand-made score's, easy ones, and a loss has its degrees."""

RECIPES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("friday", "selfplay"): FROM_A_GUIDE,
    ("friday", "td"): FROM_A_GUIDE,
    ("friday", "dqn"): {"--plies": "0", "--gamma": "0.999", "--interval": "1024000", "--match-pairs": "100"},
    ("friday", "ppo"): {
        "--reward": "shaped", "--gamma": "0.999", "--evaluate-every": "64", "--match-plies": "0", "--match-pairs": "100",
    },
}  # fmt: skip
MIXES: Mapping[str, tuple[Sequence[str], Sequence[str], str]] = {
    "friday": (
        ("level=1", "level=2", "level=3", "level=4"),
        ("level=1,start_life=31", "level=2,start_life=31", "level=4,start_life=31"),
        "start_life=31",
    )
}
"""Games whose learners know `--mix`: the variants that one network learns, the easier ones to begin with, and what makes a variant
that was asked for easy."""


def with_recipe(game: str, method: str, words: Sequence[str]) -> list[str]:
    """Returns a command line with the options that a game's recipe adds: those that were not given."""
    given = {word.partition("=")[0] for word in words}
    added = list(words)
    for flag, value in RECIPES.get((game, method), {}).items():
        if flag not in given:
            added += [flag, value]
    if game in MIXES and method in ("selfplay", "td"):
        mix, easy, ease = MIXES[game]
        if "--variant" in given:
            variant = words[list(words).index("--variant") + 1]
            mix, easy = (), () if ease.partition("=")[0] in variant else (f"{variant},{ease}",)
        for flag, texts in (("--mix", mix), ("--easy", easy)):
            if flag not in given and texts:
                added += [flag, *texts]
    return added
