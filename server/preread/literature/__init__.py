"""Entities and relations of documents, the graph of both, its measures and exports."""
