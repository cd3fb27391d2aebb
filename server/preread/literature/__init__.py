"""Entities and relations of documents, their graph, its measures and exports."""
