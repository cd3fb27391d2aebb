"""What is stored, checked and repaired: dossiers, index, hints, run records, backups."""
