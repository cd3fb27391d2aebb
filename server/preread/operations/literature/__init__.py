"""The operations on what documents speak of, and on the graph of it."""
