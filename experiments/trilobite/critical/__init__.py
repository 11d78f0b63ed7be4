"""Connect Four's critical positions with their exact values, and what players make of them.

positions.py  the data file `positions.csv`: reading it, and the command that made it
__main__.py   the measurement
"""
