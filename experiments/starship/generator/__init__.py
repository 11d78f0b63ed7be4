"""The ship generator measured: validity, rules kept, quality, speed, and whether outcomes follow the parameters."""
