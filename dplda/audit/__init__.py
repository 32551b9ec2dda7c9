"""Attacks on the mechanisms themselves, on synthetic corpora: do the releases reveal more than the claimed epsilon?"""
