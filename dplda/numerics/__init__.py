"""The integer lattice, compiled loops, threads, and arrays of other libraries and devices."""
