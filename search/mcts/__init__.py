"""Monte Carlo tree search over any game, by the same evaluators as the depth-limited search.

A node is a decision, known by its row, so that orders of moves that lead to one position share it. A simulation goes down by PUCT
(Rosin, "Multi-armed bandits with episode context", 2011, as in Silver et al., "Mastering chess and shogi by self-play", 2017),
draws every stage of chance on its way, values the first row that the tree does not know yet, and adds that value to every edge it
came by. Outcomes of chance are thus explicit: each leads to a node of its own (closed loop; Lanctot et al., "Monte Carlo
*-minimax search", 2013, compare both), and no stage is enumerated. Where a leaf is asked at a stage of chance, an edge is valued
there on its first visit.

Drawing is kept: edges' means weighted by the probabilities of the outcomes seen, and outcomes spread evenly over theirs (for such
ways see Veness et al., "Variance reduction in Monte-Carlo tree search", 2011), were tried on exact decisions of Trap 3x3 and of a
dice race and were no better, beyond error, at equal simulations.

In games without chance finished games prove values, as `tree` says.

Values are player 0's. Where PUCT needs them between 0 and 1 they are scaled by the least and the greatest that the search has seen
(Schrittwieser et al., "Mastering Atari, Go, chess and shogi by planning with a learned model", 2020), so that games with any
returns can be searched. That span is set by the best and the worst that may happen, not by what actions differ by: exploration is
therefore in units of how far simulations lie from the mean of what they tried.
"""

from leafwise.search.mcts.engine import Mcts as Mcts
from leafwise.search.result import MctsResult as MctsResult
from leafwise.search.search_options import PRIORS as PRIORS
from leafwise.search.search_options import Policy as Policy
