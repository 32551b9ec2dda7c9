"""Symmetric tensors and their decomposition. Nothing here sees private data."""
