"""Numerical infrastructure: the integer lattice, compiled loops, threads and array backends."""
