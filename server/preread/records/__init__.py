"""What is recorded besides dossiers: sessions, running builds, run logs, costs, changes, hints."""
