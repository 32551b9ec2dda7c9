"""From files to words and counts, one document at a time: nothing here looks across documents."""
