"""Compiled games that methods, matches and figures share."""
