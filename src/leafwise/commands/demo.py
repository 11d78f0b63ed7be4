"""Learns Threes in a few minutes and compares the learned leaf with a hand-made one."""

from __future__ import annotations


def main(arguments: list[str]) -> int:
    """Runs the command."""
    from leafwise.experiments.demo import main as demo

    status: int = demo(arguments)
    return status
