"""The operations on what documents name, and on the graph of it."""
