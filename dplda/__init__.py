"""Differentially private topic modelling, end to end."""
