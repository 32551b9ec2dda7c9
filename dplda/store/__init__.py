"""Counts on disk in immutable shards, grouped by privacy unit, with the fingerprint by which a ledger identifies them."""
