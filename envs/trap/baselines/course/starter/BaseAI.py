"""What the course's players derive from."""


class BaseAI:
    """A player: it moves one step, then throws a trap."""

    def getMove(self, grid):
        """Returns the cell (row, column) to move to."""
        raise NotImplementedError

    def getTrap(self, grid):
        """Returns the cell (row, column) to throw the trap at."""
        raise NotImplementedError
