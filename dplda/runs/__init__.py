"""Runs of `dplda.fit`, and charged queries of documents under released topics, from their request to their record."""
