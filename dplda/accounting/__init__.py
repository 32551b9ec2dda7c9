"""Accounting: planned events, the plan of a run's budget, and composition."""
