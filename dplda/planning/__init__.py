"""Forecasts of what a budget would give, before any data are read."""
