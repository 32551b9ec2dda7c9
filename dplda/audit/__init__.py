"""Audits: attacks on the mechanisms, which bound epsilon from below, and the membership attack on released topics."""
