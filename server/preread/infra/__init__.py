"""Infrastructure that knows nothing of dossiers: files, processes, database, secrets, templates."""
