"""Speeds over time: a line for each commit and machine, and two versions measured in turns."""
