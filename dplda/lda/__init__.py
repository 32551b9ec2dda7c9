"""From released statistics to topics: whitening, recovery and refinement. Nothing here sees private data."""
