"""What is recorded besides dossiers: sessions, builds that run, runs, costs, changes, hints."""
