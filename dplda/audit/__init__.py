"""For auditors: attacks and replays that refute false claims, a ledger's conformance, and forms about a run."""
