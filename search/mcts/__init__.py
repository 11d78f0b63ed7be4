"""Monte Carlo tree search over any game, by the same evaluators as the depth-limited search.

A node is a decision, found by its row: transpositions share a node. A simulation selects actions by PUCT (Rosin, "Multi-armed
bandits with episode context", 2011, as in Silver et al., "Mastering chess and shogi by self-play", 2017) and draws every stage of
chance on its path. It values the first row that the tree does not hold yet, and adds that value to every edge of its path. Each
outcome of chance leads to a node of its own (closed loop; Lanctot et al., "Monte Carlo *-minimax search", 2013, compare both), and
no stage is enumerated. If the evaluator is asked at a stage of chance, an edge is valued there on its first visit.

Two ways of reducing the variance of chance were tried on exact decisions of Trap 3x3 and of a dice race: weighting the means of
edges by the probabilities of the outcomes seen, and spreading outcomes evenly (Veness et al., "Variance reduction in Monte-Carlo
tree search", 2011). At equal simulations they were no better than drawing, beyond error.

In games without chance finished games prove values; see `tree`.

Values are player 0's. PUCT needs them between 0 and 1: they are scaled by the smallest and the largest value of the search
(Schrittwieser et al., "Mastering Atari, Go, chess and shogi by planning with a learned model", 2020), so that games with any
returns can be searched. This span depends on the best and the worst that may happen, not on how much actions differ. The unit of
exploration is therefore the distance of simulations from the mean of their action.
"""

from leafwise.search.mcts.engine import Mcts as Mcts
from leafwise.search.result import MctsResult as MctsResult
from leafwise.search.search_options import PRIORS as PRIORS
from leafwise.search.search_options import Policy as Policy
