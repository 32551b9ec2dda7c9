"""Audits of the mechanisms on synthetic corpora: attacks that bound epsilon from below."""
