"""Who sums over the private counts: threads of this machine, its GPU, or a Dask cluster."""
