"""Malformed input of every kind for dplda, drawn by Hypothesis from a seed."""
