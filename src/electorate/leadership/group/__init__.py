"""Elections in which each group of nodes that reach each other has its leader."""
