"""The gate: everything that decides what may leave the private counts, and at what price."""
