"""Infrastructure that knows nothing about dossiers: files, processes, databases, secrets."""
