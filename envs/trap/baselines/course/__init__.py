"""Both ways between Leafwise and the course's programs: their players in our games, ours in theirs.

`course:is` and its like are baselines (`players`, `trees`), `course:PATH/PlayerAI.py` runs anyone's program (`guest`), and
`PlayerAI` is a player of ours with the course's interface.
"""

from leafwise.envs.trap.baselines.course.adapter import PlayerAI

__all__ = ["PlayerAI"]
