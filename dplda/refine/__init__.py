"""Refining released topics by private rounds over the documents' expected counts."""
