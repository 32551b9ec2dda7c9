"""Audits of the privacy claim: lower bounds on epsilon by attack, and membership inference on released topics."""
