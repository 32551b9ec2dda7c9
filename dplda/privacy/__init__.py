"""The gate: the curator, its mechanisms and the accounting of what it releases."""
