"""From files to words and counts, one document at a time: no code here looks across documents."""
