"""The knowledge graph: facts and what they are about, derived from the files and the index."""
