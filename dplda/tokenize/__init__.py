"""Tokenizers, and counts of the words of each document, on all cores."""
