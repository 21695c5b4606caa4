"""Two sweeps compared: what became worse than repeats and a tolerance allow."""
