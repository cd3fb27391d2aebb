"""Infrastructure that knows nothing of dossiers: files, processes, the database, secrets."""
