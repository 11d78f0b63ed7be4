"""The dice race of `examples/race`: the tests' game for two, with chance in two stages and an action without cost."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "race"))  # last: it hides nothing

from leafwise_race import GAME, HOLD, LEFT, lead, turn, way, with_face  # type: ignore[import-not-found]

__all__ = ["GAME", "HOLD", "LEFT", "lead", "turn", "way", "with_face"]
