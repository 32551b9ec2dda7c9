"""From a file or folder to records of text or counts: one format a module, documents isolated from each other."""
