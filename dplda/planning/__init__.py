"""What a budget would give, before any data are touched."""
