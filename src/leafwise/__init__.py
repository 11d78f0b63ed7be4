"""Leafwise: board and card games with exact rules, fast depth-limited search, and learned values at its leaves."""
