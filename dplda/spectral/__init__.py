"""The noisy power method, whitening and unwhitening. Nothing here sees private data."""
