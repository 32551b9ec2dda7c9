"""Synthetic and sample corpora."""
