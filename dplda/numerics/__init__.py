"""The integer lattice, compiled loops, threads, and arrays of several libraries and devices."""
