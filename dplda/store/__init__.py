"""Counts on disk in immutable shards, grouped by privacy unit, and the fingerprints by which a ledger knows them."""
