"""Evolution against builders, on the benchmark of the field."""
