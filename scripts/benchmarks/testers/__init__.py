"""Testers of differential privacy that others published, fed with the mechanisms and whole runs of dplda."""
