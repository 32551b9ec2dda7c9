"""Benchmarks of dplda: `python scripts/benchmarks --help` lists what can be measured."""
