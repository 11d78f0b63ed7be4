"""Connects Leafwise with the course's programs: their players in our games, our players in theirs.

`course:is` and similar names are baselines, `course:PATH/PlayerAI.py` runs anyone's program (both in `players`), and `PlayerAI`
is a Leafwise player with the course's interface (`adapter`).
"""

from leafwise.envs.trap.baselines.course.adapter import PlayerAI

__all__ = ["PlayerAI"]
