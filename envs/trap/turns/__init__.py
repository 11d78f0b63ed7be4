"""The search of whole turns: a node is a turn, its actions are pairs of a move and a throw (`TurnPlayer`)."""
