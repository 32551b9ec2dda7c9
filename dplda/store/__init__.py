"""Counts on disk in immutable shards, grouped by privacy unit, with the fingerprint that a ledger knows them by."""
