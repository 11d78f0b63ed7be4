"""The compiled games of learning and evaluation."""
