"""How sums over documents are computed: the integer lattice, threads over blocks of units."""
