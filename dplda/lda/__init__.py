"""From released statistics to topics: whitening, recovery and refinement. Only released numbers are used."""
