"""A dossier on disk: its markdown, its sources and how to follow them, what a person changed."""
