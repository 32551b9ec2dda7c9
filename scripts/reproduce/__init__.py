"""The figures and tables of docs/papers.md: `python scripts/reproduce --help` lists them."""
