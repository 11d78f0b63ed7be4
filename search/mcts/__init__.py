"""Monte Carlo tree search over any game, by the same evaluators as the depth-limited search.

A node is a decision, known by its row, so that orders of moves that lead to one position share it. A simulation goes down by PUCT
(Rosin, "Multi-armed bandits with episode context", 2011, as in Silver et al., "Mastering chess and shogi by self-play", 2017),
draws every stage of chance on its way, values the first row that the tree does not know yet, and adds that value to every edge it
came by. Outcomes of chance are thus explicit: each leads to a node of its own (closed loop; Lanctot et al., "Monte Carlo
*-minimax search", 2013, compare both), and no stage is enumerated. Where a leaf is asked at a stage of chance, an edge is valued
there on its first visit.

Drawing is kept because what should make it smoother was no better at equal simulations, on 300 critical decisions of Trap 3x3 and
200 of a dice race with their exact values: neither edges' means weighted by the probabilities of the outcomes seen, nor outcomes
spread evenly over their probabilities instead of drawn (for such ways see Veness et al., "Variance reduction in Monte-Carlo tree
search", 2011). At 1,000 simulations the regret was 0.213 drawn, 0.213 weighted and 0.193 spread in Trap, 0.042, 0.036 and 0.046 in
the race; the 95 % intervals of the differences, 0.026 and 0.011 to either side at most, all hold 0.

Values are player 0's. Where PUCT needs them between 0 and 1 they are scaled by the least and the greatest that the search has seen
(Schrittwieser et al., "Mastering Atari, Go, chess and shogi by planning with a learned model", 2020), so that games with any
returns can be searched.
"""

from leafwise.search.mcts.engine import PRIORS as PRIORS
from leafwise.search.mcts.engine import Mcts as Mcts
from leafwise.search.mcts.engine import MctsResult as MctsResult
from leafwise.search.mcts.engine import Policy as Policy
