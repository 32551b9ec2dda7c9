"""The curator, which is the only gate to private counts, and its mechanisms."""
