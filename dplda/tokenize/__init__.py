"""From text to words to counts of a document, in a pool of processes."""
