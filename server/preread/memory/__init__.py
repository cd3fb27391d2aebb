"""What people and agents told the project: decisions, lessons, notes, as facts in knowledge.md."""
