"""Runs on a corpus, from their request to their record: fits, series, charged queries, and forecasts of all of them."""
