"""From released statistics to topics. Only released numbers are used."""
