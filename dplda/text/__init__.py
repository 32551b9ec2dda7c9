"""From files to words: readers and tokenizers, which see one document at a time, and public word lists."""
