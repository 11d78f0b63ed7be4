"""What `leafwise new --course DIR` writes: a player for the course, and the modules that its programs import.

Programs that bring no `BaseAI`, `Grid` or `Utils` of their own find these.
"""
