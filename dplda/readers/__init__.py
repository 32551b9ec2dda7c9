"""Readers of files and folders: records of text or counts, with documents isolated from each other."""
