"""Counts on disk in immutable shards, grouped by privacy unit, and the fingerprints that a ledger records."""
