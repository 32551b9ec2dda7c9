"""Audits of the privacy claim: lower bounds on epsilon by attack."""
