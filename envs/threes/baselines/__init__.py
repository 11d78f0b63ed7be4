"""The two public Threes programs, their searches reproduced."""
