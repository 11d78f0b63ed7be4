"""A player for Trap by the handout's recipe: two trees, one for the move and one for the throw, both expectiminimax.

In each tree only one player moves, and the other stands still and throws at him:

    getMove   I move (MAX), the opponent throws at me (MIN), the trap lands or misses (CHANCE), I move again, ...
    getTrap   I throw at the opponent (MAX), the trap lands or misses (CHANCE), he moves (MIN), I throw again, ...

After DEPTH moves and throws the tree is cut off, and a heuristic says how good the board is for me.
"""

import time

from BaseAI import BaseAI
from Grid import Grid
from Utils import manhattan_distance

WIN, LOSS = 1000, -1000  # more than any heuristic can say
DEPTH = 3  # moves and throws that are looked ahead; the handout allows at most 5


# The heuristics. `me` and `opponent` are the cells where we stand.


def moves(grid, cell):
    """Returns the cells that can be moved to from a cell."""
    return grid.get_neighbors(cell, only_available=True)


def improved_score(grid, me, opponent):
    """IS: my moves less the opponent's."""
    return len(moves(grid, me)) - len(moves(grid, opponent))


def aggressive_improved_score(grid, me, opponent):
    """AIS: the opponent's moves count twice, so it pays to take them away."""
    return len(moves(grid, me)) - 2 * len(moves(grid, opponent))


def one_cell_lookahead_score(grid, me, opponent):
    """OCLS: for every cell that I can move to, how many moves I would have there; less the same of the opponent."""
    mine = sum(len(moves(grid, cell)) for cell in moves(grid, me))
    theirs = sum(len(moves(grid, cell)) for cell in moves(grid, opponent))
    return mine - theirs


HEURISTIC = one_cell_lookahead_score  # try the others, and your own


def hit_probability(thrower, target):
    """Returns how likely a throw hits: for certain next to the thrower, 5 % less for each step further."""
    return 1 - 0.05 * (manhattan_distance(thrower, target) - 1)


def after_move(grid, cell, player):
    """Returns the board after a player has moved to a cell."""
    child = grid.clone()
    child.move(cell, player)
    return child


def after_trap(grid, cell):
    """Returns the board with a trap on a cell."""
    child = grid.clone()
    child.trap(cell)
    return child


class PlayerAI(BaseAI):
    """Plays by two expectiminimax trees."""

    def __init__(self):
        super().__init__()
        self.pos = None  # my cell; the game tells it with setPosition
        self.player_num = None  # 1 or 2

    def setPosition(self, new_position):
        self.pos = new_position

    def getPosition(self):
        return self.pos

    def setPlayerNum(self, num):
        self.player_num = num

    def getPlayerNum(self):
        return self.player_num

    # The first tree: where do I move? The opponent stands still, and throws at the cells around me.

    def getMove(self, grid):
        """Returns the cell to move to: MAX at the root of the first tree."""
        opponent = grid.find(3 - self.player_num)
        best_value, best_cell = float("-inf"), None
        for cell in moves(grid, self.pos):
            child = after_move(grid, cell, self.player_num)
            value = self.throw_at_me(child, cell, opponent, DEPTH - 1, best_value)
            if value > best_value:
                best_value, best_cell = value, cell
        return best_cell

    def throw_at_me(self, grid, me, opponent, depth, alpha):
        """MIN: I have just moved, and the opponent throws where it hurts most."""
        if not moves(grid, opponent):
            return WIN  # my move has taken his last cell
        if depth == 0:
            return HEURISTIC(grid, me, opponent)
        # CHANCE: a throw hits with probability p. What a miss does is made simple here: nothing. (In the game it
        # lands beside the target.) So all misses are worth the same, and need only one look.
        miss = self.my_move(grid, me, opponent, depth - 1)
        worst = float("inf")
        for target in moves(grid, me):
            p = hit_probability(opponent, target)
            hit = self.my_move(after_trap(grid, target), me, opponent, depth - 1)
            worst = min(worst, p * hit + (1 - p) * miss)
            if worst <= alpha:  # alpha-beta: I have a better move already, whatever his other throws do
                break
        return worst

    def my_move(self, grid, me, opponent, depth):
        """MAX: I move again, after the trap has landed."""
        if not moves(grid, me):
            return LOSS
        if depth == 0:
            return HEURISTIC(grid, me, opponent)
        best = float("-inf")
        for cell in moves(grid, me):
            child = after_move(grid, cell, self.player_num)
            best = max(best, self.throw_at_me(child, cell, opponent, depth - 1, best))
        return best

    # The second tree: where do I throw? I stand still, and the opponent moves.

    def getTrap(self, grid):
        """Returns the cell to throw at: MAX at the root of the second tree."""
        opponent = grid.find(3 - self.player_num)
        targets = moves(grid, opponent)
        if not targets:  # my move has won already; any free cell will do
            return grid.getAvailableCells()[0]
        return max(targets, key=self.values_of_throws(grid, opponent, targets, DEPTH).get)

    def values_of_throws(self, grid, opponent, targets, depth):
        """Returns what a throw at each target is worth: CHANCE, a hit or (made simple) nothing."""
        miss = self.opponent_moves(grid, opponent, depth - 1)
        values = {}
        for target in targets:
            p = hit_probability(self.pos, target)
            values[target] = p * self.opponent_moves(after_trap(grid, target), opponent, depth - 1) + (1 - p) * miss
        return values

    def opponent_moves(self, grid, opponent, depth):
        """MIN: the opponent moves to the cell that is worst for me."""
        if not moves(grid, opponent):
            return WIN
        if depth == 0:
            return HEURISTIC(grid, self.pos, opponent)
        worst = float("inf")
        for cell in moves(grid, opponent):
            child = after_move(grid, cell, 3 - self.player_num)
            if not moves(child, self.pos):
                return LOSS  # his move has taken my last cell
            if depth == 1:
                value = HEURISTIC(child, self.pos, cell)
            else:  # MAX: I throw again
                value = max(self.values_of_throws(child, cell, moves(child, cell), depth - 1).values())
            worst = min(worst, value)
        return worst


if __name__ == "__main__":  # python PlayerAI.py plays the first turn of a game, to see that everything runs
    board = Grid(7)
    board.setCellValue((0, 3), 1)
    board.setCellValue((6, 3), 2)
    player = PlayerAI()
    player.setPlayerNum(1)
    player.setPosition((0, 3))
    started = time.time()
    cell = player.getMove(board.clone())
    board = after_move(board, cell, 1)
    player.setPosition(cell)
    print("I move to", cell, "and throw at", player.getTrap(board.clone()))
    print(f"in {time.time() - started:.2f} s")
