"""What a run plans to charge, and what its charges add up to."""
