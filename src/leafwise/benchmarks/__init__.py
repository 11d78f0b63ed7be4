"""Speeds: rates of this version, and two versions measured in turns."""
