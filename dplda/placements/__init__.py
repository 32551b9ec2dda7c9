"""Where the noise goes: one file for each placement, reading like its algorithm."""
