"""Whether ships have what is asked for."""
