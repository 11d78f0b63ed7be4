"""Both ways between Leafwise and the course's programs: their players in our games, ours in theirs.

`course:is` and its like are baselines, `course:PATH/PlayerAI.py` runs anyone's program (both `players`), and
`PlayerAI` is a player of ours with the course's interface (`adapter`).
"""

from leafwise.envs.trap.baselines.course.adapter import PlayerAI

__all__ = ["PlayerAI"]
