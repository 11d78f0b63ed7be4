"""Connect Four's critical positions with exact values, and players measured on them.

positions.py  the data file `positions.csv`: reading it, and the command that made it
__main__.py   the measurement
"""
