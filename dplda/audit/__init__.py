"""Attacks on the mechanism itself, on synthetic corpora: can what is released show more than is claimed?"""
