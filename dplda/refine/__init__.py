"""Refinement of released topics by private rounds of expected counts."""
