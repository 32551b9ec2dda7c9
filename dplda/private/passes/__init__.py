"""Engines that sum over the private counts: local threads, a GPU, or a Dask cluster."""
